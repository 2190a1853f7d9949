// The body of an outgoing request, kept once in memory for libcurl and for every request that shares it.

/// Content to send, at one address for its whole life: a C library reads it there, and thousands of waiting
/// requests share it.
@safe public final class OutboundContent: Sendable {
  /// How many octets there are.
  public let count: Int
  // Written by `init` alone, freed by `deinit`.
  private nonisolated(unsafe) let base: UnsafeMutablePointer<UInt8>

  /// Content with these octets.
  public init(_ octets: [UInt8]) {
    count = octets.count
    unsafe base = .allocate(capacity: count)
    _ = unsafe UnsafeMutableBufferPointer(start: base, count: count).initialize(fromContentsOf: octets)
  }

  deinit { unsafe base.deallocate() }

  /// The address of the octets. A reader must hold this object meanwhile, and must not write.
  @unsafe public var address: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(base) }
}

extension OutboundContent: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { count }
  public subscript(index: Int) -> UInt8 {
    precondition(indices.contains(index), "no such octet")
    return unsafe base[index]
  }
}

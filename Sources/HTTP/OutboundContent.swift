// The content of an outgoing request, stored once in memory for libcurl and for every request that shares it.

/// Content to send, at a fixed address: libcurl reads it there, and thousands of waiting requests share it.
@safe public final class OutboundContent: Sendable {
  /// The number of octets.
  public let count: Int
  // Written by `init` alone, freed by `deinit`.
  private nonisolated(unsafe) let base: UnsafeMutablePointer<UInt8>

  public init(_ octets: [UInt8]) {
    count = octets.count
    unsafe base = .allocate(capacity: count)
    _ = unsafe UnsafeMutableBufferPointer(start: base, count: count).initialize(fromContentsOf: octets)
  }

  deinit { unsafe base.deallocate() }

  /// The address of the octets. A reader must retain this object while it reads, and must not write.
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

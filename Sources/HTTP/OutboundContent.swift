// The body of an outgoing request, kept once in memory for libcurl and for every request that shares it.

/// Content to send, in one place for as long as anybody holds it: a C library reads it there, and thousands of requests that
/// wait for an answer hold it once.
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

  /// Where the octets are. Whoever reads them there has to hold this meanwhile, and writes nothing.
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

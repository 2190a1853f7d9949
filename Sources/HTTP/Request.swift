// A received request: its head, its content, and lookups in them.

import Texts

/// One received request: its head as it was received, ranges into it, and its content.
///
/// A request consists of arrays and ranges. So a server can parse into the same storage again and again
/// without allocating, and a handler that needs the request for longer copies it.
public struct Request: Sendable {
  /// The protocol version. A higher minor version counts as 1.1; other major versions are refused.
  public enum Version: Sendable { case http10, http11 }

  /// One field line, as ranges of `head`.
  public struct FieldLine: Sendable {
    // 32 bits each: every request stores its lines, and a head never reaches 4 GiB.
    var nameStart: UInt32
    var nameEnd: UInt32
    var valueStart: UInt32
    var valueEnd: UInt32
    /// The name's `FieldName.hash`.
    var hash: UInt32

    /// The name's octets.
    public var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
    /// The value's octets, without optional white space around them.
    public var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
  }

  public internal(set) var method: Method = .get
  /// The version of the request line.
  public internal(set) var version: Version = .http11
  /// Whether the client ends the connection after this request: HTTP/1.0, or `Connection: close`.
  public internal(set) var closesConnection = false
  /// The octets of the request line and the field lines. If an absolute target has no path, a `/` follows
  /// them, and `path` is that slash.
  public internal(set) var head: [UInt8] = []
  /// The path of the request target, percent-encoded as it came, within `head`. `*` for `OPTIONS *`.
  public internal(set) var path: Range<Int> = 0..<0
  /// The query after `?`, percent-encoded as it came, within `head`.
  public internal(set) var query: Range<Int>?
  /// All field lines in order.
  public internal(set) var fieldLines: [FieldLine] = []
  /// The whole content, without transfer coding.
  public internal(set) var content: [UInt8] = []

  /// An empty request to parse into.
  public init() {}

  /// A copy without the content, for code that needs only the head later.
  public func withoutContent() -> Request {
    var request = self
    request.content = []
    return request
  }

  /// Bytes of memory that the request occupies.
  package var memory: Int {
    head.capacity + content.capacity + fieldLines.capacity * MemoryLayout<FieldLine>.stride
  }

  /// Empties the request for the next one. Retains small storage, so that parsing into it does not allocate.
  mutating func reset() {
    method = .get
    version = .http11
    closesConnection = false
    path = 0..<0
    query = nil
    // Memory beyond a page is released, so that one large request does not keep it.
    head.removeAll(keepingCapacity: head.capacity <= 4096)
    fieldLines.removeAll(keepingCapacity: fieldLines.capacity <= 128)
    if content.capacity > 0 { content.removeAll(keepingCapacity: content.capacity <= 4096) }
  }
}

extension Request {
  /// The octets of a range of `head` as text; octets that are not UTF-8 become U+FFFD.
  public func string(_ range: Range<Int>) -> String { String(decoding: head[range], as: UTF8.self) }

  /// The value of the first line with a name, as a range of `head`.
  public func value(of name: FieldName) -> Range<Int>? {
    for line in fieldLines where matches(line, name) { return line.value }
    return nil
  }

  /// The values of every line with a name, in order, as ranges of `head`.
  public func values(of name: FieldName) -> [Range<Int>] {
    fieldLines.filter { matches($0, name) }.map(\.value)
  }

  /// How many lines have a name.
  public func count(of name: FieldName) -> Int {
    var count = 0
    for line in fieldLines where matches(line, name) { count += 1 }
    return count
  }

  /// The first value of a name as text.
  public func text(of name: FieldName) -> String? { value(of: name).map(string) }

  /// The length of the content that the head announces. Nil without `Content-Length`, or if the number does
  /// not fit in an `Int`.
  public var announcedLength: Int? { text(of: Self.contentLength).flatMap { Int($0) } }

  private static let contentLength = FieldName("Content-Length")

  /// Whether the octets of a range of `head` equal a text, octet by octet.
  public func equals(_ range: Range<Int>, _ text: String) -> Bool {
    guard text.utf8.count == range.count else { return false }
    let octets = head.span.extracting(range)
    let isSame = unsafe text.utf8.withContiguousStorageIfAvailable {
      unsafe octets.hasSameOctets(as: $0.span)
    }
    return isSame ?? head[range].elementsEqual(text.utf8)
  }

  private func matches(_ line: FieldLine, _ name: FieldName) -> Bool {
    guard line.hash == name.hash, line.nameEnd - line.nameStart == UInt32(name.octets.count) else {
      return false
    }
    let start = Int(line.nameStart)
    for i in name.octets.indices where head[start + i].lowercasedASCII != name.octets[i] { return false }
    return true
  }
}

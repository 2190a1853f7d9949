/// One received request: its head as it stood on the wire, ranges into it, and its content.
///
/// A value of arrays and ranges, so that a server can parse into the same storage again and again without allocating,
/// and a handler that needs the request for longer simply copies it.
public struct Request: Sendable {
  /// The protocol version: nothing but 1.0 and 1.1 is ever accepted.
  public enum Version: Sendable { case http10, http11 }

  /// One field line, as ranges of `head`.
  public struct FieldLine: Sendable {
    /// The name's octets.
    public var name: Range<Int>
    /// The value's octets, without optional white space round them.
    public var value: Range<Int>
  }

  /// The method.
  public internal(set) var method: Method = .get
  /// The version of the request line.
  public internal(set) var version: Version = .http11
  /// The octets of the request line and the field lines.
  public internal(set) var head: [UInt8] = []
  /// The path of the request target, percent-encoded as it came, within `head`. `*` for `OPTIONS *`.
  public internal(set) var path: Range<Int> = 0..<0
  /// The query after `?`, percent-encoded as it came, within `head`.
  public internal(set) var query: Range<Int>?
  /// All field lines in order.
  public internal(set) var fieldLines: [FieldLine] = []
  /// The whole content, transfer coding removed.
  public internal(set) var content: [UInt8] = []

  /// An empty request to parse into.
  public init() {}
}

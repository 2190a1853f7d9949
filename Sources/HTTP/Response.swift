/// A response to a request, to be framed and sent by the server.
///
/// The server writes `Date`, `Content-Length`, `Connection` and `X-Request-Id`. They must not be in `fields`.
public struct Response: Sendable {
  /// The status.
  public var status: Status
  /// All fields but those the server writes.
  public var fields: Fields
  /// The content; left away, though counted, in an answer to HEAD.
  public var content: [UInt8]
  /// Ends the connection once this is sent.
  public var closesConnection: Bool

  /// Makes a response.
  public init(status: Status, fields: Fields = [:], content: [UInt8] = [], closesConnection: Bool = false) {
    self.status = status
    self.fields = fields
    self.content = content
    self.closesConnection = closesConnection
  }
}

/// A response to a request, to be framed and sent by the server.
///
/// The server writes `Date`, `Content-Length`, `Connection` and `X-Request-Id`. They must not be in `fields`.
public struct Response: Sendable {
  public var status: Status
  /// All fields except those that the server writes.
  public var fields: Fields
  /// The content. In a response to HEAD, the server counts it but does not send it.
  public var content: [UInt8]
  /// Whether the connection closes once the response is sent.
  public var closesConnection: Bool

  public init(status: Status, fields: Fields = [:], content: [UInt8] = [], closesConnection: Bool = false) {
    self.status = status
    self.fields = fields
    self.content = content
    self.closesConnection = closesConnection
  }
}

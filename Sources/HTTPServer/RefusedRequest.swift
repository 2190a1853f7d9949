// A request to which the server itself responds with an error, and the parts of it that were read.

public import HTTP
public import Platform

/// A request to which the server itself responds, as far as it was read, and the address of its client.
public struct RefusedRequest: Sendable {
  /// The response's ID: the request's valid `X-Request-Id` if its fields were read, otherwise a random one.
  public let requestID: RequestID
  /// The address at the other end of the connection.
  public let peer: SocketAddress
  /// The time of the refusal.
  public let now: MonotonicTime
  /// The index of the connection's loop, among those that the server runs on.
  public let loopIndex: Int
  /// The request, if the server refuses it after reading its request line. Nil if the handler left the
  /// request unanswered. Method and target are right; the content may be anything.
  public let request: Request?
  /// Whether all fields of the request were read. If not, a missing field may change the meaning of the
  /// others.
  public let hasFields: Bool
  /// The number of the route that the handler counts the request for, as in `Exchange.route`.
  public var route: UInt8 = 0
  /// Additional fields of the response, as with `Exchange.put`.
  public var fields: PreparedFields?
}

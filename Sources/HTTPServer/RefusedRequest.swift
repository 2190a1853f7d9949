// A request that the server refused before any handler saw it, with the parts that were readable.

public import HTTP
public import Platform

/// A request that the server answers itself, as far as it was read, and who sent it.
public struct RefusedRequest: Sendable {
  /// The response's id: the request's own if its fields were read, otherwise a random one.
  public let requestID: RequestID
  /// The address at the other end of the connection.
  public let peer: SocketAddress
  /// When the request is refused.
  public let now: MonotonicTime
  /// The index of the connection's loop, among those that the server runs on.
  public let loopIndex: Int
  /// The request, if its request line was read. Method and target are right; the content may be anything.
  public let request: Request?
  /// Whether all its fields were read. If not, a missing field may change the meaning of the others.
  public let hasFields: Bool
  /// The number of the route that the handler counts the request for, as in `Exchange.route`.
  public var route: UInt8 = 0
  /// Additional fields of the response, as with `Exchange.put`.
  public var fields: PreparedFields?
}

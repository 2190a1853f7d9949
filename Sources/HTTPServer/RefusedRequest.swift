// A request that the server refused before any handler saw it, with the parts that were readable.

public import HTTP
public import Platform

/// A request that the server answers itself, as far as it was read, and who sent it.
public struct RefusedRequest: Sendable {
  /// The answer's id: the request's own where its fields were read, else a random one.
  public let requestID: RequestID
  /// Who is at the other end of the connection.
  public let peer: SocketAddress
  /// When it is refused.
  public let now: MonotonicTime
  /// Which loop this is, of those the server runs on.
  public let loopIndex: Int
  /// The request, if its request line was read: method and target are right, its content may be anything.
  public let request: Request?
  /// Whether all its fields were read. If not, a missing field may change the meaning of the others.
  public let hasFields: Bool
  /// Which of its routes the handler takes the request to ask for, as in `Exchange.route`.
  public var route: UInt8 = 0
  /// The further fields of the response, as from `Exchange.put`.
  public var fields: PreparedFields?
}

// The protocol through which the server reports connections and responses for metrics.

public import HTTP

/// Receives the server's events for metrics.
///
/// The server calls each function on the loop of the connection. The functions must return at once.
public protocol ServerObserver: AnyObject, Sendable {
  /// A connection was accepted that counts toward the limit.
  func connectionOpened(loop: Int)
  /// A connection that counts toward the limit has closed.
  func connectionClosed(loop: Int)
  /// The server has closed a connection because all connections together held too much memory.
  func connectionClosed(for reason: MemoryReason, loop: Int)
  /// A request, or malformed input, got a response. Called once for each response.
  func answered(_ answer: AnswerReport, loop: Int)
}

/// The values of a response for metrics.
public struct AnswerReport: Sendable {
  /// The request's method; `other` if not even the request line could be read.
  public var method: Method
  /// The route number that the handler set in `Exchange.route` or `RefusedRequest.route`; 0 by default.
  public var route: UInt8
  /// The status code.
  public var status: Int
  /// The nanoseconds from the complete request to its response, or from the head if the handler refused the
  /// request by its head. Nil if the server itself refused the client before the request was complete.
  public var nanoseconds: Int64?

  /// Describes a response.
  public init(method: Method, route: UInt8, status: Int, nanoseconds: Int64?) {
    self.method = method
    self.route = route
    self.status = status
    self.nanoseconds = nanoseconds
  }
}

/// The kind of memory that connections together held too much of.
public enum MemoryReason: String, CaseIterable, Sendable {
  /// Requests that have not arrived completely.
  case unfinished
  /// Responses that clients do not read.
  case unread
}

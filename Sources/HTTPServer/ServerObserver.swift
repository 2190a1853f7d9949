// The protocol through which the server reports connections and responses for metrics.

public import HTTP

/// Learns of every event that is worth counting.
///
/// The server calls it on the loop of the connection, once or more for every request. It must return at once.
public protocol ServerObserver: AnyObject, Sendable {
  /// A connection was accepted.
  func connectionOpened(loop: Int)
  /// An accepted connection has ended.
  func connectionClosed(loop: Int)
  /// The server has closed a connection because all connections together held too much memory.
  func connectionClosed(for reason: MemoryReason, loop: Int)
  /// A request, or malformed input, got a response. Called once for each response.
  func answered(_ answer: AnswerReport, loop: Int)
}

/// A response, as it is counted.
public struct AnswerReport: Sendable {
  /// The request's method; `other` if not even the request line could be read.
  public var method: Method
  /// The value of `Exchange.route` from the handler; 0 by default.
  public var route: UInt8
  /// The status code.
  public var status: Int
  /// Nanoseconds from the complete request to its response; nil if the request was never complete.
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

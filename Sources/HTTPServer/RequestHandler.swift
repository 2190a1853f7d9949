// The protocol through which the server hands requests to the application.

public import HTTP

/// The application behind a server: it responds to requests.
///
/// Both functions are called on the loop that owns the connection and must not block it: `handle` either
/// responds before it returns, or defers the response and continues elsewhere.
public protocol RequestHandler: AnyObject, Sendable {
  /// Answers a complete, well-formed request, now or later.
  func handle(_ request: borrowing Request, _ exchange: inout Exchange)
  /// Refuses a request because of its head, before its content is read. The server calls it once for a
  /// request whose content did not arrive with its head. The content of `request` may be anything.
  ///
  /// Respond with a refusal, or return: then the server reads the content and calls `handle`. A response
  /// with a status below 400 is dropped. A deferred judgment ends with a refusal or with
  /// `Responder.proceed`. The connection closes after a refusal.
  func judge(_ request: borrowing Request, _ exchange: inout Exchange)
  /// The response to bytes that never became a request, or to a request that the server cannot accept. The
  /// server closes the connection after it.
  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response
}

extension RequestHandler {
  /// Refuses nothing: every content is read.
  public func judge(_ request: borrowing Request, _ exchange: inout Exchange) {}
}

/// The reason why the server itself responds, before or in place of the handler.
public enum RequestFailure: Hashable, Sendable {
  /// Not HTTP/1.x as RFC 9112 defines it, or the input ended within a request: 400.
  case malformed
  /// The head was not complete within `headerTimeout`, or the request within `requestTimeout`: 408.
  case timedOut
  /// More content than `contentBytes`: 413.
  case contentTooLarge
  /// A request target that cannot fit `headerBytes`: 414.
  case targetTooLong
  /// More field lines or bytes than the limits allow: 431.
  case fieldsTooLarge
  /// More connections than `connections`, or no free descriptor: 503.
  case overloaded
  /// HTTP in the clear on a port that expects a filter such as TLS: 400. The only response that is sent
  /// without the filter.
  case unfiltered
  /// The handler returned, or released its `Responder`, without a response that may be sent: 500.
  case unanswered
}

extension RequestFailure {
  init(_ failure: ParseFailure) {
    self =
      switch failure {
      case .malformed: .malformed
      case .targetTooLong: .targetTooLong
      case .fieldsTooLarge: .fieldsTooLarge
      case .contentTooLarge: .contentTooLarge
      }
  }
}

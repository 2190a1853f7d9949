// The protocol through which the server hands requests to the application.

public import HTTP

/// The application behind a server: it responds to requests.
///
/// All functions are called on the loop that owns the connection and must not block it. `handle` and `judge`
/// can respond before they return, or defer the response and continue elsewhere. `refusal` returns its
/// response.
public protocol RequestHandler: AnyObject, Sendable {
  /// Answers a complete, well-formed request, now or later.
  func handle(_ request: borrowing Request, _ exchange: inout Exchange)
  /// Refuses a request because of its head, before all of its content has arrived. The server calls it at
  /// most once for a request, and only if the content is not complete when the head has been read. The
  /// content of `request` may be anything.
  ///
  /// Respond with a refusal, or return: then the server reads the content and calls `handle`. A response
  /// with a status below 400 is dropped. A deferred judgment ends with a refusal or with
  /// `Responder.proceed`. The connection closes after a refusal.
  func judge(_ request: borrowing Request, _ exchange: inout Exchange)
  /// The response that the server sends itself: to bytes that are not a request, to a client that is too slow
  /// or exceeds a limit, or if the handler left a request unanswered. The server closes the connection after
  /// it.
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
  /// More content than `contentBytes`, or far more chunk overhead than content: 413.
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

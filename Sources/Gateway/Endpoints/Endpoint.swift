// Describes one endpoint completely: its paths, methods, audience, auditing, documentation and handler.

import Gate
import HTTP
import HTTPServer

/// One endpoint. Routing, `Allow`, the labels of metrics, OpenAPI and `/docs` are made from the table of these
/// (Endpoint+Table.swift).
final class Endpoint: Sendable {
  /// Who sends requests to it.
  enum Audience: Sendable {
    /// Apps. Pages of the origins in `cors.origins` may use it from a browser.
    case apps
    case everybody
    /// Operators, on the public listener with their token and on a listener of their own.
    case operators
  }

  /// Which of its requests have an audit line.
  enum Auditing: Sendable {
    case none
    /// All of them: one with another method has its line, too.
    case every(Action)
    /// Those with a method that it knows.
    case known(Action)
  }

  /// What answers a request.
  enum Handler: Sendable {
    case gateway(@Sendable (Gateway, borrowing Request, PathParameters, inout Exchange) -> Void)
    /// Is on the operators' own listener, too, for whoever checks that.
    case health(@Sendable (Health) -> PreparedResponse)
    case operators(
      @Sendable (Administration, borrowing Request, OperatorRequest, inout Exchange) throws(Problem) -> Void)
  }

  /// What it does for one method.
  struct Operation: Sendable {
    let description: APIOperation
    let handler: Handler

    static func gateway(
      _ description: APIOperation,
      _ body: @escaping @Sendable (Gateway, borrowing Request, PathParameters, inout Exchange) -> Void
    ) -> Operation {
      Operation(description: description, handler: .gateway(body))
    }

    static func health(
      _ description: APIOperation, _ body: @escaping @Sendable (Health) -> PreparedResponse
    ) -> Operation {
      Operation(description: description, handler: .health(body))
    }

    static func operators(
      _ description: APIOperation,
      _ body:
        @escaping @Sendable (
          Administration, borrowing Request, OperatorRequest, inout Exchange
        ) throws(Problem) -> Void
    ) -> Operation {
      Operation(description: description, handler: .operators(body))
    }
  }

  /// Its paths as OpenAPI writes them, the usual one first.
  let paths: [String]
  let audience: Audience
  let auditing: Auditing
  /// Whether browsers may keep a response to an app.
  let isKept: Bool
  let operations: [Operation]
  /// The methods it knows, for `Allow` (RFC 9110 §10.2.1): those described, HEAD beside GET, and OPTIONS.
  let allowed: String

  init(
    _ paths: String..., for audience: Audience, auditing: Auditing = .none, isKept: Bool = false,
    _ operations: Operation...
  ) {
    self.paths = paths
    self.audience = audience
    self.auditing = auditing
    self.isKept = isKept
    self.operations = operations
    let methods = operations.flatMap { operation in
      operation.description.method == .get ? ["GET", "HEAD"] : [operation.description.method.rawValue]
    }
    allowed = (methods + ["OPTIONS"]).joined(separator: ", ")
  }

  /// What answers a request with this method; nil where it knows no such method.
  func handler(for method: Method) -> Handler? {
    let method = method == .head ? .get : method
    for operation in operations where operation.description.method == method { return operation.handler }
    return nil
  }

  /// What its requests are audited as; nil for none.
  var action: Action? {
    switch auditing {
    case .none: nil
    case .every(let action), .known(let action): action
    }
  }

  /// What a request with this method is audited as; nil for none.
  func action(audited method: Method) -> Action? {
    if case .known = auditing, handler(for: method) == nil { return nil }
    return action
  }
}

// One entry of the endpoint table: an endpoint's description and its handlers.

import API
import Admin
import Gate
import HTTP
import HTTPServer
import Handling
import Pages
import Serving

/// An endpoint and its handlers by method.
final class ServedEndpoint: Sendable {
  /// The handler of a request, by the kind of endpoint.
  enum Handler: Sendable {
    case clients(@Sendable (Handlers, borrowing Request, PathParameters, inout Exchange) -> Void)
    /// Served on the admin listener too, for health checks of that listener.
    case health(@Sendable (Health) -> PreparedResponse)
    /// Served on the admin listener too, for operators who cannot reach the public one.
    case document(FixedDocument)
    /// The operators' page. Wherever operators are served, it loads without a token.
    case page
    case operators(
      @Sendable (Administration, borrowing Request, OperatorRequest, inout Exchange) throws(Problem) -> Void)
  }

  /// The handler of one method.
  struct Operation: Sendable {
    let description: APIOperation
    let handler: Handler

    static func clients(
      _ description: APIOperation,
      _ body: @escaping @Sendable (Handlers, borrowing Request, PathParameters, inout Exchange) -> Void
    ) -> Operation {
      Operation(description: description, handler: .clients(body))
    }

    static func health(
      _ description: APIOperation, _ body: @escaping @Sendable (Health) -> PreparedResponse
    ) -> Operation {
      Operation(description: description, handler: .health(body))
    }

    static func document(_ description: APIOperation, _ document: FixedDocument) -> Operation {
      Operation(description: description, handler: .document(document))
    }

    static func page(_ description: APIOperation) -> Operation {
      Operation(description: description, handler: .page)
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

  let endpoint: Endpoint
  /// Whether the endpoint accepts forms. A page of any site can make a browser send a form without a
  /// preflight.
  let takesForms: Bool
  /// The handlers, in the order of the endpoint's operations.
  private let handlers: [Handler]

  init(
    _ paths: String..., for audience: Endpoint.Audience, auditing: Endpoint.Auditing = .none,
    isKept: Bool = false, takesHead: Bool = true, takesForms: Bool = false, _ operations: Operation...
  ) {
    self.takesForms = takesForms
    endpoint = Endpoint(
      paths: paths, for: audience, auditing: auditing, isKept: isKept, takesHead: takesHead,
      operations: operations.map(\.description))
    handlers = operations.map(\.handler)
  }

  /// The handler for this method; nil for a method that the endpoint does not support.
  func handler(for method: Method) -> Handler? { endpoint.operation(for: method).map { handlers[$0] } }

  /// The lowest role that may use this method. Nil if the method is not supported, or not only for operators.
  func role(for method: Method) -> Operator.Role? {
    endpoint.operation(for: method).flatMap { endpoint.operations[$0].role }
  }
}

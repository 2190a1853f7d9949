// Describes one endpoint: its paths, its audience, its methods and its audited requests.

package import HTTP

/// One endpoint as its clients see it. Routing, `Allow`, the labels of metrics, OpenAPI and `/docs` are made
/// from the list of endpoints.
package final class Endpoint: Sendable {
  /// The clients of an endpoint.
  package enum Audience: Sendable {
    /// Apps. Pages of the origins in `cors.origins` may use it from a browser.
    case apps
    /// AI agents. Pages of the origins in `mcp.origins` may use it from a browser.
    case agents
    case everybody
    /// Operators, on the public listener with their token, or on a separate listener for operators.
    case operators
  }

  /// The requests to an endpoint that get an audit line.
  package enum Auditing: Sendable {
    case none
    /// All requests, even one with a method that the endpoint does not know.
    case every(AuditedAction)
    /// Requests with a method that the endpoint knows.
    case known(AuditedAction)
    /// Requests with one of these methods.
    case some([Method: AuditedAction])
    /// Requests that the handler audits, with one of these actions.
    case handled([AuditedAction])
  }

  /// The paths as OpenAPI writes them, the usual one first.
  package let paths: [String]
  package let audience: Audience
  package let auditing: Auditing
  /// Whether clients may cache the response, so that it needs `Vary: Origin` even if the request has no
  /// `Origin`.
  package let isKept: Bool
  package let operations: [APIOperation]
  /// The methods of the operations, in an array because each request is compared with them.
  private let methods: [Method]
  /// Whether HEAD uses the operation of GET.
  private let takesHead: Bool
  /// The methods of the endpoint, for `Allow` (RFC 9110 §10.2.1): those of the operations, HEAD with GET if
  /// `takesHead`, and OPTIONS except for agents.
  package let allowed: String

  package init(
    paths: [String], for audience: Audience, auditing: Auditing, isKept: Bool, takesHead: Bool = true,
    operations: [APIOperation]
  ) {
    self.takesHead = takesHead
    self.paths = paths
    self.audience = audience
    self.auditing = auditing
    self.isKept = isKept
    self.operations = operations
    methods = operations.map(\.method)
    let words = operations.flatMap { operation in
      operation.method == .get && takesHead ? ["GET", "HEAD"] : [operation.method.rawValue]
    }
    allowed = (words + (audience == .agents ? [] : ["OPTIONS"])).joined(separator: ", ")
  }

  /// The index of a method's operation; nil for an unsupported method. HEAD uses the operation of GET if
  /// `takesHead`.
  package func operation(for method: Method) -> Int? {
    let method = method == .head && takesHead ? .get : method
    return methods.firstIndex { $0 == method }
  }

  /// The audited actions of requests to this endpoint.
  package var actions: [AuditedAction] {
    switch auditing {
    case .none: []
    case .every(let action), .known(let action): [action]
    case .some(let actions): Array(actions.values)
    case .handled(let actions): actions
    }
  }

  /// The audited action of a request with this method; nil for none.
  package func action(audited method: Method) -> AuditedAction? {
    switch auditing {
    case .none, .handled: nil
    case .every(let action): action
    case .known(let action): operation(for: method) == nil ? nil : action
    case .some(let actions): actions[method]
    }
  }
}

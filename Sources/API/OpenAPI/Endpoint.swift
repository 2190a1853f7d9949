// The facts of one endpoint: its paths, its audience, its methods and its audited requests.

package import HTTP

/// One endpoint as its clients see it. Routing, `Allow`, the labels of metrics, OpenAPI and `/docs` are made from the list of these.
package final class Endpoint: Sendable {
  /// The clients of an endpoint.
  package enum Audience: Sendable {
    /// Apps. Pages of the origins in `cors.origins` may use it from a browser.
    case apps
    /// AI agents. Pages of the origins in `mcp.origins` may use it from a browser.
    case agents
    case everybody
    /// Operators, on the public listener with their token and on a listener of their own.
    case operators
  }

  /// The requests with an audit line.
  package enum Auditing: Sendable {
    case none
    /// All of them: one with another method has its line, too.
    case every(AuditedAction)
    /// Those with a method that it knows.
    case known(AuditedAction)
    /// Those with one of these methods.
    case some([Method: AuditedAction])
    /// Those that its handler audits, with one of these actions.
    case handled([AuditedAction])
  }

  /// Its paths as OpenAPI writes them, the usual one first.
  package let paths: [String]
  package let audience: Audience
  package let auditing: Auditing
  /// Whether browsers may keep a response to an app.
  package let isKept: Bool
  package let operations: [APIOperation]
  /// The methods of the operations, side by side: each request compares them.
  private let methods: [Method]
  /// Whether HEAD uses the operation of GET.
  private let takesHead: Bool
  /// The methods it knows, for `Allow` (RFC 9110 §10.2.1): those described, HEAD beside GET, and OPTIONS but for agents.
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

  /// The index of a method's operation; nil for an unsupported method. HEAD uses the operation of GET where it may.
  package func operation(for method: Method) -> Int? {
    let method = method == .head && takesHead ? .get : method
    return methods.firstIndex { $0 == method }
  }

  /// The audited actions of its requests.
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

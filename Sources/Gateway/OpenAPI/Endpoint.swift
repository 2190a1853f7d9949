// Every endpoint there is: what ties the routes to their description.

internal import HTTP

/// One endpoint, under one or more paths. A route without its endpoint, or an endpoint without its description, does not
/// compile.
enum Endpoint: CaseIterable, Sendable {
  case access
  case token
  case callbacks
  case callback
  case availability
  case liveness
  case readiness
  case metrics
  case adminStatus
  case adminStop
  case adminResume
  case adminReload
  case adminExplain
  case adminCallbacks
  case landing
  case openAPI
  case docs

  /// The endpoint of a route; nil for what has no path of its own.
  init?(_ route: Route) {
    switch route {
    case .access: self = .access
    case .token: self = .token
    case .callbacks: self = .callbacks
    case .callback: self = .callback
    case .availability: self = .availability
    case .liveness: self = .liveness
    case .readiness: self = .readiness
    case .root: self = .landing
    case .openAPI: self = .openAPI
    case .docs: self = .docs
    case .admin(.metrics): self = .metrics
    case .admin(.status): self = .adminStatus
    case .admin(.stop): self = .adminStop
    case .admin(.resume): self = .adminResume
    case .admin(.reload): self = .adminReload
    case .admin(.explain): self = .adminExplain
    case .admin(.callbacks): self = .adminCallbacks
    case .admin(.unknown), .server, .unknown: return nil
    }
  }

  /// Its paths as OpenAPI writes them, the usual one first.
  var paths: [String] {
    switch self {
    case .access: ["/access"]
    case .token: ["/token/{app}"]
    case .callbacks: ["/calls/callback", "/callbacks"]
    case .callback: ["/callbacks/{id}"]
    case .availability: ["/availability"]
    case .liveness: ["/livez", "/healthz"]
    case .readiness: ["/readyz"]
    case .metrics: ["/metrics"]
    case .adminStatus: ["/admin/status"]
    case .adminStop: ["/admin/stop"]
    case .adminResume: ["/admin/resume"]
    case .adminReload: ["/admin/reload"]
    case .adminExplain: ["/admin/explain"]
    case .adminCallbacks: ["/admin/callbacks"]
    case .landing: ["/"]
    case .openAPI: ["/openapi.json"]
    case .docs: ["/docs"]
    }
  }

  /// What it does.
  var operation: APIOperation {
    switch self {
    case .access: Self.accessOperation
    case .token: Self.tokenOperation
    case .callbacks: Self.callbacksOperation
    case .callback: Self.callbackOperation
    case .availability: Self.availabilityOperation
    case .liveness: Self.livenessOperation
    case .readiness: Self.readinessOperation
    case .metrics: Self.metricsOperation
    case .adminStatus: Self.adminStatusOperation
    case .adminStop: Self.adminStopOperation
    case .adminResume: Self.adminResumeOperation
    case .adminReload: Self.adminReloadOperation
    case .adminExplain: Self.adminExplainOperation
    case .adminCallbacks: Self.adminCallbacksOperation
    case .landing: Self.landingOperation
    case .openAPI: Self.openAPIOperation
    case .docs: Self.docsOperation
    }
  }

  /// The methods its paths know, as `Allow` has them: those described, HEAD beside GET, and OPTIONS.
  var allowed: String {
    operation.method == .get ? "GET, HEAD, OPTIONS" : "\(operation.method.rawValue), OPTIONS"
  }
}

// The templates of paths that metrics tell apart.

internal import HTTPServer

/// What a request asks for, as the `route` of its metrics. The raw value is `Exchange.route`.
enum RouteLabel: UInt8, CaseIterable, Sendable {
  /// A path that leads nowhere, or to the sandbox.
  case other
  /// What never became a request whose path is known.
  case refused
  case access
  case token
  /// Its alias, too.
  case callbacks
  case callback
  case availability
  case liveness
  case readiness
  case openAPI
  case docs
  case root
  case server
  case metrics
  case adminStatus
  case adminStop
  case adminResume
  case adminReload
  case adminExplain
  case adminCallbacks

  /// The label's value.
  var word: String {
    switch self {
    case .other: "other"
    case .refused: "refused"
    case .access: "/access"
    case .token: "/token/{app}"
    case .callbacks: "/calls/callback"
    case .callback: "/callbacks/{id}"
    case .availability: "/availability"
    case .liveness: "/livez"
    case .readiness: "/readyz"
    case .openAPI: "/openapi.json"
    case .docs: "/docs"
    case .root: "/"
    case .server: "*"
    case .metrics: "/metrics"
    case .adminStatus: "/admin/status"
    case .adminStop: "/admin/stop"
    case .adminResume: "/admin/resume"
    case .adminReload: "/admin/reload"
    case .adminExplain: "/admin/explain"
    case .adminCallbacks: "/admin/callbacks"
    }
  }
}

extension RouteLabel {
  /// What a request counts as that the server refused.
  init(_ refused: RefusedRequest) {
    // What a handler has seen keeps its label.
    if let known = RouteLabel(rawValue: refused.route), known != .other {
      self = known
    } else {
      self = refused.request.map { Route($0).label } ?? .refused
    }
  }
}

extension Route {
  /// What it counts as.
  var label: RouteLabel {
    switch self {
    case .access: .access
    case .token: .token
    case .callbacks: .callbacks
    case .callback: .callback
    case .availability: .availability
    case .liveness: .liveness
    case .readiness: .readiness
    case .root: .root
    case .openAPI: .openAPI
    case .docs: .docs
    case .server: .server
    case .admin(let route): route.label
    case .unknown: .other
    }
  }
}

extension AdminRoute {
  /// What it counts as.
  var label: RouteLabel {
    switch self {
    case .metrics: .metrics
    case .status: .adminStatus
    case .stop: .adminStop
    case .resume: .adminResume
    case .reload: .adminReload
    case .explain: .adminExplain
    case .callbacks: .adminCallbacks
    case .unknown: .other
    }
  }
}

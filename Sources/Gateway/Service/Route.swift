// From a request's path to what answers it.

internal import Gate
internal import HTTP

/// What a path leads to. Paths are compared as they came: nothing here needs percent-encoding.
enum Route {
  case access
  /// `POST /token/{app}`, with the app's name.
  case token(app: Request.QueryItem)
  /// `POST /calls/callback` and its alias.
  case callbacks
  /// `GET /callbacks/{id}`, with the id.
  case callback(id: String)
  case availability
  case liveness
  case readiness
  case root
  case openAPI
  case docs
  /// `OPTIONS *`: the server itself (RFC 9110 §9.3.7).
  case server
  /// `/metrics` and `/admin/…`
  case admin(AdminRoute)
  case unknown

  init(_ request: borrowing Request) {
    if request.pathIs("/access") {
      self = .access
    } else if let segment = request.pathSegment(after: "token") {
      // A name that does not decode is no app's name.
      self = .token(app: request.percentDecoded(segment).map { .value($0) } ?? .malformed)
    } else if request.pathIs("/calls/callback") || request.pathIs("/callbacks") {
      self = .callbacks
    } else if let segment = request.pathSegment(after: "callbacks") {
      // What does not decode is no id, and finds nothing.
      self = .callback(id: request.percentDecoded(segment) ?? "")
    } else if request.pathIs("/availability") {
      self = .availability
    } else if request.pathIs("/livez") || request.pathIs("/healthz") {
      self = .liveness
    } else if request.pathIs("/readyz") {
      self = .readiness
    } else if request.pathIs("/") {
      self = .root
    } else if request.pathIs("/openapi.json") {
      self = .openAPI
    } else if request.pathIs("/docs") {
      self = .docs
    } else if request.pathIs("*") {
      self = .server
    } else if let route = AdminRoute(request) {
      self = .admin(route)
    } else {
      self = .unknown
    }
  }

  /// What is asked for here by a request that is audited: every one to the paths that vend, and each POST where callbacks are
  /// asked for.
  func audited(_ method: Method) -> Action? {
    switch self {
    case .access, .token: .access
    case .callbacks: method == .post ? .callback : nil
    default: nil
    }
  }

  /// Whether pages of other origins may be let in here: what apps ask for, and nothing else.
  var isForApps: Bool {
    switch self {
    case .access, .token, .callbacks, .callback, .availability: true
    case .liveness, .readiness, .root, .openAPI, .docs, .server, .admin, .unknown: false
    }
  }

  /// Whether browsers may keep an answer for an app.
  var isKept: Bool { if case .availability = self { true } else { false } }

  /// The methods a route knows, for `Allow` (RFC 9110 §10.2.1).
  var allowed: String {
    switch self {
    case .access, .callback, .availability, .liveness, .readiness, .root, .openAPI, .docs:
      "GET, HEAD, OPTIONS"
    case .token, .callbacks: "POST, OPTIONS"
    case .server: "GET, HEAD, POST, OPTIONS"
    case .admin(let route): route.allowed
    case .unknown: ""
    }
  }
}

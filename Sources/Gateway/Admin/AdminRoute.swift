// The paths of operators.

internal import HTTP

/// What a path of operators leads to: `/metrics`, or one below `/admin`.
enum AdminRoute: Sendable {
  case metrics
  case status
  case stop
  case resume
  case reload
  case explain
  case callbacks
  case unknown

  /// Nil for a path that is none of the operators'.
  init?(_ request: borrowing Request) {
    if request.pathIs("/metrics") {
      self = .metrics
      return
    }
    let prefix = Array("/admin/".utf8)
    guard request.path.count >= prefix.count, request.head[request.path].starts(with: prefix) else {
      return nil
    }
    if request.pathIs("/admin/status") {
      self = .status
    } else if request.pathIs("/admin/stop") {
      self = .stop
    } else if request.pathIs("/admin/resume") {
      self = .resume
    } else if request.pathIs("/admin/reload") {
      self = .reload
    } else if request.pathIs("/admin/explain") {
      self = .explain
    } else if request.pathIs("/admin/callbacks") {
      self = .callbacks
    } else {
      self = .unknown
    }
  }

  /// The methods it knows, for `Allow`.
  var allowed: String {
    switch self {
    case .metrics, .status, .callbacks: "GET, HEAD, OPTIONS"
    case .stop, .resume, .reload, .explain: "POST, OPTIONS"
    case .unknown: ""
    }
  }

  /// Whether it knows a method.
  func takes(_ method: Method) -> Bool {
    switch (self, method) {
    case (.metrics, .get), (.metrics, .head), (.status, .get), (.status, .head), (.callbacks, .get),
      (.callbacks, .head):
      true
    case (.stop, .post), (.resume, .post), (.reload, .post), (.explain, .post): true
    default: false
    }
  }
}

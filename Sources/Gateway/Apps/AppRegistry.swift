// Which app a request is for, and whether its caller may speak for it.

internal import HTTP

/// A mobile app that vending is set up for.
struct App: Hashable, Sendable {
  /// The name in `/token/{app}` and `?app=`.
  let id: String
  /// The callers that may ask for it; nil: all.
  let callers: Set<String>?
  /// The scope of its tokens; nil: the configured default.
  let scope: String?
}

/// All apps by name.
struct AppRegistry: Sendable {
  private let apps: [String: App]
  /// The one app that lists a caller, for requests that name none.
  private let appOfCaller: [String: App]

  init(_ apps: [App]) {
    self.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
    var listed: [String: [App]] = [:]
    for app in apps {
      for caller in app.callers ?? [] { listed[caller, default: []].append(app) }
    }
    appOfCaller = listed.compactMapValues { $0.count == 1 ? $0[0] : nil }
  }

  /// The app of a request.
  /// - Parameters:
  ///   - name: What the request names, if anything: a segment of its path or the query's `app`.
  ///   - caller: Who asks.
  /// - Returns: The named app, or the one app that lists the caller, or nil.
  func app(named name: Request.QueryItem, for caller: Caller) throws(Problem) -> App? {
    guard name != .absent else { return appOfCaller.isEmpty ? nil : appOfCaller[caller.id] }
    // A name given twice, or one that is no text, is no app's name.
    guard case .value(let name) = name, let app = apps[name] else {
      throw Problem(.unknownApp, "No app of this name is configured.")
    }
    if let callers = app.callers, !callers.contains(caller.id) {
      throw Problem(.denied, "This caller is not listed for this app.")
    }
    return app
  }
}

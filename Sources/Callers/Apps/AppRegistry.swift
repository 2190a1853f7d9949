// Finds the app that a request is for, and checks that the caller may use it.

package import API
package import HTTP
import Texts

/// A configured mobile app. A class, because every request passes it on several times.
package final class App: Sendable {
  /// The name in `/token/{app}` and `?app=`.
  package let id: String
  /// The callers that may use the app; nil for all.
  let callers: Set<ExactText>?
  /// The scope of its tokens; nil for the account's scope.
  package let scope: String?
  /// Whether its tokens come by push.
  package let isPushed: Bool
  /// The chat desk whose session tokens the app gets; nil if it gets Talkdesk's tokens.
  package let desk: String?
  /// Whether its chat desk accepts tickets.
  package let takesTickets: Bool
  /// The terms on which its requests need an App Check token. Nil if they need none.
  package let appCheck: AppCheckTerms?
  /// The terms on which enrolling a phone needs an attestation. Nil if it needs none.
  package let attested: AttestedTerms?

  package init(
    id: String, callers: Set<String>?, scope: String?, isPushed: Bool = false, desk: String? = nil,
    takesTickets: Bool = false, appCheck: AppCheckTerms? = nil, attested: AttestedTerms? = nil
  ) {
    self.id = id
    self.callers = callers.map { Set($0.map { ExactText($0) }) }
    self.scope = scope
    self.isPushed = isPushed
    self.desk = desk
    self.takesTickets = takesTickets
    self.appCheck = appCheck
    self.attested = attested
  }
}

/// All apps by name. A class, because each request uses it several times.
package final class AppRegistry: Sendable {
  private let names: NameIndex
  /// The apps, at their numbers in `names`.
  private let apps: [App]
  /// Whether the requests of any app need an App Check token.
  let demandsAppCheck: Bool
  /// The app of each caller that only one app lists, for requests that name no app.
  private let appOfCaller: [ExactText: App]
  /// The callers of plain apps, which get Talkdesk's tokens in the response, and the callers of all other
  /// apps.
  private let (plain, special): (Takers, Takers)

  /// The callers that may use at least one of some apps.
  private struct Takers: Sendable {
    private let takesAll: Bool
    private let listed: Set<ExactText>

    init(_ apps: [App]) {
      takesAll = apps.contains { $0.callers == nil }
      listed = Set(apps.flatMap { $0.callers ?? [] })
    }

    func contain(_ callerID: String) -> Bool { takesAll || listed.contains(ExactText(callerID)) }
  }

  package init(_ apps: [App]) {
    names = NameIndex(apps.map(\.id))
    self.apps = apps
    demandsAppCheck = apps.contains { $0.appCheck != nil }
    var listed: [ExactText: [App]] = [:]
    for app in apps {
      for caller in app.callers ?? [] { listed[caller, default: []].append(app) }
    }
    appOfCaller = listed.compactMapValues { $0.count == 1 ? $0[0] : nil }
    plain = Takers(apps.filter { !$0.isPushed && $0.desk == nil })
    special = Takers(apps.filter { $0.isPushed || $0.desk != nil })
  }

  /// Whether a caller must name an app to get a token: if all apps that it may use have tokens by push or a
  /// chat desk. Otherwise, leaving out the app would give it a plain token, which its apps do not allow.
  package func needsName(_ callerID: String) -> Bool {
    special.contain(callerID) && !plain.contain(callerID)
  }

  /// The app of a request, or why the request has none. Stops are checked before that refusal, and need the
  /// app.
  package enum Claim: Sendable {
    /// The app that the request names and may use. Without a name: for an installation, its own app;
    /// otherwise the only app that lists the caller, or nil.
    case admitted(App?)
    /// An app that the caller may not use: it does not list the caller, or the caller is an installation of
    /// another app.
    case unlisted(App)
    /// A name that no app has, that is repeated, or that cannot be decoded. Also an installation without a
    /// name in its request, whose own app is no longer configured.
    case unknown

    /// The app of the request, even if the caller may not use it; nil if there is none.
    package var app: App? {
      switch self {
      case .admitted(let app): app
      case .unlisted(let app): app
      case .unknown: nil
      }
    }

    /// The reason for the refusal, for operators.
    package func refusal(of callerID: String) -> String {
      app.map { "caller \(callerID) is not listed for app \($0.id)" }
        ?? "the request names an app that is not configured"
    }

    /// The app of the request, or the problem for its response.
    package func admitted() throws(Problem) -> App? {
      switch self {
      case .admitted(let app): return app
      case .unlisted: throw Problem(.denied, "This caller is not listed for this app.")
      case .unknown: throw .noApp
      }
    }
  }

  /// Finds the app of a request, and checks that the caller may use it.
  ///
  /// - Parameters:
  ///   - name: The app's name in the request, if any: a segment of its path, or `app` in its query.
  ///   - callerID: The id of the request's caller.
  ///   - installedFor: The app of an installation, if the caller is one. It may use only that app, whichever
  ///     callers the app lists.
  package func claim(
    named name: Request.QueryItem, by callerID: String, installedFor appID: String? = nil
  ) -> Claim {
    if let appID { return claim(named: name, installedFor: appID) }
    guard name != .absent else {
      return .admitted(appOfCaller.isEmpty ? nil : appOfCaller[ExactText(callerID)])
    }
    // A repeated name, or a name that cannot be decoded, counts as unknown.
    guard case .value(let name) = name, let app = self[name] else { return .unknown }
    if let callers = app.callers, !callers.contains(ExactText(callerID)) { return .unlisted(app) }
    return .admitted(app)
  }

  private func claim(named name: Request.QueryItem, installedFor appID: String) -> Claim {
    let named: String
    switch name {
    case .absent: named = appID
    case .value(let text): named = text
    case .malformed: return .unknown
    }
    guard let app = self[named] else { return .unknown }
    return named.hasSameBytes(as: appID) ? .admitted(app) : .unlisted(app)
  }

  /// Whether a caller may use an app.
  package func lists(_ callerID: String, for app: App) -> Bool {
    app.callers?.contains(ExactText(callerID)) ?? true
  }

  /// The apps that a caller may use.
  func apps(taking callerID: String) -> [App] { apps.filter { lists(callerID, for: $0) } }

  /// The names of all apps.
  var ids: [String] { apps.map(\.id) }

  /// An app by its name.
  package subscript(_ id: String) -> App? { names.number(of: id).map { apps[$0] } }

  /// The app's name in the query of a request. A known name reuses the app's own text, so that no text is
  /// allocated.
  package func name(in request: borrowing Request) -> Request.QueryItem {
    request.queryItem("app") { octets in names.number(of: octets).map { apps[$0].id } }
  }
}

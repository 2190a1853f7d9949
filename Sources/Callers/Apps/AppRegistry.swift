// Finds the app that a request is for, and checks that the caller may use it.

package import API
package import HTTP
import Texts

/// A mobile app that vending is set up for. A class, because every request passes it on several times.
package final class App: Sendable {
  /// The name in `/token/{app}` and `?app=`.
  package let id: String
  /// The callers that may ask for it; nil: all.
  let callers: Set<ExactText>?
  /// The scope of its tokens; nil: the configured default.
  package let scope: String?
  /// Whether its tokens come by push.
  package let isPushed: Bool
  /// The chat desk whose session tokens it gets in place of Talkdesk's tokens.
  package let desk: String?
  /// Whether its chat desk takes tickets.
  package let takesTickets: Bool
  /// The terms of App Check; nil where its tokens are not judged.
  package let appCheck: AppCheckTerms?
  /// By which terms its first requests for an installation need an attestation; nil where they need none.
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

/// All apps by name. A class, because each request asks it several times.
package final class AppRegistry: Sendable {
  private let names: NameIndex
  /// By their numbers in `names`.
  private let apps: [App]
  /// Whether an app's requests need a token of App Check.
  let demandsAppCheck: Bool
  /// The one app that lists a caller, for requests that name none.
  private let appOfCaller: [ExactText: App]
  /// The callers that apps take whose tokens are in the response and Talkdesk's, and those that other apps take.
  private let (plain, special): (Takers, Takers)

  /// The callers that some apps take.
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

  /// Whether a caller has to name an app to get a token: every app that takes it has tokens by push, or a chat desk. Without this,
  /// leaving the app out would give what none of its apps gives.
  package func needsName(_ callerID: String) -> Bool {
    special.contain(callerID) && !plain.contain(callerID)
  }

  /// The app of a request, or the reason for none. The kill switch comes before that refusal, and needs the
  /// app.
  package enum Claim: Sendable {
    /// The app the request names and may use, or the one app that lists the caller; nil for none.
    case admitted(App?)
    /// An app that does not list the caller.
    case unlisted(App)
    /// A name that no app has.
    case unknown

    /// The app it is about.
    package var app: App? {
      switch self {
      case .admitted(let app): app
      case .unlisted(let app): app
      case .unknown: nil
      }
    }

    /// Why the caller is refused, for operators.
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

  /// The app of a request.
  ///
  /// - Parameters:
  ///   - name: The app's name in the request, if any: a segment of its path, or `app` in its query.
  ///   - callerID: The id of the caller who asks.
  ///   - installedFor: The app of an installation: that one only, whichever callers it lists.
  package func claim(
    named name: Request.QueryItem, by callerID: String, installedFor appID: String? = nil
  ) -> Claim {
    if let appID { return claim(named: name, installedFor: appID) }
    guard name != .absent else {
      return .admitted(appOfCaller.isEmpty ? nil : appOfCaller[ExactText(callerID)])
    }
    // A repeated name, or one that does not decode, is no app's name.
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

  /// Whether an app takes a caller.
  package func lists(_ callerID: String, for app: App) -> Bool {
    app.callers?.contains(ExactText(callerID)) ?? true
  }

  /// The apps that take a caller.
  func apps(taking callerID: String) -> [App] { apps.filter { lists(callerID, for: $0) } }

  /// The names of all apps.
  var ids: [String] { apps.map(\.id) }

  /// An app by its name.
  package subscript(_ id: String) -> App? { names.number(of: id).map { apps[$0] } }

  /// The app's name in the query of a request. A known name is the app's own text, so that none is made.
  package func name(in request: borrowing Request) -> Request.QueryItem {
    request.queryItem("app") { octets in names.number(of: octets).map { apps[$0].id } }
  }
}

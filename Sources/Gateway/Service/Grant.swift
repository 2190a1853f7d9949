// What a request may have, once every check has passed.

internal import Talkdesk

/// The permission to vend a token of one scope. Only `Policy` makes one, and vending takes one: code that forgot the
/// gate does not compile.
struct Grant: Sendable {
  /// The scope that is granted.
  let scope: TokenSource.ScopeID

  fileprivate init(scope: TokenSource.ScopeID) { self.scope = scope }
}

/// Decides which scope a caller may have: the app's own, otherwise the account's.
struct Policy: Sendable {
  private let accountScope: TokenSource.ScopeID
  private let scopes: [String: TokenSource.ScopeID]

  init(accountScope: String, apps: [App], tokens: TokenSource) {
    self.accountScope = tokens.scopeID(accountScope)
    let named = apps.compactMap { app in app.scope.map { (app.id, tokens.scopeID($0)) } }
    scopes = Dictionary(uniqueKeysWithValues: named)
  }

  /// The grant for a caller, speaking for an app or for none.
  func permit(_ caller: Caller, for app: App?) -> Grant {
    Grant(scope: app.flatMap { scopes[$0.id] } ?? accountScope)
  }
}

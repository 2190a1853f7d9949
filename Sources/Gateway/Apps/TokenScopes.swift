// Which scope the tokens of an app have.

internal import Talkdesk

/// The scopes by app: an app's own, otherwise the account's.
struct TokenScopes: Sendable {
  /// The account's: what this server's own calls to the API are made with.
  let account: TokenSource.ScopeID
  private let scopes: [String: TokenSource.ScopeID]

  init(account: String, apps: [App], tokens: TokenSource) {
    self.account = tokens.scopeID(account)
    let named = apps.compactMap { app in app.scope.map { (app.id, tokens.scopeID($0)) } }
    scopes = Dictionary(uniqueKeysWithValues: named)
  }

  /// The scope of tokens for an app, or for none.
  func scope(of appID: String?) -> TokenSource.ScopeID {
    // Most configurations name no scope besides the account's.
    guard !scopes.isEmpty, let appID else { return account }
    return scopes[appID] ?? account
  }
}

// Decides which scope the tokens of each app have.

import Texts
package import Tokens

/// The scopes by app: an app's own, otherwise the account's.
package struct TokenScopes: Sendable {
  /// The scope that Talkdesk's Callback API requires.
  package static let callbackWrite = "callback:write"
  /// The scope that Talkdesk's own server requests for interactions of the Mobile SDK.
  package static let mobileSDK = "visual-sessions:execute"

  /// The account's scope, for apps without a scope of their own.
  let account: TokenSource.ScopeID
  /// The apps with a scope of their own. `scopes` has their scopes at the same indexes.
  private let apps: NameIndex
  private let scopes: [TokenSource.ScopeID]

  package init(account: String, apps: [App], tokens: TokenSource) {
    self.account = tokens.scopeID(account)
    let named = apps.filter { $0.scope != nil }
    self.apps = NameIndex(named.map(\.id))
    scopes = named.compactMap(\.scope).map { tokens.scopeID($0) }
  }

  /// The scope of tokens for an app, or for a request without an app.
  package func scope(of appID: String?) -> TokenSource.ScopeID {
    // Most configurations name no scope besides the account's.
    guard !scopes.isEmpty, let appID, let number = apps.number(of: appID) else { return account }
    return scopes[number]
  }

  /// The scope of this server's own calls: the account's if that includes callbacks, so that one token serves
  /// both; otherwise exactly the scope that they need. The scope id is made at the first callback.
  package func callbacks(_ tokens: TokenSource) -> TokenSource.ScopeID {
    Self.allowsCallbacks(account.name) ? account : tokens.scopeID(Self.callbackWrite)
  }

  private var callbackScope: String {
    Self.allowsCallbacks(account.name) ? account.name : Self.callbackWrite
  }

  /// A status with only the scopes of this configuration's clients and callbacks. It leaves out those of the
  /// server's lookups of numbers, and those of earlier configurations, which the token source remembers after
  /// a reload.
  package func configured(_ status: TokenSourceStatus) -> TokenSourceStatus {
    let names = Set([account.name, callbackScope] + scopes.map(\.name))
    var status = status
    status.scopes.removeAll { !names.contains($0.scope) }
    return status
  }

  /// Why the last request for the callbacks' token failed. Nil if it succeeded, if there was none yet, or if
  /// the failure says nothing about the provider.
  package func callbackFailure(_ status: TokenSourceStatus) -> TokenExchangeError? {
    guard
      case .failure(let error) = status.scopes.first(where: { $0.scope == callbackScope })?.lastRequest?
        .outcome,
      error.isOfProvider
    else { return nil }
    return error
  }

  /// Whether tokens of a scope also work for callbacks.
  package static func allowsCallbacks(_ scope: String) -> Bool {
    scope.utf8.split(separator: 0x20).contains { $0.elementsEqual(callbackWrite.utf8) }
  }
}

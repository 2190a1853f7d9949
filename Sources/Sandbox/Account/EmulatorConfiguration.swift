// The account, OAuth client and token lifetime that an emulator starts with.

public import JOSE

/// The emulator's configuration: one account and one OAuth client in it.
public struct EmulatorConfiguration: Sendable {
  /// The name of the account. The emulator does not check it.
  public var accountName: String
  public var clientID: String
  /// The client's public keys: several during a key rotation, none if the client authenticates only by
  /// secret.
  public var keys: [RegisteredKey]
  /// The client's secret for HTTP Basic. If nil, Basic is refused.
  public var clientSecret: Secret?
  /// The scopes of the client. A request without `scope` gets them all.
  public var grantedScopes: [String]
  /// Scopes for triggers, screening, the Live API and reports. Every client has them, but gets only those
  /// that its token request names. The Live API and reports have one scope for writing, then one for reading.
  static let triggerScope = "webhooks-trigger:write"
  static let screeningScopes = ["identity-phone-validation:read", "do-not-call-lists:manage"]
  static let liveScopes = ["live-subscriptions:write", "live-subscriptions:read"]
  static let reportScopes = ["data-reports:write", "data-reports:read"]
  /// The account's own numbers. `talkdesk_phone_number` must be one of them; nil accepts any number.
  public var phoneNumbers: [String]?
  /// The lifetime of a token, in seconds. The `expires_in` of the reply is one second less, as in Talkdesk's
  /// replies.
  public var tokenLifetime: Int64
  /// A real account's response. It replaces the usual response to a callback, `grantedScopes` and, if its
  /// token had an `expires_in`, `tokenLifetime`.
  public var facts: AccountFacts?

  /// Makes a configuration. The default scopes and token lifetime are Talkdesk's.
  public init(
    accountName: String = "sandbox", clientID: String, keys: [RegisteredKey], clientSecret: Secret? = nil,
    grantedScopes: [String] = ["callback:write", "visual-sessions:execute"], phoneNumbers: [String]? = nil,
    tokenLifetime: Int64 = 600, facts: AccountFacts? = nil
  ) {
    self.accountName = accountName
    self.clientID = clientID
    self.keys = keys
    self.clientSecret = clientSecret
    self.grantedScopes = grantedScopes
    self.phoneNumbers = phoneNumbers
    self.tokenLifetime = tokenLifetime
    self.facts = facts
  }
}

// The account, OAuth client and token lifetime that an emulator starts with.

public import JOSE

/// The emulator's configuration: one account and one OAuth client in it.
public struct EmulatorConfiguration: Sendable {
  /// The name of the account; shown, never checked.
  public var accountName: String
  /// The OAuth client's id.
  public var clientID: String
  /// The client's public keys: several during a key rotation, none if the client authenticates only by
  /// secret.
  public var keys: [RegisteredKey]
  /// The client's secret for HTTP Basic; nil refuses Basic.
  public var clientSecret: Secret?
  /// Scopes the client has. A request without `scope` gets them all.
  public var grantedScopes: [String]
  /// Scopes for triggers, screening, the Live API and reports. Every client has them, but gets only those
  /// that its token request names. The Live API and reports have one scope for writing, then one for reading.
  static let triggerScope = "webhooks-trigger:write"
  static let screeningScopes = ["identity-phone-validation:read", "do-not-call-lists:manage"]
  static let liveScopes = ["live-subscriptions:write", "live-subscriptions:read"]
  static let reportScopes = ["data-reports:write", "data-reports:read"]
  /// The account's own numbers. `talkdesk_phone_number` must be one of them; nil accepts any number.
  public var phoneNumbers: [String]?
  /// How long a token lives, in seconds. The reply's `expires_in` is one less, as Talkdesk's clients report it.
  public var tokenLifetime: Int64
  /// A real account's response. It replaces `grantedScopes`, `tokenLifetime` and the usual response to a callback.
  public var facts: AccountFacts?

  /// Makes a configuration with Talkdesk's own values by default.
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

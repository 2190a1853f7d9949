// The role and the state of one credential while keys are rotated.

/// The role of a credential in a rotation of keys.
public enum CredentialRole: String, CaseIterable, Sendable {
  /// The key in use. During a rotation, it is used until Talkdesk ID accepts the next key.
  case current
  /// The key to rotate to. It is tried first, unless it is set aside.
  case next
}

/// The state of one credential since it was configured. Reading the state starts no exchange.
public struct CredentialStatus: Sendable {
  /// Talkdesk ID's last response to a credential.
  public enum State: String, CaseIterable, Sendable {
    /// The credential was not tried, or the response said nothing about it.
    case untried
    /// Talkdesk ID issued a token for the credential.
    case accepted
    /// Talkdesk ID refused the credential: by the word `invalid_client`, or by refusing it and granting the
    /// same request with another credential.
    case refused
  }

  /// The credential's name: a key id or `client_secret`.
  public var name: String
  /// The OAuth client's id.
  public var clientID: String
  public var role: CredentialRole
  /// Talkdesk ID's last response to the credential.
  public var state: State
  /// The time since that response; nil if the credential is untried.
  public var age: Duration?
  /// The time for which the credential stays set aside while another is used; nil if it is not set aside.
  public var retryIn: Duration?
}

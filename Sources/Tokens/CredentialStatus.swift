// The role and the state of one credential while keys are rotated.

/// The role of a credential in a rotation of keys.
public enum CredentialRole: String, CaseIterable, Sendable {
  /// The one that serves: with a rotation under way, until Talkdesk ID accepts the next.
  case current
  /// The one to rotate to: tried first.
  case next
}

/// The state of one credential since it was configured. Reading it costs no exchange.
public struct CredentialStatus: Sendable {
  /// Talkdesk ID's last response to it.
  public enum State: String, CaseIterable, Sendable {
    /// It was not tried, or the response said nothing about it.
    case untried
    /// It brought a token.
    case accepted
    /// It was refused: by the word `invalid_client`, or because the same request with another credential was answered.
    case refused
  }

  /// Its name: a key id or `client_secret`.
  public var name: String
  /// The OAuth client's id.
  public var clientID: String
  /// Its role.
  public var role: CredentialRole
  /// Talkdesk ID's last response to it.
  public var state: State
  /// How long ago that was; nil while it is untried.
  public var age: Duration?
  /// How long it is left aside after a refusal, another serving meanwhile; nil where it is not.
  public var retryIn: Duration?
}

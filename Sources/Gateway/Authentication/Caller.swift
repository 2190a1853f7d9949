// Who asks. Only the authenticator makes one, so code that skipped it does not compile.

/// An authenticated caller.
public struct Caller: Hashable, Sendable {
  /// The id of the configured caller, or `anonymous`.
  public let id: String
  /// Who asks on the caller's behalf: a JWT's subject, otherwise the caller's id.
  public let subject: String

  /// Only `Authenticator` calls this.
  init(authenticated id: String, subject: String? = nil) {
    self.id = id
    self.subject = subject ?? id
  }
}

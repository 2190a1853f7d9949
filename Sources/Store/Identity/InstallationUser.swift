// The user who owns an installation and its records.

public import Texts

/// A user of a configured caller: the caller's id and the subject that its token names.
public struct InstallationUser: Hashable, Sendable {
  /// The id of the caller that the user's token belongs to.
  @Exact public private(set) var callerID: String
  /// The token's subject.
  @Exact public private(set) var subject: String

  public init(callerID: String, subject: String) {
    self.callerID = callerID
    self.subject = subject
  }
}

// The identity behind a request after authentication: the caller, its user and the claims of its token.

package import Gate
package import Records

/// An authenticated caller.
package struct Caller: Hashable, Sendable {
  /// The id of requests without credentials, where those are served.
  package static let anonymousID = "anonymous"

  /// The id of the configured caller, or `anonymous`.
  package let id: String
  /// Who asks on the caller's behalf: a JWT's subject, otherwise the caller's id.
  package let subject: String
  /// The claims of its JWT; empty for other callers.
  package let claims: [FactMember]
  /// The subject for logs. Some identity providers name people by their telephone number.
  let loggedSubject: String

  /// Only the authenticators of this module make a caller.
  init(authenticated id: String, subject: String? = nil, claims: [FactMember] = []) {
    self.id = id
    self.subject = subject ?? id
    loggedSubject = subject?.hidingPhoneNumbers ?? id
    self.claims = claims
  }

  /// The caller as an audit line names it.
  package var audited: AuditedCaller { AuditedCaller(id: id, subject: loggedSubject) }
}

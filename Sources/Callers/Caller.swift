// The identity behind a request after authentication: the caller, its user and the claims of its token.

package import API
package import Gate
package import Installations
package import JOSE
package import Store

/// An authenticated caller. A class, because every request passes it on several times.
package final class Caller: Sendable {
  /// The caller id of requests without credentials, if the server accepts them.
  package static let anonymousID = "anonymous"
  /// The caller id of every installation.
  package static let installationID = Facts.installationCaller

  /// The caller id of the sandbox's own users.
  package static let sandboxUsersID = "sandbox-users"

  /// How a caller proved its identity.
  package enum Proof: Hashable, Sendable { case none, basic, key, jwt, installation }

  /// The id of the configured caller, `anonymousID` or `installationID`.
  package let id: String
  /// The subject of the user's JWT, or of the installation. For other callers, the caller's id.
  package let subject: String
  /// The claims of a JWT, or the description of an installation by its app; empty for other callers.
  package let claims: [FactMember]
  /// How the caller proved its identity.
  package let proof: Proof
  /// The installation; nil for other callers.
  package let installation: KnownInstallation?
  /// The thumbprint (RFC 7638) of the key that each request must prove: an installation's key, or `cnf.jkt`
  /// of a JWT. Nil without a key.
  package let key: SHA256Digest?
  /// The caller as an audit line names it. Phone numbers are hidden, because some identity providers use them
  /// as subjects.
  package let audited: AuditedCaller

  /// Creates an authenticated caller. Not public, so that only the authenticators of this module can.
  init(
    authenticated id: String, by proof: Proof = .basic, subject: String? = nil, claims: [FactMember] = [],
    key: SHA256Digest? = nil
  ) {
    self.key = key
    self.id = id
    self.subject = subject ?? id
    audited = AuditedCaller(id: id, subject: subject?.hidingPhoneNumbers ?? id)
    self.claims = claims
    self.proof = proof
    installation = nil
  }

  /// An installation that has proved its identity.
  init(authenticated installation: KnownInstallation) {
    id = Self.installationID
    subject = installation.subject
    audited = installation.audited
    claims = installation.claims
    proof = .installation
    key = installation.installation.key
    self.installation = installation
  }

  /// The app that an installation belongs to; nil for other callers.
  package var installedFor: String? { installation?.installation.appID }

  /// Whether the subject is a single user or installation. Other callers have one subject for all their
  /// users.
  package var hasOwnSubject: Bool { proof == .jwt || proof == .installation }

  /// The values by which rules count an installation; nil for other callers.
  package var installationFacts: InstallationFacts? { installation?.facts }

  /// The owner of the caller's records, keys and duplicates. A user is the same owner with an installation
  /// and with a JWT.
  package var owner: InstallationUser {
    installation?.installation.owner ?? InstallationUser(callerID: id, subject: subject)
  }

  /// An installation as an audit line names it.
  package static func audited(_ installation: Installation) -> AuditedCaller {
    KnownInstallation(installation).audited
  }
}

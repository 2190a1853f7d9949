// An installation as it was read from the store, with the texts that each of its requests needs.

package import API
package import Gate
package import Store
import Texts

/// An installation from the store, prepared for requests. Its texts are built once, when it is read.
package final class KnownInstallation: Sendable {
  package let installation: Installation
  /// The `client_id` as text.
  package let clientID: String
  /// The subject: the installation's user, or its own ID if it has no user.
  package let subject: String
  /// The installation as audit lines name it. Telephone numbers in the subject are hidden, because some
  /// identity providers name people by their number.
  package let audited: AuditedCaller
  /// The app's description of itself, as claims for rules.
  package let claims: [FactMember]
  /// The installation, in the facts for rules.
  package let facts: InstallationFacts

  package init(_ installation: Installation) {
    self.installation = installation
    clientID = installation.client.id.description
    subject = installation.user?.subject ?? clientID
    audited = AuditedCaller(
      id: Facts.installationCaller, subject: installation.user?.subject.hidingPhoneNumbers ?? clientID,
      installation: clientID)
    claims = installation.client.claims
    facts = InstallationFacts(id: clientID, callerID: installation.user?.callerID)
  }
}

extension KnownInstallation: Hashable {
  package static func == (a: KnownInstallation, b: KnownInstallation) -> Bool {
    a.installation == b.installation
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(installation) }
}

extension InstallationClient {
  /// The app's description of itself, as claims for rules.
  package var claims: [FactMember] {
    [FactMember("client_app", .string(app))]
      + (detail.map { [FactMember("client_detail", .string($0))] } ?? [])
  }

  /// The app's claims together with a token's claims. A token claim of the same name is dropped, so that each
  /// name occurs once.
  package func claims(beside others: [FactMember]) -> [FactMember] {
    others.filter { !["client_app", "client_detail"].contains(exactly: $0.name) } + claims
  }
}

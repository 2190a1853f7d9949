// The caller of a request as its audit line names it.

import JSON
import Texts

/// The caller of a request, as an audit line names it. A class with prepared text, because callers send many
/// requests.
package final class AuditedCaller: Equatable, Sendable {
  /// The id of the configured caller, `installation` or `anonymous`.
  package let id: String
  /// The subject that the credential names, with phone numbers hidden. Without a subject, the `client_id` of
  /// an installation, or the caller's id.
  package let subject: String
  /// The `client_id` if the caller is an installation; otherwise nil.
  package let installation: String?
  /// The members for an audit line as JSON text, each after a comma.
  package let members: [UInt8]

  package init(id: String, subject: String, installation: String? = nil) {
    self.id = id
    self.subject = subject
    self.installation = installation
    var members = Array(#","caller":"#.utf8)
    JSONText.append(id, to: &members)
    members += #","subject":"#.utf8
    JSONText.append(subject, to: &members)
    if let installation {
      members += #","installation":"#.utf8
      JSONText.append(installation, to: &members)
    }
    self.members = members
  }

  package static func == (a: AuditedCaller, b: AuditedCaller) -> Bool { a.members == b.members }
}

// Names the owner of a callback's record, for audit lines that no request caused.

package import API
import Gate
package import Store
import Texts

extension AuditedCaller {
  /// The caller, user and installation of a record, as the audit line of the original request names them.
  package convenience init(of record: StoredCallback) {
    let installation = record.origin.installation?.id.description
    // A later installation with the same id has a subject of its own in records.
    let subject = record.callerID.hasSameBytes(as: Facts.installationCaller) ? installation : nil
    self.init(
      id: installation == nil ? record.callerID : Facts.installationCaller,
      subject: subject ?? record.subject?.hidingPhoneNumbers ?? record.callerID, installation: installation)
  }
}

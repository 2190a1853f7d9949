// Keeps scheduled GMS callbacks findable by number, and their names known, when the store key changes.

import Appointments
import JOSE
package import Sealing
package import Store

/// The update of a scheduled GMS callback when the store changes to a new store key.
package enum GMSRenewal {
  /// Computes the number's hash with the current key, and puts the name that an earlier key made into the
  /// content. Clients know the callback by that name, and without the earlier key it cannot be derived
  /// again.
  ///
  /// - Returns: Nil if the callback has no alias, if the hash is already made with the current key, or if
  ///   no key opens the content.
  package static func renewal(of appointment: DueAppointment, with keys: StoreKeys) -> AliasRenewal? {
    let record = appointment.record
    let names = GMSNames(keys: keys)
    let id = record.id
    guard let alias = record.alias else { return nil }
    do throws(StoreKeys.Failure) {
      var content = try AppointmentContent(opening: appointment.content, with: keys, for: id)
      let owner = content.owner
      let number = names.numbers(owner.callerID, owner.subject, content.contact)[0]
      guard number != alias.number else { return nil }
      content.name = content.name ?? names.name(of: record)
      do throws(OpenSSLError) {
        return AliasRenewal(number: number, content: try content.sealed(with: keys, for: id))
      } catch {
        // Nothing is lost: the transaction is not committed.
        preconditionFailure("OpenSSL has no randomness: \(error)")
      }
    } catch {
      return nil
    }
  }
}

// Keeps scheduled callbacks findable by number when the store key changes.

import Appointments
import JOSE
package import Sealing
package import Store

/// What a scheduled callback of GMS clients gets when everything is sealed with a new store key.
package enum GMSRenewal {
  /// A hash of the number by the current key, and a content that holds the name which the previous key made: clients know the callback
  /// by that name, and it cannot be made again without its key.
  ///
  /// - Returns: Nil if the current key has made both, and for a content that no key opens.
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

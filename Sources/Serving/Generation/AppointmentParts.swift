// The objects for appointments that survive a reload: store keys and waiting requests.

package import Appointments
package import Sealing

/// The objects for appointments that outlive a configuration.
package struct AppointmentParts: Sendable {
  /// The store keys that seal the contents of appointments; nil without a store key.
  package let keys: StoreKeys?
  /// The requests that wait for an appointment to change.
  package let watch: AppointmentWatch

  package init(keys: StoreKeys?, watch: AppointmentWatch) {
    self.keys = keys
    self.watch = watch
  }
}

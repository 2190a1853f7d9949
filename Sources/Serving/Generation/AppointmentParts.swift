// The parts of the appointment code that survive a reload.

package import Appointments
package import Sealing

/// The parts of the appointment code that outlive a configuration.
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

// The parts of appointments that survive a reload.

package import Appointments
package import Sealing

/// The parts of the appointment code that outlive a configuration.
package struct AppointmentParts: Sendable {
  /// The store keys that seal their contents; nil without one.
  package let keys: StoreKeys?
  /// Requests that wait for a change.
  package let watch: AppointmentWatch

  package init(keys: StoreKeys?, watch: AppointmentWatch) {
    self.keys = keys
    self.watch = watch
  }
}

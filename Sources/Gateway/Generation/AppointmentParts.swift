// The parts of appointments that survive a reload.

import Appointments
import Sealing

/// The parts of the appointment code that outlive a configuration.
struct AppointmentParts: Sendable {
  /// The store keys that seal their contents; nil without one.
  let keys: StoreKeys?
  /// Requests that wait for a change.
  let watch: AppointmentWatch
}

// The parts of appointments that survive a reload.

import Appointments
import Sealing

/// The appointments' part of what outlives a configuration.
struct AppointmentParts: Sendable {
  /// What seals their contents; nil without a store key.
  let keys: StoreKeys?
  /// Requests that wait for a change.
  let watch: AppointmentWatch
}

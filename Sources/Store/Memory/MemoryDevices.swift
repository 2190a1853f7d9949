// Devices in memory, which are lost when the process ends.

import JOSE

/// The devices of all installations: one an installation, and one installation a device.
struct MemoryDevices: Sendable {
  private var devices: [InstallationID: StoredDevice] = [:]
  private var owners: [SHA256Digest: InstallationID] = [:]

  subscript(id: InstallationID) -> StoredDevice? { devices[id] }

  mutating func register(_ device: StoredDevice) {
    if let owner = owners[device.name] { remove(of: owner) }
    remove(of: device.installation)
    devices[device.installation] = device
    owners[device.name] = device.installation
  }

  mutating func remove(of id: InstallationID) {
    if let device = devices.removeValue(forKey: id) { owners[device.name] = nil }
  }

  mutating func drop(_ device: StoredDevice) -> Bool {
    guard devices[device.installation] == device else { return false }
    remove(of: device.installation)
    return true
  }
}

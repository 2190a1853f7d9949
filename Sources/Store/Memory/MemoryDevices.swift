// Devices in memory, which are lost when the process ends.

import Gate
import JOSE

/// The devices of all installations: one an installation, and one installation a device. And who used the names of hooks.
struct MemoryDevices: Sendable {
  private var devices: [InstallationID: StoredDevice] = [:]
  private var owners: [SHA256Digest: InstallationID] = [:]
  private var names: [SHA256Digest: (holder: InstallationIdentity, last: Instant)] = [:]

  subscript(installation: InstallationIdentity) -> StoredDevice? {
    devices[installation.id].flatMap { $0.installation == installation ? $0 : nil }
  }

  /// The installations that use the name of a device since a time.
  func users(of device: StoredDevice, since time: Instant) -> [InstallationIdentity] {
    let holder = owners[device.name].flatMap { devices[$0] }
    return [
      names[device.name].flatMap { $0.last > time ? $0.holder : nil },
      holder.flatMap { $0.registered > time ? $0.installation : nil },
    ].compactMap(\.self)
  }

  mutating func use(_ device: StoredDevice, at time: Instant) {
    names[device.name] = (device.installation, max(time, names[device.name]?.last ?? time))
    let own = names.filter { $0.value.holder == device.installation }.sorted { $0.value.last > $1.value.last }
    for (name, _) in own.dropFirst(StoredDevice.mostNames) { names[name] = nil }
  }

  mutating func forgetNames(usedUpTo time: Instant) -> Int {
    let count = names.count
    names = names.filter { $0.value.last > time }
    return count - names.count
  }

  mutating func register(_ device: StoredDevice) {
    if let owner = owners[device.name] { remove(of: owner) }
    remove(of: device.installation.id)
    devices[device.installation.id] = device
    owners[device.name] = device.installation.id
  }

  mutating func remove(of installation: InstallationIdentity) {
    guard devices[installation.id]?.installation ?? installation == installation else { return }
    remove(of: installation.id)
    names = names.filter { $0.value.holder != installation }
  }

  mutating func remove(of id: InstallationID) {
    if let device = devices.removeValue(forKey: id) { owners[device.name] = nil }
  }

  mutating func drop(_ device: StoredDevice) -> Bool {
    guard self[device.installation] == device else { return false }
    remove(of: device.installation.id)
    return true
  }
}

// The devices and claims of a store for tests: those of the memory behind it.

package import Gate
package import JOSE
package import Store

extension ScriptedStore {
  @discardableResult
  package func registerDevice(_ device: StoredDevice) -> DeviceRegistration { memory.registerDevice(device) }
  package func removeDevice(of installation: InstallationIdentity) { memory.removeDevice(of: installation) }
  package func device(of installation: InstallationIdentity) -> StoredDevice? {
    memory.device(of: installation)
  }
  package func noteUse(of device: StoredDevice, at time: Instant) { memory.noteUse(of: device, at: time) }
  package func keepNotice(_ notice: StoredNotice) { memory.keepNotice(notice) }
  package func dropDevice(_ device: StoredDevice) -> Bool { memory.dropDevice(device) }
  package func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim] {
    try memory.openClaim(claim, most: most)
  }
  package func claim(_ id: SHA256Digest) -> ClaimStanding? { memory.claim(id) }
  package func redeemClaim(_ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant)
    -> Bool
  {
    memory.redeemClaim(id, by: installation, at: time)
  }
  package func withdrawClaim(_ id: SHA256Digest) -> Bool { memory.withdrawClaim(id) }
  package func lapseClaims(at time: Instant, most: Int) -> [StoredClaim] {
    memory.lapseClaims(at: time, most: most)
  }
}

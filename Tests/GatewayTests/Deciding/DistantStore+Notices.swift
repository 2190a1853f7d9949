// The devices and claims of a store for tests: those of the memory behind it.

import Gate
import JOSE
import Store

extension DistantStore {
  func registerDevice(_ device: StoredDevice) { memory.registerDevice(device) }
  func removeDevice(of id: InstallationID) { memory.removeDevice(of: id) }
  func device(of id: InstallationID) -> StoredDevice? { memory.device(of: id) }
  func dropDevice(_ device: StoredDevice) -> Bool { memory.dropDevice(device) }
  func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim] {
    try memory.openClaim(claim, most: most)
  }
  func claim(_ id: SHA256Digest) -> ClaimStanding? { memory.claim(id) }
  func redeemClaim(_ id: SHA256Digest, by installation: InstallationID, at time: Instant) -> Bool {
    memory.redeemClaim(id, by: installation, at: time)
  }
  func withdrawClaim(_ id: SHA256Digest) -> Bool { memory.withdrawClaim(id) }
  func lapseClaims(at time: Instant, most: Int) -> [StoredClaim] {
    memory.lapseClaims(at: time, most: most)
  }
}

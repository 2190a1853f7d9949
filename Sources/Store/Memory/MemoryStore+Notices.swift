// The devices and claims of the store in memory.

public import Gate
public import JOSE
import Synchronization

extension MemoryStore {
  @discardableResult
  public func registerDevice(_ device: StoredDevice) -> DeviceRegistration {
    installed.withLock { $0.register(device) }
  }
  public func removeDevice(of installation: InstallationIdentity) {
    installed.withLock { $0.devices.remove(of: installation) }
  }
  public func device(of installation: InstallationIdentity) -> StoredDevice? {
    installed.withLock { $0.devices[installation] }
  }
  public func noteUse(of device: StoredDevice, at time: Instant) {
    installed.withLock { installed in
      guard installed.living(device.installation) != nil,
        installed.devices[device.installation]?.name == device.name
      else { return }
      installed.devices.use(device, at: time)
    }
  }
  public func keepNotice(_ notice: StoredNotice) { callbacks.withLock { $0.keep(notice) } }
  public func dropDevice(_ device: StoredDevice) -> Bool { installed.withLock { $0.devices.drop(device) } }

  public func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim] {
    try claim.check()
    guard let lapsed = claims.withLock({ $0.open(claim, most: most) }) else {
      throw StoreError(.rejected, "open a claim", "there is a claim of this id")
    }
    return lapsed
  }

  public func claim(_ id: SHA256Digest) -> ClaimStanding? { claims.withLock { $0.standing(id) } }

  public func redeemClaim(_ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant) -> Bool
  {
    claims.withLock { $0.redeem(id, by: installation, at: time) }
  }

  public func withdrawClaim(_ id: SHA256Digest) -> Bool { claims.withLock { $0.end(id) } }

  public func lapseClaims(at time: Instant, most: Int) -> [StoredClaim] {
    claims.withLock { $0.lapse(at: time, most: most) }
  }
}

// The devices and claims of the SQLite store.

public import Gate
public import JOSE
public import Store

extension SQLiteStore {
  @discardableResult
  public func registerDevice(_ device: StoredDevice) async throws(StoreError) -> DeviceRegistration {
    try await sessions.call(.updates) { session throws(StoreError) in try session.registerDevice(device) }
  }

  public func removeDevice(of installation: InstallationIdentity) async throws(StoreError) {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.removeDevice(of: installation)
    }
  }

  public func device(of installation: InstallationIdentity) async throws(StoreError) -> StoredDevice? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.device(of: installation) }
  }

  public func noteUse(of device: StoredDevice, at time: Instant) async throws(StoreError) {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.noteUse(of: device, at: time)
    }
  }

  public func keepNotice(_ notice: StoredNotice) async throws(StoreError) {
    try await sessions.call(.updates) { session throws(StoreError) in try session.keepNotice(notice) }
  }

  public func dropDevice(_ device: StoredDevice) async throws(StoreError) -> Bool {
    try await sessions.call(.updates) { session throws(StoreError) in try session.dropDevice(device) }
  }

  public func openClaim(_ claim: StoredClaim, most: Int) async throws(StoreError) -> [StoredClaim] {
    try claim.check()
    return try await sessions.call(.updates) { session throws(StoreError) in
      try session.openClaim(claim, most: most)
    }
  }

  public func claim(_ id: SHA256Digest) async throws(StoreError) -> ClaimStanding? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.claim(id) }
  }

  public func redeemClaim(
    _ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant
  ) async throws(StoreError) -> Bool {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.redeemClaim(id, by: installation, at: time)
    }
  }

  public func withdrawClaim(_ id: SHA256Digest) async throws(StoreError) -> Bool {
    try await sessions.call(.updates) { session throws(StoreError) in try session.withdrawClaim(id) }
  }

  public func lapseClaims(at time: Instant, most: Int) async throws(StoreError) -> [StoredClaim] {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.lapseClaims(at: time, most: most)
    }
  }

  /// Forgets claims, and who used names of hooks, after a day, in portions, so that other work gets its turn between.
  func purgeClaims(at now: Instant) async throws(StoreError) -> Int {
    var total = try await sessions.call(.updates) { session throws(StoreError) in
      try session.forgetNames(usedUpTo: now.claimHorizon)
    }
    while true {
      let removed = try await sessions.call(.updates) { session throws(StoreError) in
        try session.purgeClaims(madeUpTo: now.claimHorizon, most: 500)
      }
      total += removed
      if removed < 500 { return total }
    }
  }
}

// The store's operations on devices and claims, run in database sessions.

package import Gate
package import JOSE

extension QueuedStore {
  @discardableResult
  package func registerDevice(_ device: StoredDevice) async throws(StoreError) -> DeviceRegistration {
    try await sessions.call(.updates) { session throws(StoreError) in try session.registerDevice(device) }
  }

  package func removeDevice(of installation: InstallationIdentity) async throws(StoreError) {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.removeDevice(of: installation)
    }
  }

  package func device(of installation: InstallationIdentity) async throws(StoreError) -> StoredDevice? {
    try await rows(NoticeStatements.device, .id(installation.id.id), .integer(installation.generation))
      .first?.of(installation)
  }

  package func noteUse(of device: StoredDevice, at time: Instant) async throws(StoreError) {
    try await join { session throws(StoreError) in try session.noteUse(of: device, at: time) }
  }

  package func keepNotice(_ notice: StoredNotice) async throws(StoreError) {
    let put = ChangeCall(NoticeStatements.put, values: NoticeColumn.table.values(of: notice))
    _ = try await join { session throws(StoreError) in try session.change([put]) }
  }

  package func dropDevice(_ device: StoredDevice) async throws(StoreError) -> Bool {
    try await sessions.call(.updates) { session throws(StoreError) in try session.dropDevice(device) }
  }

  package func openClaim(_ claim: StoredClaim, most: Int) async throws(StoreError) -> [StoredClaim] {
    try claim.check()
    try health.checkClock()
    return try await join { session throws(StoreError) in try session.openClaim(claim, most: most) }
  }

  package func claim(_ id: SHA256Digest) async throws(StoreError) -> ClaimStanding? {
    try await rows(NoticeStatements.claim, .bytes(id.bytes)).first
  }

  package func redeemClaim(
    _ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant
  ) async throws(StoreError) -> Bool {
    try health.checkClock()
    return try await join { session throws(StoreError) in
      try session.redeemClaim(id, by: installation, at: time)
    }
  }

  package func withdrawClaim(_ id: SHA256Digest) async throws(StoreError) -> Bool {
    try await join { session throws(StoreError) in try session.withdrawClaim(id) }
  }

  package func lapseClaims(at time: Instant, most: Int) async throws(StoreError) -> [StoredClaim] {
    try await sessions.call(.updates) { session throws(StoreError) in
      try session.lapseClaims(at: time, most: most)
    }
  }
}

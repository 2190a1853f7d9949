// Reads and changes devices and claims in an SQLite session.

package import Gate
package import JOSE
package import Store

extension SQLiteSession {
  // MARK: Devices

  /// Records that an installation uses the name of its device, if the device still has that name and the
  /// installation was neither revoked nor replaced.
  static let useName = """
    INSERT INTO callgate_hook_name (name, holder, holder_generation, last)
    SELECT ?1, id, generation, ?2 FROM callgate_installation
    WHERE id = ?3 AND generation = ?4 AND revoked IS NULL
      AND EXISTS (SELECT 1 FROM callgate_device WHERE installation = ?3 AND name = ?1)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, holder_generation = excluded.holder_generation,
      last = max(last, excluded.last)
    """

  package func registerDevice(_ device: StoredDevice) throws(StoreError) -> DeviceRegistration {
    var registration = DeviceRegistration.ended
    try transaction { open throws(StoreError) in
      registration = .ended
      let id = ColumnValue.id(device.installation.id.id)
      let installation = try open.rows(InstallationStatements.installation, [id]).first
      guard let installation, installation.identity == device.installation, installation.revokedAt == nil
      else {
        return false
      }
      if device.isNamedByApp {
        let since = device.registered.advanced(by: .zero - StoredDevice.nameLife)
        let others = try open.rows(
          NoticeStatements.usersOfName, [.bytes(device.name.bytes), .time(since), id])
        guard others.allSatisfy({ $0.owner == installation.owner }) else {
          registration = .taken
          return false
        }
      }
      let before = try open.rows(
        NoticeStatements.device, [id, .integer(device.installation.generation)]
      ).first?.of(device.installation)
      registration = .registered(replaced: before.flatMap { $0.name == device.name ? nil : $0 })
      for call in device.registration { try open.run(call) }
      if device.isNamedByApp { try Self.use(device, at: device.registered, open) }
      return true
    }
    return registration
  }

  package func noteUse(of device: StoredDevice, at time: Instant) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try Self.use(device, at: time, open)
      return true
    }
  }

  private static func use(_ device: StoredDevice, at time: Instant, _ open: Open) throws(StoreError) {
    try SQLiteStatement(open.connection, useName).run([
      .bytes(device.name.bytes), .time(time), .id(device.installation.id.id),
      .integer(device.installation.generation),
    ])
    try open.run(device.forgettingNames)
  }

  package func removeDevice(of installation: InstallationIdentity) throws(StoreError) {
    let values: [ColumnValue] = [.bytes(installation.id.bytes), .integer(installation.generation)]
    _ = try change(
      """
      DELETE FROM callgate_device WHERE installation = ?1
        AND EXISTS (SELECT 1 FROM callgate_installation WHERE id = ?1 AND generation = ?2)
      """, values)
    _ = try change([installation.freeingNames])
  }

  package func dropDevice(_ device: StoredDevice) throws(StoreError) -> Bool {
    try change(
      "DELETE FROM callgate_device WHERE installation = ? AND name = ? AND registered = ?",
      [
        .bytes(device.installation.id.bytes), .bytes(device.name.bytes),
        .integer(device.registered.nanosecondsSinceEpoch),
      ]) > 0
  }

  // MARK: Claims

  package func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim] {
    var lapsed: [StoredClaim] = []
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      lapsed = try Self.lapse(
        "old_claims", "installation = $1 ORDER BY created DESC LIMIT -1 OFFSET $2",
        [.bytes(claim.installation.id.bytes), .integer(Int64(max(most - 1, 0)))], open)
      for call in claim.opening { try open.run(call) }
      return true
    }
    return lapsed
  }

  package func redeemClaim(_ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant)
    throws(StoreError) -> Bool
  {
    try change(
      """
      UPDATE callgate_claim SET state = 'redeemed', receipts = x''
      WHERE id = ? AND state = 'live' AND installation = ? AND expires > ? AND coalesce(generation, ?4) = ?4
      """,
      [
        .bytes(id.bytes), .bytes(installation.id.bytes), .integer(time.nanosecondsSinceEpoch),
        .integer(installation.generation),
      ]) > 0
  }

  package func withdrawClaim(_ id: SHA256Digest) throws(StoreError) -> Bool {
    try change(
      "UPDATE callgate_claim SET state = 'withdrawn', receipts = x'' WHERE id = ? AND state = 'live'",
      [.bytes(id.bytes)]) > 0
  }

  package func lapseClaims(at time: Instant, most: Int) throws(StoreError) -> [StoredClaim] {
    var lapsed: [StoredClaim] = []
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      lapsed = try Self.lapse(
        "overdue_claims", "expires <= $1 ORDER BY expires LIMIT $2",
        [.integer(time.nanosecondsSinceEpoch), .integer(Int64(most))],
        open)
      return !lapsed.isEmpty
    }
    return lapsed
  }

  /// Ends live claims and returns them. Call it in a transaction.
  private static func lapse(
    _ name: String, _ condition: String, _ values: [ColumnValue], _ open: Open
  ) throws(StoreError) -> [StoredClaim] {
    let found = try open.rows(NoticeStatements.claims(name, "state = 'live' AND \(condition)"), values)
    let lapsed = found.map(\.claim)
    let end = try SQLiteStatement(
      open.connection, "UPDATE callgate_claim SET state = 'lapsed', receipts = x'' WHERE id = ?")
    for claim in lapsed { try end.run([.bytes(claim.id.bytes)]) }
    return lapsed
  }

  /// Runs one statement in a transaction, which is committed if it changed something.
  ///
  /// - Returns: The number of rows that the statement changed.
  func change(_ sql: String, _ values: [ColumnValue]) throws(StoreError) -> Int {
    var changed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(open.connection, sql).run(values)
      changed = open.connection.changes
      return changed > 0
    }
    return changed
  }
}

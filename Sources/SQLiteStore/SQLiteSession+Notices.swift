// How an SQLite session reads and writes devices and claims.

package import Gate
package import JOSE
package import Store

extension SQLiteSession {
  // MARK: Devices

  /// The installations of other ids that use the name of a hook since a time: by that name's row, and by their device, which a release
  /// without these rows may have registered.
  static let usersOfName = """
    SELECT \(InstallationColumn.table.list) FROM callgate_hook_name
    JOIN callgate_installation ON id = holder AND generation = holder_generation
    WHERE name = ?1 AND last > ?2 AND id <> ?3 AND revoked IS NULL
    UNION ALL
    SELECT \(InstallationColumn.table.list) FROM callgate_device JOIN callgate_installation ON id = installation
    WHERE name = ?1 AND registered > ?2 AND id <> ?3 AND revoked IS NULL
    """
  /// Notes that an installation uses a name, if its device has that name still and it was neither revoked nor replaced.
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
      let id = ColumnValue.bytes(device.installation.id.bytes)
      let installation = try open.rows(InstallationStatements.installation, [id]).first
      guard let installation, installation.identity == device.installation, installation.revokedAt == nil
      else {
        return false
      }
      if device.isNamedByApp {
        let since = device.registered.advanced(by: .zero - StoredDevice.nameLife)
        try SQLiteStatement(open.connection, Self.usersOfName).run([
          .bytes(device.name.bytes), .integer(since.nanosecondsSinceEpoch), id,
        ]) { row in
          if let other: Installation = row.entry(), other.owner != installation.owner {
            registration = .taken
          }
        }
        guard registration != .taken else { return false }
      }
      let before = try open.rows(
        NoticeStatements.device, [id, .integer(device.installation.generation)]
      ).first?.of(device.installation)
      registration = .registered(replaced: before.flatMap { $0.name == device.name ? nil : $0 })
      // It replaces what has the same installation, and what has the same name.
      try SQLiteStatement(
        open.connection,
        """
        INSERT OR REPLACE INTO callgate_device (installation, platform, token, name, registered)
        VALUES (?, ?, ?, ?, ?)
        """
      ).run([
        id, .text(device.platform), .text(device.token), .bytes(device.name.bytes),
        .integer(device.registered.nanosecondsSinceEpoch),
      ])
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
    let id = ColumnValue.bytes(device.installation.id.bytes)
    try SQLiteStatement(open.connection, useName).run([
      .bytes(device.name.bytes), .integer(time.nanosecondsSinceEpoch), id,
      .integer(device.installation.generation),
    ])
    try SQLiteStatement(
      open.connection,
      """
      DELETE FROM callgate_hook_name WHERE name IN (
        SELECT name FROM callgate_hook_name WHERE holder = ? ORDER BY last DESC LIMIT -1 OFFSET ?)
      """
    ).run([id, .integer(Int64(StoredDevice.mostNames))])
  }

  package func removeDevice(of installation: InstallationIdentity) throws(StoreError) {
    let values: [ColumnValue] = [.bytes(installation.id.bytes), .integer(installation.generation)]
    _ = try change(
      """
      DELETE FROM callgate_device WHERE installation = ?1
        AND EXISTS (SELECT 1 FROM callgate_installation WHERE id = ?1 AND generation = ?2)
      """, values)
    _ = try change("DELETE FROM callgate_hook_name WHERE holder = ? AND holder_generation = ?", values)
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
      try SQLiteStatement(
        open.connection,
        """
        DELETE FROM callgate_claim WHERE id IN (
          SELECT id FROM callgate_claim WHERE installation = ? AND state <> 'live'
          ORDER BY created DESC LIMIT -1 OFFSET ?)
        """
      ).run([.bytes(claim.installation.id.bytes), .integer(Int64(StoredClaim.mostOver))])
      try SQLiteStatement(
        open.connection,
        """
        INSERT INTO callgate_claim (id, installation, app, created, expires, receipts, state, generation)
        VALUES (?, ?, ?, ?, ?, ?, 'live', ?)
        """
      ).run([
        .bytes(claim.id.bytes), .bytes(claim.installation.id.bytes), .text(claim.appID),
        .integer(claim.created.nanosecondsSinceEpoch), .integer(claim.expires.nanosecondsSinceEpoch),
        .bytes(claim.receipts), .optional(claim.installation.column),
      ])
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

  /// Ends live claims and returns them; in a transaction.
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
  /// - Returns: how many rows it changed.
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

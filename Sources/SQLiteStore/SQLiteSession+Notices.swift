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
      var installation: Installation?
      try open.prepared().installation.run([id]) { installation = $0.entry() }
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
      let before = try Self.device(of: device.installation, open)
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

  package func purgeNames(usedUpTo time: Int64, most: Int) throws(StoreError) -> Int {
    try change(
      "DELETE FROM callgate_hook_name WHERE name IN (SELECT name FROM callgate_hook_name WHERE last <= ? LIMIT ?)",
      [.integer(time), .integer(Int64(most))])
  }

  package func device(of installation: InstallationIdentity) throws(StoreError) -> StoredDevice? {
    var found: StoredDevice?
    try use { open throws(StoreError) in
      _ = try open.prepared()
      found = try Self.device(of: installation, open)
    }
    return found
  }

  private static func device(
    of installation: InstallationIdentity, _ open: Open
  ) throws(StoreError) -> StoredDevice? {
    var found: StoredDevice?
    try SQLiteStatement(
      open.connection,
      """
      SELECT platform, token, registered FROM callgate_device JOIN callgate_installation ON id = installation
      WHERE installation = ? AND generation = ?
      """
    ).run([.bytes(installation.id.bytes), .integer(installation.generation)]) { row in
      found = StoredDevice(
        installation: installation, platform: row.text(0), token: row.text(1),
        registered: Instant(nanosecondsSinceEpoch: row.integer(2)))
    }
    return found
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
        "installation = ? ORDER BY created DESC LIMIT -1 OFFSET ?",
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

  package func claim(_ id: SHA256Digest) throws(StoreError) -> ClaimStanding? {
    var found: ClaimStanding?
    try use { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection, "SELECT \(StoredClaim.columns) FROM callgate_claim WHERE id = ?"
      ).run([.bytes(id.bytes)]) { row in
        guard let claim = StoredClaim(row) else { return }
        found = row.text(6) == ClaimState.live.rawValue ? .live(claim) : .over(claim)
      }
    }
    return found
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
        "expires <= ? ORDER BY expires LIMIT ?",
        [.integer(time.nanosecondsSinceEpoch), .integer(Int64(most))],
        open)
      return !lapsed.isEmpty
    }
    return lapsed
  }

  package func purgeClaims(madeUpTo time: Int64, most: Int) throws(StoreError) -> Int {
    try change(
      "DELETE FROM callgate_claim WHERE id IN (SELECT id FROM callgate_claim WHERE created <= ? LIMIT ?)",
      [.integer(time), .integer(Int64(most))])
  }

  /// Ends live claims and returns them; in a transaction.
  private static func lapse(
    _ condition: String, _ values: [ColumnValue], _ open: Open
  ) throws(StoreError) -> [StoredClaim] {
    var lapsed: [StoredClaim] = []
    try SQLiteStatement(
      open.connection,
      "SELECT \(StoredClaim.columns) FROM callgate_claim WHERE state = 'live' AND \(condition)"
    ).run(values) { row in if let claim = StoredClaim(row) { lapsed.append(claim) } }
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

extension StoredClaim {
  /// In the order in which rows are read and written; the state is last.
  fileprivate static let columns = """
    id, installation, app, created, expires, receipts, state, coalesce(generation, (
      SELECT generation FROM callgate_installation AS kept WHERE kept.id = callgate_claim.installation))
    """

  /// Nil for a row that cannot be read.
  fileprivate init?(_ row: SQLiteRow) {
    guard let id = row.digest(0), let installation = row.id(1) else {
      return nil
    }
    self.init(
      id: id, installation: InstallationIdentity(installation, column: row.optionalInteger(7)),
      appID: row.text(2),
      created: Instant(nanosecondsSinceEpoch: row.integer(3)),
      expires: Instant(nanosecondsSinceEpoch: row.integer(4)), receipts: row.blob(5))
  }
}

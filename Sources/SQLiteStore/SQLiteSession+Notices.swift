// How an SQLite session reads and writes devices and claims.

import Gate
import JOSE
import Store

extension SQLiteSession {
  // MARK: Devices

  func registerDevice(_ device: StoredDevice) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      // It replaces what has the same installation, and what has the same name.
      try SQLiteStatement(
        open.connection,
        """
        INSERT OR REPLACE INTO callgate_device (installation, platform, token, name, registered)
        SELECT id, ?, ?, ?, ? FROM callgate_installation WHERE id = ? AND revoked IS NULL
        """
      ).run([
        .text(device.platform), .text(device.token), .blob(device.name.bytes),
        .integer(device.registered.nanosecondsSinceEpoch), .blob(device.installation.bytes),
      ])
      return true
    }
  }

  func device(of id: InstallationID) throws(StoreError) -> StoredDevice? {
    var found: StoredDevice?
    try use { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection, "SELECT platform, token, registered FROM callgate_device WHERE installation = ?"
      ).run([.blob(id.bytes)]) { row in
        found = StoredDevice(
          installation: id, platform: row.text(0), token: row.text(1),
          registered: Instant(nanosecondsSinceEpoch: row.integer(2)))
      }
    }
    return found
  }

  func removeDevice(of id: InstallationID) throws(StoreError) {
    _ = try change("DELETE FROM callgate_device WHERE installation = ?", [.blob(id.bytes)])
  }

  func dropDevice(_ device: StoredDevice) throws(StoreError) -> Bool {
    try change(
      "DELETE FROM callgate_device WHERE installation = ? AND name = ? AND registered = ?",
      [
        .blob(device.installation.bytes), .blob(device.name.bytes),
        .integer(device.registered.nanosecondsSinceEpoch),
      ]) > 0
  }

  // MARK: Claims

  func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim] {
    var lapsed: [StoredClaim] = []
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      lapsed = try Self.lapse(
        "installation = ? ORDER BY created DESC LIMIT -1 OFFSET ?",
        [.blob(claim.installation.bytes), .integer(Int64(max(most - 1, 0)))], open)
      try SQLiteStatement(
        open.connection,
        """
        DELETE FROM callgate_claim WHERE id IN (
          SELECT id FROM callgate_claim WHERE installation = ? AND state <> 'live'
          ORDER BY created DESC LIMIT -1 OFFSET ?)
        """
      ).run([.blob(claim.installation.bytes), .integer(Int64(StoredClaim.mostOver))])
      try SQLiteStatement(
        open.connection,
        "INSERT INTO callgate_claim (\(StoredClaim.columns)) VALUES (?, ?, ?, ?, ?, ?, 'live')"
      ).run([
        .blob(claim.id.bytes), .blob(claim.installation.bytes), .text(claim.appID),
        .integer(claim.created.nanosecondsSinceEpoch), .integer(claim.expires.nanosecondsSinceEpoch),
        .blob(claim.receipts),
      ])
      return true
    }
    return lapsed
  }

  func claim(_ id: SHA256Digest) throws(StoreError) -> ClaimStanding? {
    var found: ClaimStanding?
    try use { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection, "SELECT \(StoredClaim.columns) FROM callgate_claim WHERE id = ?"
      ).run([.blob(id.bytes)]) { row in
        guard let claim = StoredClaim(row) else { return }
        found = row.text(6) == ClaimState.live.rawValue ? .live(claim) : .over(claim)
      }
    }
    return found
  }

  func redeemClaim(_ id: SHA256Digest, by installation: InstallationID, at time: Instant)
    throws(StoreError) -> Bool
  {
    try change(
      """
      UPDATE callgate_claim SET state = 'redeemed', receipts = x''
      WHERE id = ? AND state = 'live' AND installation = ? AND expires > ?
      """,
      [.blob(id.bytes), .blob(installation.bytes), .integer(time.nanosecondsSinceEpoch)]) > 0
  }

  func withdrawClaim(_ id: SHA256Digest) throws(StoreError) -> Bool {
    try change(
      "UPDATE callgate_claim SET state = 'withdrawn', receipts = x'' WHERE id = ? AND state = 'live'",
      [.blob(id.bytes)]) > 0
  }

  func lapseClaims(at time: Instant, most: Int) throws(StoreError) -> [StoredClaim] {
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

  func purgeClaims(madeUpTo time: Int64, most: Int64) throws(StoreError) -> Int {
    try change(
      "DELETE FROM callgate_claim WHERE id IN (SELECT id FROM callgate_claim WHERE created <= ? LIMIT ?)",
      [.integer(time), .integer(most)])
  }

  /// Ends live claims and returns them; in a transaction.
  private static func lapse(
    _ condition: String, _ values: [SQLiteValue], _ open: Open
  ) throws(StoreError) -> [StoredClaim] {
    var lapsed: [StoredClaim] = []
    try SQLiteStatement(
      open.connection,
      "SELECT \(StoredClaim.columns) FROM callgate_claim WHERE state = 'live' AND \(condition)"
    ).run(values) { row in if let claim = StoredClaim(row) { lapsed.append(claim) } }
    let end = try SQLiteStatement(
      open.connection, "UPDATE callgate_claim SET state = 'lapsed', receipts = x'' WHERE id = ?")
    for claim in lapsed { try end.run([.blob(claim.id.bytes)]) }
    return lapsed
  }

  /// Runs one statement in a transaction, which is committed if it changed something.
  ///
  /// - Returns: how many rows it changed.
  func change(_ sql: String, _ values: [SQLiteValue]) throws(StoreError) -> Int {
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
  fileprivate static let columns = "id, installation, app, created, expires, receipts, state"

  /// Nil for a row that cannot be read.
  fileprivate init?(_ row: SQLiteRow) {
    guard let id = row.digest(0), let installation = row.id(1) else {
      return nil
    }
    self.init(
      id: id, installation: InstallationID(installation), appID: row.text(2),
      created: Instant(nanosecondsSinceEpoch: row.integer(3)),
      expires: Instant(nanosecondsSinceEpoch: row.integer(4)), receipts: row.blob(5))
  }
}

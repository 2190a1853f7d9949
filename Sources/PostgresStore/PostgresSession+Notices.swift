// How a PostgreSQL session reads and writes devices and claims.

import Gate
import JOSE
import Store

extension PostgresSession {
  // MARK: Devices

  /// Registrations of one token run one after the other: two of them would find no row, and both make one.
  func registerDevice(_ device: StoredDevice) throws(StoreError) {
    try once { connection, mark throws(PostgresFailure) in
      let hash = Int32(truncatingIfNeeded: try self.maker(connection).id(of: device.name.bytes).low)
      _ = try connection.run(
        [.plain("BEGIN"), mark.command, .prepared(PostgresStatements.lockName, ["4", "\(hash)"])],
        within: Self.span)
      let (id, name) = (device.installation.id.hex, PostgresText.bytea(device.name.bytes))
      return [
        .prepared(PostgresStatements.removeDeviceElsewhere, [name, id]),
        .prepared(
          PostgresStatements.putDevice,
          [id, device.platform, device.token, name, "\(device.registered.nanosecondsSinceEpoch)"]),
      ]
    }
  }

  func device(of id: InstallationID) throws(StoreError) -> StoredDevice? {
    try read(.prepared(PostgresStatements.device, [id.id.hex])) { rows throws(PostgresFailure) in
      try rows.first.map { row throws(PostgresFailure) in
        StoredDevice(
          installation: id, platform: try row.text(0), token: try row.text(1), registered: try row.time(2))
      }
    }
  }

  func removeDevice(of id: InstallationID) throws(StoreError) {
    _ = try change(
      PostgresStatements.lockDevice, [id.id.hex], then: PostgresStatements.removeDevice, [id.id.hex])
  }

  func dropDevice(_ device: StoredDevice) throws(StoreError) -> Bool {
    try change(
      PostgresStatements.lockSameDevice,
      [
        device.installation.id.hex, PostgresText.bytea(device.name.bytes),
        "\(device.registered.nanosecondsSinceEpoch)",
      ], then: PostgresStatements.removeDevice, [device.installation.id.hex])
  }

  // MARK: Claims

  /// Runs under the lock of the installation: two of them would count the same claims, and leave one too many.
  func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim] {
    let id = claim.installation.id.hex
    return try lapse { maker in
      let hash = Int32(truncatingIfNeeded: maker.id(of: claim.installation.bytes).low)
      return [
        .prepared(PostgresStatements.lockName, ["3", "\(hash)"]),
        .prepared(PostgresStatements.lockOldClaims, [id, "\(max(most - 1, 0))"]),
      ]
    } then: {
      [
        .prepared(PostgresStatements.forgetOldClaims, [id, "\(StoredClaim.mostOver)"]),
        .prepared(
          PostgresStatements.putClaim,
          [
            PostgresText.bytea(claim.id.bytes), id, claim.appID, "\(claim.created.nanosecondsSinceEpoch)",
            "\(claim.expires.nanosecondsSinceEpoch)", PostgresText.bytea(claim.receipts),
          ]),
      ]
    }
  }

  func claim(_ id: SHA256Digest) throws(StoreError) -> ClaimStanding? {
    try read(.prepared(PostgresStatements.claim, [PostgresText.bytea(id.bytes)])) {
      rows throws(PostgresFailure) in
      try rows.first.map { row throws(PostgresFailure) in
        let claim = try StoredClaim(row: row)
        return row[6] == ClaimState.live.rawValue ? .live(claim) : .over(claim)
      }
    }
  }

  func redeemClaim(_ id: SHA256Digest, by installation: InstallationID, at time: Instant)
    throws(StoreError) -> Bool
  {
    let id = PostgresText.bytea(id.bytes)
    return try change(
      PostgresStatements.lockClaim, [id, installation.id.hex, "\(time.nanosecondsSinceEpoch)"],
      then: PostgresStatements.endClaims, [PostgresText.array(quoting: [id]), ClaimState.redeemed.rawValue])
  }

  func withdrawClaim(_ id: SHA256Digest) throws(StoreError) -> Bool {
    let id = PostgresText.bytea(id.bytes)
    return try change(
      PostgresStatements.lockClaim, [id, nil, nil],
      then: PostgresStatements.endClaims, [PostgresText.array(quoting: [id]), ClaimState.withdrawn.rawValue])
  }

  func lapseClaims(at time: Instant, most: Int) throws(StoreError) -> [StoredClaim] {
    try lapse { _ in
      [.prepared(PostgresStatements.lockOverdueClaims, ["\(time.nanosecondsSinceEpoch)", "\(most)"])]
    } then: {
      []
    }
  }

  func purgeClaims(madeUpTo time: Int64, most: Int) throws(StoreError) -> Int {
    var removed = 0
    try use { connection throws(PostgresFailure) in
      removed = try connection.run(
        [.prepared(PostgresStatements.purgeClaims, ["\(time)", "\(most)"])], within: Self.span)[0].changed
    }
    return removed
  }

  /// Ends the claims that the last command of `locks` finds, and runs more commands in the same transaction.
  private func lapse(
    _ locks: (StoreIDMaker) -> [PostgresCommand], then more: () -> [PostgresCommand]
  ) throws(StoreError) -> [StoredClaim] {
    var lapsed: [StoredClaim] = []
    try once { connection, mark throws(PostgresFailure) in
      let commands = [.plain("BEGIN"), mark.command] + locks(try self.maker(connection))
      let found = try connection.run(commands, within: Self.span)
      lapsed = try found[found.count - 1].rows.map(StoredClaim.init(row:))
      var writes: [PostgresCommand] = []
      if !lapsed.isEmpty {
        writes.append(
          .prepared(
            PostgresStatements.endClaims,
            [
              PostgresText.array(quoting: lapsed.map { PostgresText.bytea($0.id.bytes) }),
              ClaimState.lapsed.rawValue,
            ]))
      }
      return writes + more()
    }
    return lapsed
  }

  /// Locks a row, and changes it if it is there: one transaction.
  ///
  /// - Returns: whether it was there.
  func change(
    _ lock: PostgresStatement, _ row: [String?], then statement: PostgresStatement, _ parameters: [String?]
  ) throws(StoreError) -> Bool {
    var isFound = false
    try once { connection, mark throws(PostgresFailure) in
      _ = try self.maker(connection)
      isFound = try !connection.run(
        [.plain("BEGIN"), mark.command, .prepared(lock, row)], within: Self.span)[2].rows.isEmpty
      return isFound ? [.prepared(statement, parameters)] : []
    }
    return isFound
  }
}

extension StoredClaim {
  fileprivate init(row: PostgresRow) throws(PostgresFailure) {
    self.init(
      id: try row.digest(0), installation: InstallationID(try row.id(1)), appID: try row.text(2),
      created: try row.time(3), expires: try row.time(4), receipts: try row.bytes(5))
  }
}

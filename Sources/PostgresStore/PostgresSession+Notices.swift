// Reads and changes devices and claims in a PostgreSQL session.

package import Gate
package import JOSE
package import Store

extension PostgresSession {
  // MARK: Devices

  /// Registers a device. Registrations of one token run one after the other. Otherwise two of them could both
  /// find no row and both insert one. The installation is locked first, as in each transaction.
  package func registerDevice(_ device: StoredDevice) throws(StoreError) -> DeviceRegistration {
    var registration = DeviceRegistration.ended
    try once { connection, mark throws(PostgresFailure) in
      registration = .ended
      let hash = Int32(truncatingIfNeeded: try self.maker(connection).id(of: device.name.bytes).low)
      let (id, generation) = (device.installation.id.id.hex, "\(device.installation.generation)")
      let since = device.registered.advanced(by: .zero - StoredDevice.nameLife)
      let found = try connection.run(
        [
          .plain("BEGIN"), mark.command,
          .prepared(PostgresStatements.lockOwnInstallation, [id, generation]),
          .prepared(PostgresStatements.lockName, ["4", "\(hash)"]),
          PostgresCommand(
            NoticeStatements.usersOfName,
            [.bytes(device.name.bytes), .time(since), .id(device.installation.id.id)]),
          PostgresCommand(
            NoticeStatements.device,
            [.id(device.installation.id.id), .integer(device.installation.generation)]),
        ], within: Self.span)
      guard let kept = found[2].rows.first else { return [] }
      let installation: Installation = try kept.entry()
      let others: [Installation] = try found[4].rows.map { row throws(PostgresFailure) in try row.entry() }
      guard !device.isNamedByApp || others.allSatisfy({ $0.owner == installation.owner }) else {
        registration = .taken
        return []
      }
      let before = try found[5].rows.first.map { row throws(PostgresFailure) in
        try row.read(NoticeStatements.device).of(device.installation)
      }
      registration = .registered(replaced: before.flatMap { $0.name == device.name ? nil : $0 })
      return device.registration.map { PostgresCommand($0) }
        + (device.isNamedByApp ? Self.use(device, at: device.registered) : [])
    }
    return registration
  }

  package func noteUse(of device: StoredDevice, at time: Instant) throws(StoreError) {
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      _ = try connection.run(Self.use(device, at: time), within: Self.span)
    }
  }

  private static func use(_ device: StoredDevice, at time: Instant) -> [PostgresCommand] {
    [
      .prepared(
        PostgresStatements.useName,
        [
          PostgresText.bytea(device.name.bytes), "\(time.nanosecondsSinceEpoch)",
          device.installation.id.id.hex,
          "\(device.installation.generation)",
        ]), PostgresCommand(device.forgettingNames),
    ]
  }

  package func removeDevice(of installation: InstallationIdentity) throws(StoreError) {
    let (id, generation) = (installation.id.id.hex, "\(installation.generation)")
    try once { connection, mark throws(PostgresFailure) in
      _ = try self.maker(connection)
      let found = try connection.run(
        [
          .plain("BEGIN"), mark.command,
          .prepared(PostgresStatements.lockOwnInstallation, [id, generation]),
        ], within: Self.span)
      guard !found[2].rows.isEmpty else { return [] }
      return [
        PostgresCommand(installation.removingDevice), PostgresCommand(installation.freeingNames),
      ]
    }
  }

  package func dropDevice(_ device: StoredDevice) throws(StoreError) -> Bool {
    try change(
      PostgresStatements.lockSameDevice,
      [
        device.installation.id.id.hex, PostgresText.bytea(device.name.bytes),
        "\(device.registered.nanosecondsSinceEpoch)",
      ], then: PostgresCommand(device.installation.removingDevice))
  }

  // MARK: Claims

  /// Opens a claim under a lock of the installation. Otherwise two calls would count the same claims and
  /// leave one too many.
  package func openClaim(_ claim: StoredClaim, most: Int) throws(StoreError) -> [StoredClaim] {
    try lapse { maker in
      let hash = Int32(truncatingIfNeeded: maker.id(of: claim.installation.id.bytes).low)
      return [
        .prepared(PostgresStatements.lockName, ["3", "\(hash)"]),
        PostgresCommand(
          PostgresStatements.lockOldClaims,
          [.id(claim.installation.id.id), .integer(Int64(max(most - 1, 0)))]),
      ]
    } then: {
      claim.opening.map { PostgresCommand($0) }
    }
  }

  package func redeemClaim(_ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant)
    throws(StoreError) -> Bool
  {
    let id = PostgresText.bytea(id.bytes)
    return try change(
      PostgresStatements.lockClaim,
      [
        id, installation.id.id.hex, "\(time.nanosecondsSinceEpoch)", "\(installation.generation)",
      ],
      then: .prepared(
        PostgresStatements.endClaims, [PostgresText.array(quoting: [id]), ClaimState.redeemed.rawValue]))
  }

  package func withdrawClaim(_ id: SHA256Digest) throws(StoreError) -> Bool {
    let id = PostgresText.bytea(id.bytes)
    return try change(
      PostgresStatements.lockClaim, [id, nil, nil, nil],
      then: .prepared(
        PostgresStatements.endClaims, [PostgresText.array(quoting: [id]), ClaimState.withdrawn.rawValue]))
  }

  package func lapseClaims(at time: Instant, most: Int) throws(StoreError) -> [StoredClaim] {
    try lapse { _ in
      [PostgresCommand(PostgresStatements.lockOverdueClaims, [.time(time), .integer(Int64(most))])]
    } then: {
      []
    }
  }

  /// Ends the claims that the last command of `locks` finds, and runs more commands in the same transaction.
  private func lapse(
    _ locks: (StoreIDMaker) -> [PostgresCommand], then more: () -> [PostgresCommand]
  ) throws(StoreError) -> [StoredClaim] {
    var lapsed: [StoredClaim] = []
    try once { connection, mark throws(PostgresFailure) in
      let commands = [.plain("BEGIN"), mark.command] + locks(try self.maker(connection))
      let found = try connection.run(commands, within: Self.span)
      lapsed = try found[found.count - 1].rows.map { row throws(PostgresFailure) in
        try row.read(PostgresStatements.lockOldClaims).claim
      }
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

  /// Runs one transaction that locks a row and, if there is such a row, runs a command.
  ///
  /// - Returns: Whether there was such a row.
  func change(
    _ lock: PostgresStatement, _ row: [String?], then change: PostgresCommand
  ) throws(StoreError) -> Bool {
    var isFound = false
    try once { connection, mark throws(PostgresFailure) in
      _ = try self.maker(connection)
      isFound = try !connection.run(
        [.plain("BEGIN"), mark.command, .prepared(lock, row)], within: Self.span)[2].rows.isEmpty
      return isFound ? [change] : []
    }
    return isFound
  }
}

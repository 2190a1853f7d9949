// How a PostgreSQL session reads and writes installations and the requests for them.

import Gate
import JOSE
import Store

extension PostgresSession {
  func installation(_ id: InstallationID) throws(StoreError) -> Installation? {
    try rows(.prepared(PostgresStatements.installation, [id.id.hex])).first.flatMap { Installation($0) }
  }

  func enrolment(userCode: String, at now: Instant) throws(StoreError) -> Enrolment? {
    try rows(.prepared(PostgresStatements.enrolmentOfCode, [userCode, "\(now.nanosecondsSinceEpoch)"]))
      .first.flatMap { Enrolment($0) }
  }

  /// Three kinds of locks, always in this order: of the list of requests, of a user, of an installation. Each is the
  /// transaction's own. Two names with the same hash wait for each other and nothing else.
  func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> Result {
    let time = "\(now.nanosecondsSinceEpoch)"
    var result: Result?
    try once { connection, mark throws(PostgresFailure) in
      let maker = try self.maker(connection)
      var commands: [PostgresCommand] = [.plain("BEGIN"), mark.command]
      func lock(_ kind: Int, _ name: [UInt8]) {
        commands.append(
          .prepared(
            PostgresStatements.lockName, ["\(kind)", "\(Int32(truncatingIfNeeded: maker.id(of: name).low))"]))
      }
      if scope.userCode != nil { lock(1, []) }
      if let user = scope.user?.user { lock(2, Array("\(user.callerID)\0\(user.subject)".utf8)) }
      lock(3, scope.id.bytes)
      func read(_ statement: PostgresStatement, _ parameters: [String?]) -> Int {
        commands.append(.prepared(statement, parameters))
        return commands.count - 1
      }
      let installation = read(PostgresStatements.installation, [scope.id.id.hex])
      let request = scope.request.map {
        read(PostgresStatements.enrolment, [PostgresText.bytea($0.bytes)])
      }
      let others = scope.user.map {
        read(
          PostgresStatements.installationsOfUser,
          [
            $0.user.subject, $0.user.callerID, $0.appID, "\($0.usedSince.nanosecondsSinceEpoch)",
            scope.id.id.hex,
          ])
      }
      let live = scope.countsLive ? read(PostgresStatements.liveEnrolments, [scope.id.id.hex, time]) : nil
      let pending = scope.userCode.map { _ in read(PostgresStatements.pendingEnrolments, [time]) }
      let sameCode = scope.userCode.map { read(PostgresStatements.enrolmentOfCode, [$0, time]) }
      let found = try connection.run(commands, within: Self.span)
      var view = InstallationView(installation: found[installation].rows.first.flatMap { Installation($0) })
      view.enrolment = request.flatMap { found[$0].rows.first }.flatMap { Enrolment($0) }
      view.others = others.flatMap { found[$0].number } ?? 0
      view.live = live.flatMap { found[$0].number } ?? 0
      view.pending = pending.flatMap { found[$0].number } ?? 0
      view.isUserCodeTaken = sameCode.map { !found[$0].rows.isEmpty } ?? false
      let (change, answer) = body(view)
      result = answer
      var writes: [PostgresCommand] = []
      if let installation = change.installation {
        writes.append(.prepared(PostgresStatements.putInstallation, installation.parameters))
      }
      if change.endsDevice(of: view) {
        writes.append(.prepared(PostgresStatements.removeDevice, [scope.id.id.hex]))
      }
      if change.endsOthers {
        writes.append(.prepared(PostgresStatements.endEnrolments, [scope.id.id.hex]))
      }
      if let enrolment = change.enrolment {
        writes.append(.prepared(PostgresStatements.putEnrolment, enrolment.parameters))
      }
      return writes
    }
    guard let result else { preconditionFailure("the transaction succeeded without running its body") }
    return result
  }

  func touchInstallations(_ uses: [InstallationID: Instant]) throws(StoreError) {
    // In the order of their ids: two instances do not wait for each other in a circle.
    let uses = uses.sorted { $0.key < $1.key }
    _ = try rows(
      .prepared(
        PostgresStatements.touchInstallations,
        [
          PostgresText.array(uses.map(\.key.id.hex)),
          PostgresText.array(uses.map { "\($0.value.nanosecondsSinceEpoch)" }),
        ]))
  }

  func installations(subject: String) throws(StoreError) -> [InstallationID] {
    try rows(
      .prepared(PostgresStatements.installationsOfSubject, [subject, InstallationID(subject)?.id.hex])
    ).compactMap { $0[0].flatMap { StoreID(hex: $0) }.map { InstallationID($0) } }
  }

  func installations(_ query: InstallationQuery) throws(StoreError) -> InstallationPage {
    let limit = "\(query.limit + 1)"
    let entries: [InstallationEntry]
    switch query.state {
    case .active, .revoked:
      let statement =
        query.state == .active
        ? PostgresStatements.activeInstallations : PostgresStatements.revokedInstallations
      let found = try rows(.prepared(statement, [query.after, limit]))
      entries = found.compactMap { Installation($0).map { .installation($0) } }
    case .pending, .denied:
      let found = try rows(
        .prepared(
          PostgresStatements.enrolments,
          [
            PostgresText.array(query.state == .pending ? ["pending", "approved"] : ["denied"]),
            query.after.map { "\\x\($0)" } ?? "\\x",
            query.state == .pending ? "\(query.now.nanosecondsSinceEpoch)" : "0", limit,
          ]))
      entries = found.compactMap { Enrolment($0).map { .enrolment($0) } }
    }
    return InstallationPage(cutting: entries, to: query.limit)
  }

  func installationCounts(at now: Instant) throws(StoreError) -> InstallationCounts {
    let found = try rows(
      .prepared(PostgresStatements.installationCounts, ["\(now.nanosecondsSinceEpoch)"])
    ).first
    let numbers = found?.map { $0.flatMap { Int($0) } ?? 0 } ?? [0, 0, 0, 0]
    return InstallationCounts([
      .pending: numbers[0], .active: numbers[1] - numbers[2], .denied: numbers[3], .revoked: numbers[2],
    ])
  }

  func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant], most: Int)
    throws(StoreError) -> Int
  {
    var removed = 0
    try use { connection throws(PostgresFailure) in
      let found = try connection.run(
        [.prepared(PostgresStatements.purgeEnrolments, ["\(now.nanosecondsSinceEpoch)", "\(most)"])]
          + unused.map {
            .prepared(
              PostgresStatements.purgeInstallations,
              [$0.key, "\($0.value.nanosecondsSinceEpoch)", "\(most)"])
          }, within: Self.span)
      // As many as the fullest portion: the rest comes with the next portion.
      removed = found.map(\.changed).max() ?? 0
    }
    return removed
  }

  /// The rows of one command.
  func rows(_ command: PostgresCommand) throws(StoreError) -> [[String?]] {
    var rows: [[String?]] = []
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      rows = try connection.run([command], within: Self.span)[0].rows
    }
    return rows
  }
}

extension PostgresRows {
  /// The first column of the first row as a number.
  fileprivate var number: Int? { rows.first?.first.flatMap { $0.flatMap { Int($0) } } }
}

extension Installation {
  /// Nil for a row that is none.
  fileprivate init?(_ row: [String?]) {
    let number: (Int) -> Int64? = { row[$0].flatMap { Int64($0) } }
    guard let id = row[0].flatMap({ StoreID(hex: $0) }), let app = row[1], let appID = row[3],
      let address = row[6],
      let secret = row[7].flatMap({ PostgresText.bytes($0) }).flatMap({ SHA256Digest($0) }),
      let generation = number(8), let created = number(9), let used = number(10), let lastStep = number(12),
      let counter = number(13), let failures = number(14)
    else { return nil }
    var user: InstallationUser?
    if let callerID = row[4], let subject = row[5] {
      user = InstallationUser(callerID: callerID, subject: subject)
    }
    self.init(
      client: InstallationClient(id: InstallationID(id), app: app, detail: row[2]), appID: appID, user: user,
      address: address, secret: secret, generation: generation,
      createdAt: Instant(nanosecondsSinceEpoch: created), usedAt: Instant(nanosecondsSinceEpoch: used),
      revokedAt: number(11).map { Instant(nanosecondsSinceEpoch: $0) },
      codes: CodeState(
        lastStep: lastStep, counter: counter, failures: failures,
        lockedUntil: number(15).map { Instant(nanosecondsSinceEpoch: $0) }))
  }

  fileprivate var parameters: [String?] {
    [
      client.id.id.hex, client.app, client.detail, appID, user?.callerID, user?.subject, address,
      PostgresText.bytea(secret.bytes), "\(generation)", "\(createdAt.nanosecondsSinceEpoch)",
      "\(usedAt.nanosecondsSinceEpoch)", revokedAt.map { "\($0.nanosecondsSinceEpoch)" }, "\(codes.lastStep)",
      "\(codes.counter)", "\(codes.failures)", codes.lockedUntil.map { "\($0.nanosecondsSinceEpoch)" },
    ]
  }
}

extension Enrolment {
  /// Nil for a row that is none.
  fileprivate init?(_ row: [String?]) {
    let time: (Int) -> Instant? = { row[$0].flatMap { Int64($0) }.map { Instant(nanosecondsSinceEpoch: $0) } }
    guard let request = row[0].flatMap({ PostgresText.bytes($0) }).flatMap({ SHA256Digest($0) }),
      let id = row[1].flatMap({ StoreID(hex: $0) }), let app = row[2], let appID = row[4], let code = row[5],
      let address = row[6], let created = time(7), let expires = time(8), let forgotten = time(9),
      let answered = time(10), let state = row[11].flatMap({ State(rawValue: $0) })
    else { return nil }
    self.init(
      request: request, client: InstallationClient(id: InstallationID(id), app: app, detail: row[3]),
      appID: appID, userCode: code, address: address, createdAt: created, expiresAt: expires,
      forgottenAt: forgotten, answeredAt: answered, state: state)
  }

  fileprivate var parameters: [String?] {
    [
      PostgresText.bytea(request.bytes), client.id.id.hex, client.app, client.detail, appID, userCode,
      address,
      "\(createdAt.nanosecondsSinceEpoch)", "\(expiresAt.nanosecondsSinceEpoch)",
      "\(forgottenAt.nanosecondsSinceEpoch)", "\(answeredAt.nanosecondsSinceEpoch)", state.rawValue,
    ]
  }
}

// How an SQLite session reads and writes installations and the requests for them.

import Gate
import JOSE
import Store

extension SQLiteSession {
  /// Finds the request that waits under a user code. The plus sign keeps SQLite from the index of states, in which all requests
  /// that wait are neighbours.
  static let enrolmentByCode = """
    SELECT \(Enrolment.columns) FROM callgate_enrolment
    WHERE code = ? AND +state IN ('pending', 'approved', 'denied') AND expires > ?
    """

  /// Forgets the oldest revoked installations of a user, but those whose id an operator has approved.
  static let forgetRevoked = """
    DELETE FROM callgate_installation WHERE id IN (
      SELECT id FROM callgate_installation
      WHERE subject = ? AND caller = ? AND revoked IS NOT NULL AND subject IS NOT NULL
        AND operator_deliveries = 0
      ORDER BY revoked DESC, id DESC LIMIT -1 OFFSET ?)
    """

  /// The ids of installations of an app that nobody has used since a time. The order makes both statements see the same ones.
  private static let unused =
    "SELECT id FROM callgate_installation WHERE used < ?1 AND app = ?2 ORDER BY used, id LIMIT ?3"
  /// Keeps the ids that an operator has approved, of those that are forgotten: their names are spent.
  private static let spendIDs = """
    INSERT OR IGNORE INTO callgate_spent_id (id) SELECT id FROM callgate_installation
    WHERE id IN (\(unused)) AND coalesce(operator_deliveries, 1) > 0
    """

  func installation(_ id: InstallationID) throws(StoreError) -> Installation? {
    var found: Installation?
    try use { open throws(StoreError) in
      try open.prepared().installation.run([.blob(id.bytes)]) { found = Installation($0) }
    }
    return found
  }

  func enrolment(userCode: String, at now: Instant) throws(StoreError) -> Enrolment? {
    var found: Enrolment?
    try use { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(open.connection, Self.enrolmentByCode).run([
        .text(userCode), .integer(now.nanosecondsSinceEpoch),
      ]) { found = Enrolment($0) }
    }
    return found
  }

  func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> InstallationOutcome<Result> {
    var result: Result?
    var ended: [EndedAppointment] = []
    try transaction { open throws(StoreError) in
      let statements = try open.prepared()
      let time = SQLiteValue.integer(now.nanosecondsSinceEpoch)
      var view = InstallationView()
      try statements.installation.run([.blob(scope.id.bytes)]) { view.installation = Installation($0) }
      try SQLiteStatement(open.connection, "SELECT 1 FROM callgate_spent_id WHERE id = ?").run([
        .blob(scope.id.bytes)
      ]) { _ in view.isIDSpent = true }
      if let request = scope.request {
        try SQLiteStatement(
          open.connection, "SELECT \(Enrolment.columns) FROM callgate_enrolment WHERE id = ?"
        ).run([.blob(request.bytes)]) { view.enrolment = Enrolment($0) }
      }
      if let counted = scope.user {
        try SQLiteStatement(
          open.connection,
          """
          SELECT count(*) FROM callgate_installation
          WHERE subject = ? AND caller = ? AND app = ? AND used >= ? AND revoked IS NULL AND id <> ?
          """
        ).run([
          .text(counted.user.subject), .text(counted.user.callerID), .text(counted.appID),
          .integer(counted.usedSince.nanosecondsSinceEpoch), .blob(scope.id.bytes),
        ]) { view.others = Int($0.integer(0)) }
      }
      if scope.countsLive {
        try SQLiteStatement(
          open.connection,
          """
          SELECT count(*) FROM callgate_enrolment
          WHERE installation = ? AND +state IN ('pending', 'approved') AND expires > ?
          """
        ).run([.blob(scope.id.bytes), time]) { view.live = Int($0.integer(0)) }
      }
      if let code = scope.userCode {
        try SQLiteStatement(
          open.connection,
          "SELECT count(*) FROM callgate_enrolment WHERE state = 'pending' AND expires > ?"
        ).run([time]) { view.pending = Int($0.integer(0)) }
        try SQLiteStatement(open.connection, Self.enrolmentByCode).run([.text(code), time]) { _ in
          view.isUserCodeTaken = true
        }
      }
      let (change, answer) = body(view)
      result = answer
      if let installation = change.installation {
        try SQLiteStatement(open.connection, Installation.replacement).run(installation.values)
      }
      if change.endsDevice(of: view) {
        try SQLiteStatement(open.connection, "DELETE FROM callgate_device WHERE installation = ?").run([
          .blob(scope.id.bytes)
        ])
      }
      if change.endsOthers {
        try SQLiteStatement(
          open.connection,
          "UPDATE callgate_enrolment SET state = 'ended' WHERE installation = ? AND state IN ('pending', 'approved')"
        ).run([.blob(scope.id.bytes)])
      }
      if let enrolment = change.enrolment {
        try SQLiteStatement(open.connection, Enrolment.replacement).run(enrolment.values)
      }
      ended = []
      if let succession = change.succession(of: view) {
        ended = try statements.callbacks.succeed(succession, at: now, open.connection)
      }
      if let owner = change.crowds(view) {
        try SQLiteStatement(open.connection, Self.forgetRevoked).run([
          .text(owner.subject), .text(owner.callerID), .integer(Int64(InstallationQuery.mostRevoked)),
        ])
      }
      return !change.isEmpty
    }
    guard let result else { preconditionFailure("the transaction succeeded without running its body") }
    return InstallationOutcome(result, ended: ended)
  }

  func touchInstallations(_ uses: [InstallationID: Instant]) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      let touch = try SQLiteStatement(
        open.connection, "UPDATE callgate_installation SET used = max(used, ?) WHERE id = ?")
      for (id, time) in uses { try touch.run([.integer(time.nanosecondsSinceEpoch), .blob(id.bytes)]) }
      return true
    }
  }

  func installations(subject: String) throws(StoreError) -> [InstallationID] {
    var found: [InstallationID] = []
    try use { open throws(StoreError) in
      _ = try open.prepared()
      found = []
      let row: (SQLiteRow) -> Void = { row in
        if let id = row.id(0) { found.append(InstallationID(id)) }
      }
      try SQLiteStatement(
        open.connection, "SELECT id FROM callgate_installation WHERE subject = ? AND revoked IS NULL"
      ).run([.text(subject)], row: row)
      if let id = InstallationID(subject) {
        try SQLiteStatement(
          open.connection,
          "SELECT id FROM callgate_installation WHERE id = ? AND subject IS NULL AND revoked IS NULL"
        ).run([.blob(id.bytes)], row: row)
      }
    }
    return found
  }

  func installations(_ query: InstallationQuery) throws(StoreError) -> InstallationPage {
    var entries: [InstallationEntry] = []
    let after = query.after.flatMap { Hex.decode($0) } ?? []
    try use { open throws(StoreError) in
      _ = try open.prepared()
      entries = []
      let limit = SQLiteValue.integer(Int64(query.limit) + 1)
      switch query.state {
      case .active, .revoked:
        try SQLiteStatement(
          open.connection,
          """
          SELECT \(Installation.columns) FROM callgate_installation
          WHERE id > ? AND revoked IS \(query.state == .active ? "NULL" : "NOT NULL") ORDER BY id LIMIT ?
          """
        ).run([.blob(after), limit]) { row in
          if let installation = Installation(row) { entries.append(.installation(installation)) }
        }
      case .pending, .approved, .denied:
        let isLive = query.state == .denied ? "" : " AND expires > \(query.now.nanosecondsSinceEpoch)"
        let condition = "state = '\(query.state.rawValue)'\(isLive)"
        try SQLiteStatement(
          open.connection,
          """
          SELECT \(Enrolment.columns) FROM callgate_enrolment
          WHERE id > ? AND \(condition) ORDER BY id LIMIT ?
          """
        ).run([.blob(after), limit]) { row in
          if let enrolment = Enrolment(row) { entries.append(.enrolment(enrolment)) }
        }
      }
    }
    return InstallationPage(cutting: entries, to: query.limit)
  }

  func installationCounts(at now: Instant) throws(StoreError) -> InstallationCounts {
    var counts = InstallationCounts()
    try use { open throws(StoreError) in
      _ = try open.prepared()
      var all = 0
      var revoked = 0
      // Both from an index alone.
      try SQLiteStatement(open.connection, "SELECT count(*) FROM callgate_installation").run {
        all = Int($0.integer(0))
      }
      try SQLiteStatement(
        open.connection, "SELECT count(*) FROM callgate_installation WHERE revoked IS NOT NULL"
      ).run { revoked = Int($0.integer(0)) }
      counts = InstallationCounts([.active: all - revoked, .revoked: revoked])
      try SQLiteStatement(
        open.connection,
        """
        SELECT state, count(*) FROM callgate_enrolment
        WHERE state = 'denied' OR (state IN ('pending', 'approved') AND expires > ?) GROUP BY 1
        """
      ).run([.integer(now.nanosecondsSinceEpoch)]) { row in
        if let state = InstallationQuery.State(rawValue: row.text(0)) {
          counts.counts[state] = Int(row.integer(1))
        }
      }
    }
    return counts
  }

  func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant], most: Int64)
    throws(StoreError)
    -> Int
  {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection,
        "DELETE FROM callgate_enrolment WHERE id IN (SELECT id FROM callgate_enrolment WHERE forgotten <= ? LIMIT ?)"
      ).run([.integer(now.nanosecondsSinceEpoch), .integer(most)])
      removed = open.connection.changes
      let spend = try SQLiteStatement(open.connection, Self.spendIDs)
      let forget = try SQLiteStatement(
        open.connection, "DELETE FROM callgate_installation WHERE id IN (\(Self.unused))")
      for (appID, time) in unused where removed < Int(most) {
        let values: [SQLiteValue] = [
          .integer(time.nanosecondsSinceEpoch), .text(appID), .integer(most - Int64(removed)),
        ]
        try spend.run(values)
        try forget.run(values)
        removed += open.connection.changes
      }
      return removed > 0
    }
    return removed
  }
}

extension Installation {
  /// In the order in which rows are read and written.
  static let columns = """
    id, client_app, client_detail, app, caller, subject, address, secret, generation, created, used, revoked, last_step, \
    counter, failures, locked, operator_deliveries
    """
  fileprivate static let replacement = """
    INSERT OR REPLACE INTO callgate_installation (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Nil for a row that cannot be read.
  init?(_ row: SQLiteRow) {
    guard let id = row.id(0), let secret = row.digest(7) else { return nil }
    var user: InstallationUser?
    if let callerID = row.optionalText(4), let subject = row.optionalText(5) {
      user = InstallationUser(callerID: callerID, subject: subject)
    }
    self.init(
      client: InstallationClient(id: InstallationID(id), app: row.text(1), detail: row.optionalText(2)),
      appID: row.text(3), user: user, address: row.text(6), secret: secret, generation: row.integer(8),
      createdAt: Instant(nanosecondsSinceEpoch: row.integer(9)),
      usedAt: Instant(nanosecondsSinceEpoch: row.integer(10)),
      revokedAt: row.optionalInteger(11).map { Instant(nanosecondsSinceEpoch: $0) },
      codes: CodeState(
        lastStep: row.integer(12), counter: row.integer(13), failures: row.integer(14),
        lockedUntil: row.optionalInteger(15).map { Instant(nanosecondsSinceEpoch: $0) }),
      operatorDeliveries: row.optionalInteger(16) ?? 1)
  }

  fileprivate var values: [SQLiteValue] {
    [
      .blob(client.id.bytes), .text(client.app), .optional(client.detail), .text(appID),
      .optional(user?.callerID), .optional(user?.subject), .text(address), .blob(secret.bytes),
      .integer(generation), .integer(createdAt.nanosecondsSinceEpoch), .integer(usedAt.nanosecondsSinceEpoch),
      .optional(revokedAt?.nanosecondsSinceEpoch), .integer(codes.lastStep), .integer(codes.counter),
      .integer(codes.failures),
      .optional(codes.lockedUntil?.nanosecondsSinceEpoch), .integer(operatorDeliveries),
    ]
  }
}

extension Enrolment {
  /// In the order in which rows are read and written.
  fileprivate static let columns = """
    id, installation, client_app, client_detail, app, code, address, created, expires, forgotten, answered, state
    """
  fileprivate static let replacement = """
    INSERT OR REPLACE INTO callgate_enrolment (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Nil for a row that cannot be read.
  fileprivate init?(_ row: SQLiteRow) {
    guard let request = row.digest(0), let id = row.id(1), let state: State = row.word(11) else { return nil }
    self.init(
      request: request,
      client: InstallationClient(id: InstallationID(id), app: row.text(2), detail: row.optionalText(3)),
      appID: row.text(4), userCode: row.text(5), address: row.text(6),
      createdAt: Instant(nanosecondsSinceEpoch: row.integer(7)),
      expiresAt: Instant(nanosecondsSinceEpoch: row.integer(8)),
      forgottenAt: Instant(nanosecondsSinceEpoch: row.integer(9)),
      answeredAt: Instant(nanosecondsSinceEpoch: row.integer(10)), state: state)
  }

  fileprivate var values: [SQLiteValue] {
    [
      .blob(request.bytes), .blob(client.id.bytes), .text(client.app), .optional(client.detail), .text(appID),
      .text(userCode), .text(address), .integer(createdAt.nanosecondsSinceEpoch),
      .integer(expiresAt.nanosecondsSinceEpoch), .integer(forgottenAt.nanosecondsSinceEpoch),
      .integer(answeredAt.nanosecondsSinceEpoch), .text(state.rawValue),
    ]
  }
}

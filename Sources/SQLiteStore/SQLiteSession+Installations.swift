// How an SQLite session reads and writes installations and the requests for them.

package import Gate
import JOSE
package import Store

extension SQLiteSession {
  /// Finds the request that waits under a user code. The plus sign keeps SQLite from the index of states, in which all requests
  /// that wait are neighbours.
  static let enrolmentByCode = """
    SELECT \(EnrolmentColumn.table.list) FROM callgate_enrolment
    WHERE code = ? AND +state IN ('pending', 'approved', 'denied') AND expires > ?
    """

  /// Finds another living installation that has a key of App Attest.
  static let attestedKey =
    "SELECT 1 FROM callgate_installation WHERE attested_key = ? AND revoked IS NULL AND id <> ? LIMIT 1"

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

  package func enrolment(userCode: String, at now: Instant) throws(StoreError) -> Enrolment? {
    var found: Enrolment?
    try use { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(open.connection, Self.enrolmentByCode).run([
        .text(userCode), .integer(now.nanosecondsSinceEpoch),
      ]) { found = $0.entry() }
    }
    return found
  }

  package func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> InstallationOutcome<Result> {
    var result: Result?
    var ended: [EndedAppointment] = []
    try transaction { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      let time = ColumnValue.integer(now.nanosecondsSinceEpoch)
      var view = InstallationView()
      view.installation = try open.rows(InstallationStatements.installation, [.bytes(scope.id.bytes)]).first
      try SQLiteStatement(open.connection, "SELECT 1 FROM callgate_spent_id WHERE id = ?").run([
        .bytes(scope.id.bytes)
      ]) { _ in view.isIDSpent = true }
      if let request = scope.request {
        try SQLiteStatement(
          open.connection, "SELECT \(EnrolmentColumn.table.list) FROM callgate_enrolment WHERE id = ?"
        ).run([.bytes(request.bytes)]) { view.enrolment = $0.entry() }
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
          .integer(counted.usedSince.nanosecondsSinceEpoch), .bytes(scope.id.bytes),
        ]) { view.others = Int($0.integer(0)) }
      }
      if scope.countsLive {
        try SQLiteStatement(
          open.connection,
          """
          SELECT count(*) FROM callgate_enrolment
          WHERE installation = ? AND +state IN ('pending', 'approved') AND expires > ?
          """
        ).run([.bytes(scope.id.bytes), time]) { view.live = Int($0.integer(0)) }
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
      if let key = scope.attestedKey {
        try SQLiteStatement(open.connection, Self.attestedKey).run([
          .bytes(key.bytes), .bytes(scope.id.bytes),
        ]) { _ in
          view.isAttestedKeyTaken = true
        }
      }
      if let key = scope.key {
        view.isKeyTaken = try !open.rows(
          InstallationStatements.otherWithKey, [.bytes(key.bytes), .bytes(scope.id.bytes)]
        ).isEmpty
      }
      let (change, answer) = body(view)
      result = answer
      if let installation = change.installation {
        try SQLiteStatement(open.connection, InstallationColumn.table.upsert).run(
          InstallationColumn.table.values(of: installation))
      }
      if change.endsDevice(of: view) {
        try SQLiteStatement(open.connection, "DELETE FROM callgate_device WHERE installation = ?").run([
          .bytes(scope.id.bytes)
        ])
      }
      if change.endsOthers {
        try SQLiteStatement(
          open.connection,
          "UPDATE callgate_enrolment SET state = 'ended' WHERE installation = ? AND state IN ('pending', 'approved')"
        ).run([.bytes(scope.id.bytes)])
      }
      if let enrolment = change.enrolment {
        try SQLiteStatement(open.connection, EnrolmentColumn.table.upsert).run(
          EnrolmentColumn.table.values(of: enrolment))
      }
      ended = []
      if let succession = change.succession(of: view) {
        ended = try callbacks.succeed(succession, at: now, open.connection)
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

  package func touchInstallations(_ uses: [InstallationID: Instant]) throws(StoreError) {
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      let touch = try SQLiteStatement(
        open.connection, "UPDATE callgate_installation SET used = max(used, ?) WHERE id = ?")
      for (id, time) in uses { try touch.run([.integer(time.nanosecondsSinceEpoch), .bytes(id.bytes)]) }
      return true
    }
  }

  package func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant], most: Int)
    throws(StoreError)
    -> Int
  {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      try SQLiteStatement(
        open.connection,
        "DELETE FROM callgate_enrolment WHERE id IN (SELECT id FROM callgate_enrolment WHERE forgotten <= ? LIMIT ?)"
      ).run([.integer(now.nanosecondsSinceEpoch), .integer(Int64(most))])
      removed = open.connection.changes
      let spend = try SQLiteStatement(open.connection, Self.spendIDs)
      let forget = try SQLiteStatement(
        open.connection, "DELETE FROM callgate_installation WHERE id IN (\(Self.unused))")
      for (appID, time) in unused where removed < most {
        let values: [ColumnValue] = [
          .integer(time.nanosecondsSinceEpoch), .text(appID), .integer(Int64(most - removed)),
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

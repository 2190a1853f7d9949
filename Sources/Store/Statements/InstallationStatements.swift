// The SQL statements on installations and the requests for them that SQLite and PostgreSQL share.

import Gate

package enum InstallationStatements {
  package static let installation = Query<Installation>("installation", where: "id = $1")

  /// The id of a deleted installation without a user (`InstallationView.isIDSpent`).
  static let spentID = Query<InstallationID>(
    "spent_id", "SELECT id FROM callgate_spent_id WHERE id = $1", [.id]
  ) { row throws(UnreadableValue) in InstallationID(try row.id(0)) }
  static let ofUser = count(
    "installations_of_user",
    """
    SELECT count(*) FROM callgate_installation
    WHERE subject = $1 AND caller = $2 AND app = $3 AND used >= $4 AND revoked IS NULL AND id <> $5
    """)
  /// Another installation with a given App Attest key that is not revoked.
  static let withAttestedKey = Query<InstallationID>(
    "attested_key",
    "SELECT id FROM callgate_installation WHERE attested_key = $1 AND revoked IS NULL AND id <> $2 LIMIT 1",
    [.id]
  ) { row throws(UnreadableValue) in InstallationID(try row.id(0)) }

  static let withKey = Query<Installation>("installation_with_key", where: "jkt = $1 AND revoked IS NULL")
  /// Another installation with a given key of a phone that is not revoked.
  static let otherWithKey = Query<InstallationID>(
    "other_installation_with_key",
    "SELECT id FROM callgate_installation WHERE jkt = $1 AND id <> $2 AND revoked IS NULL", [.id]
  ) { row throws(UnreadableValue) in InstallationID(try row.id(0)) }

  static let ofSubject = Query<InstallationID>(
    "installations_of_subject",
    """
    SELECT id FROM callgate_installation
    WHERE subject = $1 AND revoked IS NULL
    UNION SELECT id FROM callgate_installation
    WHERE id = $2 AND subject IS NULL AND (revoked IS NULL OR unconfirmed > $3)
    UNION SELECT id FROM callgate_installation
    WHERE subject = $1 AND revoked IS NOT NULL AND unconfirmed > $3
    """, [.id]
  ) { row throws(UnreadableValue) in InstallationID(try row.id(0)) }

  static let put = Change(putting: InstallationColumn.self)
  static let confirmRevocation = Change(
    "confirm_revocation", "UPDATE callgate_installation SET unconfirmed = NULL WHERE id = $1 AND revoked = $2"
  )
  /// Deletes the oldest revoked installations of a user, except those whose id was once used without a user.
  /// The LIMIT is never reached: SQLite accepts no OFFSET without one.
  static let forgetRevoked = Change(
    "forget_revoked",
    deleting: """
      DELETE FROM callgate_installation WHERE id IN (
        SELECT id FROM callgate_installation
        WHERE subject = $1 AND caller = $2 AND subject IS NOT NULL AND revoked IS NOT NULL
          AND operator_deliveries = 0
        ORDER BY revoked DESC, id DESC LIMIT 1000000000 OFFSET $3
      """)

  // MARK: Requests

  static let enrolment = Query<Enrolment>("enrolment", where: "id = $1")
  /// The request with a user code that was neither delivered nor ended, and has not expired. `state || ''`
  /// keeps SQLite from using the index of states, by which it would read all requests that wait.
  package static let withCode = Query<Enrolment>(
    "enrolment_of_code",
    where: "code = $1 AND state || '' IN ('pending', 'approved', 'denied') AND expires > $2")
  static let live = count(
    "live_enrolments",
    """
    SELECT count(*) FROM callgate_enrolment
    WHERE installation = $1 AND state || '' IN ('pending', 'approved') AND expires > $2
    """)
  static let pending = count(
    "pending_enrolments",
    "SELECT count(*) FROM callgate_enrolment WHERE state = 'pending' AND expires > $1")
  static let putEnrolment = Change(putting: EnrolmentColumn.self)
  static let endEnrolments = Change(
    "end_enrolments",
    "UPDATE callgate_enrolment SET state = 'ended' WHERE installation = $1 AND state IN ('pending', 'approved')"
  )

  static let purgeEnrolments = Change(
    purging: "enrolments", "callgate_enrolment", where: "kept.forgotten <= $1")

  private static func count(_ name: String, _ sql: String) -> Query<Int> {
    Query(name, sql, [.integer]) { row throws(UnreadableValue) in Int(try row.integer(0)) }
  }

  // MARK: Lists

  /// A page of active or revoked installations after an id, in the order of ids.
  static func page(isRevoked: Bool) -> Query<Installation> {
    Query(
      isRevoked ? "list_installations_revoked" : "list_installations_active",
      where: "id > $1 AND revoked IS \(isRevoked ? "NOT NULL" : "NULL") ORDER BY id LIMIT $2")
  }

  /// A page of requests in a state after an id, in the order of ids. Requests that have expired by a time
  /// (`$2`) are left out. For denied requests that time is 0, so they are listed until they are deleted.
  static func page(_ state: InstallationQuery.State) -> Query<Enrolment> {
    Query(
      "list_enrolments_\(state.rawValue)",
      where: "state = '\(state.rawValue)' AND id > $1 AND expires > $2 ORDER BY id LIMIT $3")
  }

  // MARK: Counts

  /// The counts of requests, each from an index alone.
  static let enrolmentCounts = Query<InstallationCounts>(
    "enrolment_counts",
    """
    SELECT
      (SELECT count(*) FROM callgate_enrolment WHERE state = 'pending' AND expires > $1),
      (SELECT count(*) FROM callgate_enrolment WHERE state = 'denied'),
      (SELECT count(*) FROM callgate_enrolment WHERE state = 'approved' AND expires > $1)
    """, [.integer, .integer, .integer]
  ) { row throws(UnreadableValue) in
    InstallationCounts([
      .pending: Int(try row.integer(0)), .denied: Int(try row.integer(1)),
      .approved: Int(try row.integer(2)),
    ])
  }

  /// Two queries on installations after an id, in the order of ids: for the last id of a full portion, and
  /// for the number of installations in a portion that is not full.
  static func portion(isRevoked: Bool) -> (last: Query<StoreID>, rest: Query<Int>) {
    let name = isRevoked ? "revoked" : "active"
    let found =
      "SELECT id FROM callgate_installation WHERE revoked IS \(isRevoked ? "NOT NULL" : "NULL") AND id > $1 ORDER BY id"
    return (
      Query("\(name)_portion", "\(found) LIMIT 1 OFFSET \(RowCounts.portion - 1)", [.id]) {
        row throws(UnreadableValue) in try row.id(0)
      },
      count(
        "\(name)_rest", "SELECT count(*) FROM (\(found) LIMIT \(RowCounts.portion)) AS portion")
    )
  }
}

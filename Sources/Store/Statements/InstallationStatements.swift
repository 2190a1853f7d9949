// The statements on installations and the requests for them that every database takes.

import Gate

package enum InstallationStatements {
  package static let installation = Query<Installation>("installation", where: "id = $1")

  static let withKey = Query<Installation>("installation_with_key", where: "jkt = $1 AND revoked IS NULL")
  /// The installation other than this one that has a key.
  package static let otherWithKey = Query<InstallationID>(
    "other_installation_with_key",
    "SELECT id FROM callgate_installation WHERE jkt = $1 AND id <> $2 AND revoked IS NULL", [.id]
  ) { row throws(UnreadableValue) in InstallationID(try row.id(0)) }

  static let ofSubject = Query<InstallationID>(
    "installations_of_subject",
    """
    SELECT id FROM callgate_installation WHERE subject = $1 AND revoked IS NULL
    UNION SELECT id FROM callgate_installation WHERE id = $2 AND subject IS NULL AND revoked IS NULL
    """, [.id]
  ) { row throws(UnreadableValue) in InstallationID(try row.id(0)) }

  /// A page of installations, after an id.
  static func page(isRevoked: Bool) -> Query<Installation> {
    Query(
      isRevoked ? "list_installations_revoked" : "list_installations_active",
      where: "id > $1 AND revoked IS \(isRevoked ? "NOT NULL" : "NULL") ORDER BY id LIMIT $2")
  }

  /// A page of requests that have not expired at a time, after an id. A request that was denied is listed until it is forgotten.
  static func page(_ state: InstallationQuery.State) -> Query<Enrolment> {
    Query(
      "list_enrolments_\(state.rawValue)",
      where: "state = '\(state.rawValue)' AND id > $1 AND expires > $2 ORDER BY id LIMIT $3")
  }

  /// Each from an index alone.
  static let counts = Query<InstallationCounts>(
    "installation_counts",
    """
    SELECT
      (SELECT count(*) FROM callgate_enrolment WHERE state = 'pending' AND expires > $1),
      (SELECT count(*) FROM callgate_installation),
      (SELECT count(*) FROM callgate_installation WHERE revoked IS NOT NULL),
      (SELECT count(*) FROM callgate_enrolment WHERE state = 'denied'),
      (SELECT count(*) FROM callgate_enrolment WHERE state = 'approved' AND expires > $1)
    """, Array(repeating: .integer, count: 5)
  ) { row throws(UnreadableValue) in
    let revoked = Int(try row.integer(2))
    return InstallationCounts([
      .pending: Int(try row.integer(0)), .active: Int(try row.integer(1)) - revoked,
      .denied: Int(try row.integer(3)), .revoked: revoked, .approved: Int(try row.integer(4)),
    ])
  }
}

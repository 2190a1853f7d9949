// Reads and changes installations in an SQLite session.

package import Gate
import JOSE
package import Store

extension SQLiteSession {
  /// The ids of installations of an app that have not been used since a time. The order makes both statements
  /// select the same ones.
  private static let unused =
    "SELECT id FROM callgate_installation WHERE used < ?1 AND app = ?2 ORDER BY used, id LIMIT ?3"
  /// Saves the ids of deleted installations that were once used without a user: a new installation with such
  /// an id must not own the records of the old one.
  static let spendIDs = """
    INSERT OR IGNORE INTO callgate_spent_id (id) SELECT id FROM callgate_installation
    WHERE id IN (\(unused)) AND coalesce(operator_deliveries, 1) > 0
    """
  static let forgetUnused = "DELETE FROM callgate_installation WHERE id IN (\(unused))"

  package func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, receipts: ReceiptReader,
    onOutcome: (InstallationOutcome<Result>) -> Void,
    _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> InstallationOutcome<Result> {
    var outcome: InstallationOutcome<Result>?
    try transaction { open throws(StoreError) in
      var view = InstallationView()
      for (query, values) in scope.reads(at: now) {
        for note in try open.rows(query, values) { note(&view) }
      }
      let (change, result) = body(view)
      for call in change.writes(after: view, of: scope.id) { try open.run(call) }
      let ended = try change.succession(of: view).map { succession throws(StoreError) in
        try succeed(succession, at: now, receipts: receipts, open)
      }
      let made = InstallationOutcome(result, ended: ended ?? [])
      outcome = made
      onOutcome(made)
      return !change.isEmpty
    }
    guard let outcome else { preconditionFailure("the transaction succeeded without running its body") }
    return outcome
  }

  /// Ends the appointments of a revoked or replaced installation, or moves them to the new one.
  ///
  /// - Returns: The appointments that ended.
  private func succeed(
    _ succession: Succession, at now: Instant, receipts: ReceiptReader, _ open: Open
  ) throws(StoreError) -> [EndedAppointment] {
    let statements = try open.prepared()
    var ids: Set<CallbackID> = []
    var returned: [CallbackID: [KeptReceipt]] = [:]
    for row in try statements.callbacks.appointments(of: succession, open.connection) {
      let id = row.record.id
      ids.insert(id)
      if case .ends = succession, let content = row.appointment?.content?.sealed {
        returned[id] = receipts(id, content)
      }
    }
    guard !ids.isEmpty else { return [] }
    var working = WorkingSet(succeeding: ids, returning: returned, ids: statements.ids)
    try statements.read(&working)
    let ended = working.succeed(succession, at: now, turn: turn)
    try statements.write(working)
    return ended
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

  package func purgeInstallations(unusedSince unused: [String: Instant], most: Int) throws(StoreError) -> Int
  {
    var removed = 0
    try transaction { open throws(StoreError) in
      _ = try open.prepared()
      removed = 0
      let spend = try SQLiteStatement(open.connection, Self.spendIDs)
      let forget = try SQLiteStatement(open.connection, Self.forgetUnused)
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

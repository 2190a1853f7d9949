// How an SQLite session reads, spends and forgets notices of callbacks.

package import Gate
package import JOSE
package import Store

extension SQLiteSession {
  /// The due notices of callbacks; the condition is the one of an index.
  static func due(_ condition: String) -> String {
    """
    SELECT callback.*, device.token, device.registered, kept.generation
    FROM (SELECT \(CallbackColumn.table.list) FROM callgate_callback
      WHERE notice_next IS NOT NULL AND \(condition) AND notice_next BETWEEN ?1 AND ?2) AS callback
    JOIN callgate_device AS device ON device.installation = callback.notifies
    JOIN callgate_installation AS kept ON kept.id = device.installation AND kept.revoked IS NULL
      AND CASE WHEN callback.notifies_generation IS NULL THEN kept.generation <= callback.created
        ELSE kept.generation = callback.notifies_generation END
    WHERE device.platform = ?3 AND callback.status <> 'pending' ORDER BY notice_next LIMIT ?4
    """
  }

  static let dueQuestions = due("settled IS NULL")
  static let dueNews = due("settled IS NOT NULL")

  package func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) throws(StoreError) -> [DueNotice] {
    var due: [DueNotice] = []
    let values: (ClosedRange<Instant>) -> [ColumnValue] = {
      [
        .integer($0.lowerBound.nanosecondsSinceEpoch), .integer($0.upperBound.nanosecondsSinceEpoch),
        .text(platform), .integer(Int64(most)),
      ]
    }
    try use { open throws(StoreError) in
      _ = try open.prepared()
      due = []
      let device = Int32(CallbackColumn.table.count)
      let add = { (row: SQLiteRow) in
        guard let record = SQLiteCallbacks.row(row)?.record, let id = record.notices?.installation.id else {
          return
        }
        let device = StoredDevice(
          installation: InstallationIdentity(id, generation: row.integer(device + 2)),
          platform: platform, token: row.text(device),
          registered: Instant(nanosecondsSinceEpoch: row.integer(device + 1)))
        if let notice = DueNotice(record, to: device) { due.append(notice) }
      }
      try SQLiteStatement(open.connection, Self.dueQuestions).run(values(questions), row: add)
      try SQLiteStatement(open.connection, Self.dueNews).run(values(news), row: add)
    }
    return due.earliest(most)
  }

  package func notice(_ id: SHA256Digest) throws(StoreError) -> FoundNotice? {
    var found: FoundNotice?
    try use { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      var notice: StoredNotice?
      try SQLiteStatement(
        open.connection,
        "SELECT \(NoticeColumn.table.list) FROM callgate_notice WHERE id = ?"
      ).run([.bytes(id.bytes)]) { notice = $0.entry() }
      if let notice {
        var record: StoredCallback?
        if let callback = notice.callback { record = try callbacks.row(callback)?.record }
        found = FoundNotice(notice: notice, record: record)
      } else {
        found = nil
      }
    }
    return found
  }

  package func keepNotice(_ notice: StoredNotice) throws(StoreError) {
    try transaction { open throws(StoreError) in
      try open.prepared().callbacks.put(notice)
      return true
    }
  }

  package func purgeNotices(madeUpTo time: Int64, most: Int) throws(StoreError) -> Int {
    try change(
      "DELETE FROM callgate_notice WHERE id IN (SELECT id FROM callgate_notice WHERE created <= ? LIMIT ?)",
      [.integer(time), .integer(Int64(most))])
  }
}

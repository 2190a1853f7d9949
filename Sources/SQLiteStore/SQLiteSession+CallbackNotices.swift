// How an SQLite session reads, spends and forgets notices of callbacks.

import Gate
import JOSE
import Store

extension SQLiteSession {
  /// The due notices of callbacks; the condition is the one of an index.
  static func due(_ condition: String) -> String {
    """
    SELECT callback.*, device.token, device.registered, kept.generation
    FROM (SELECT \(SQLiteCallbacks.columns) FROM callgate_callback
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

  func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) throws(StoreError) -> [DueNotice] {
    var due: [DueNotice] = []
    let values: (ClosedRange<Instant>) -> [SQLiteValue] = {
      [
        .integer($0.lowerBound.nanosecondsSinceEpoch), .integer($0.upperBound.nanosecondsSinceEpoch),
        .text(platform), .integer(Int64(most)),
      ]
    }
    try use { open throws(StoreError) in
      _ = try open.prepared()
      due = []
      let add = { (row: SQLiteRow) in
        guard let record = SQLiteCallbacks.row(row)?.record, let id = record.notices?.installation.id else {
          return
        }
        let device = StoredDevice(
          installation: InstallationIdentity(id, generation: row.integer(SQLiteCallbacks.count + 2)),
          platform: platform, token: row.text(SQLiteCallbacks.count),
          registered: Instant(nanosecondsSinceEpoch: row.integer(SQLiteCallbacks.count + 1)))
        if let notice = DueNotice(record, to: device) { due.append(notice) }
      }
      try SQLiteStatement(open.connection, Self.dueQuestions).run(values(questions), row: add)
      try SQLiteStatement(open.connection, Self.dueNews).run(values(news), row: add)
    }
    return due.earliest(most)
  }

  func notice(_ id: SHA256Digest) throws(StoreError) -> FoundNotice? {
    var found: FoundNotice?
    try use { open throws(StoreError) in
      let callbacks = try open.prepared().callbacks
      var notice: StoredNotice?
      try SQLiteStatement(
        open.connection,
        "SELECT callback, installation, action, serial, created, generation FROM callgate_notice WHERE id = ?"
      ).run([.blob(id.bytes)]) { row in
        guard let callback = row.id(0), let installation = row.id(1), let action: NoticeAction = row.word(2)
        else { return }
        notice = StoredNotice(
          id: id, callback: callback == StoredNotice.noCallback ? nil : CallbackID(callback),
          installation: InstallationIdentity(installation, column: row.optionalInteger(5)), action: action,
          serial: Int(row.integer(3)), created: Instant(nanosecondsSinceEpoch: row.integer(4)))
      }
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

  func keepNotice(_ notice: StoredNotice) throws(StoreError) {
    try transaction { open throws(StoreError) in
      try open.prepared().callbacks.put(notice)
      return true
    }
  }

  func purgeNotices(madeUpTo time: Int64, most: Int64) throws(StoreError) -> Int {
    try change(
      "DELETE FROM callgate_notice WHERE id IN (SELECT id FROM callgate_notice WHERE created <= ? LIMIT ?)",
      [.integer(time), .integer(most)])
  }
}

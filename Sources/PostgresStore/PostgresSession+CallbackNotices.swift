// How a PostgreSQL session reads, spends and forgets notices of callbacks.

import Gate
import JOSE
import Store

extension PostgresSession {
  func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) throws(StoreError) -> [DueNotice] {
    let values: (ClosedRange<Instant>) -> [String?] = {
      [
        "\($0.lowerBound.nanosecondsSinceEpoch)", "\($0.upperBound.nanosecondsSinceEpoch)", platform,
        "\(most)",
      ]
    }
    let found =
      try rows(.prepared(PostgresStatements.dueQuestions, values(questions)))
      + rows(.prepared(PostgresStatements.dueNews, values(news)))
    return found.compactMap { row in
      guard let record = PostgresCallbacks.row(row)?.record, let id = record.notices?.installation,
        let token = row[PostgresStatements.columnCount],
        let registered = row[PostgresStatements.columnCount + 1].flatMap({ Int64($0) })
      else { return nil }
      return DueNotice(
        record,
        to: StoredDevice(
          installation: id, platform: platform, token: token,
          registered: Instant(nanosecondsSinceEpoch: registered)))
    }.earliest(most)
  }

  func notice(_ id: SHA256Digest) throws(StoreError) -> FoundNotice? {
    let found = try rows(.prepared(PostgresStatements.notice, [PostgresText.bytea(id.bytes)]))
    return found.first.flatMap { row in
      guard let callback = row[0].flatMap({ StoreID(hex: $0) }),
        let installation = row[1].flatMap({ StoreID(hex: $0) }),
        let action = row[2].flatMap({ NoticeAction(rawValue: $0) }), let serial = row[3].flatMap({ Int($0) }),
        let created = row[4].flatMap({ Int64($0) })
      else { return nil }
      return FoundNotice(
        notice: StoredNotice(
          id: id, callback: CallbackID(callback), installation: InstallationID(installation), action: action,
          serial: serial, created: Instant(nanosecondsSinceEpoch: created)),
        record: PostgresCallbacks.row(Array(row[5...]))?.record)
    }
  }

  func purgeNotices(madeUpTo time: Int64, most: Int) throws(StoreError) -> Int {
    var removed = 0
    try use { connection throws(PostgresFailure) in
      removed = try connection.run(
        [.prepared(PostgresStatements.purgeNotices, ["\(time)", "\(most)"])], within: Self.span)[0].changed
    }
    return removed
  }
}

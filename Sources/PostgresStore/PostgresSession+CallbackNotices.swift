// How a PostgreSQL session reads, spends and forgets notices of callbacks.

package import Gate
package import JOSE
package import Store

extension PostgresSession {
  package func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) throws(StoreError) -> [DueNotice] {
    let values: (ClosedRange<Instant>) -> [String?] = {
      [
        "\($0.lowerBound.nanosecondsSinceEpoch)", "\($0.upperBound.nanosecondsSinceEpoch)", platform,
        "\(most)",
      ]
    }
    let read = { (statement: PostgresStatement, times: ClosedRange<Instant>) throws(StoreError) in
      try self.read(.prepared(statement, values(times))) { rows throws(PostgresFailure) in
        try rows.map { row throws(PostgresFailure) in try Self.notice(row, on: platform) }
      }
    }
    let found = try read(PostgresStatements.dueQuestions, questions) + read(PostgresStatements.dueNews, news)
    return found.compactMap(\.self).earliest(most)
  }

  /// A record with its device; nil where there is nothing to say.
  private static func notice(_ row: PostgresRow, on platform: String) throws(PostgresFailure) -> DueNotice? {
    let record = try PostgresCallbacks.row(row).record
    guard let id = record.notices?.installation.id else { return nil }
    return DueNotice(
      record,
      to: StoredDevice(
        installation: InstallationIdentity(
          id, generation: try row.integer(PostgresStatements.columnCount + 2)), platform: platform,
        token: try row.text(PostgresStatements.columnCount),
        registered: try row.time(PostgresStatements.columnCount + 1)))
  }

  package func notice(_ id: SHA256Digest) throws(StoreError) -> FoundNotice? {
    let command = PostgresCommand.prepared(PostgresStatements.notice, [PostgresText.bytea(id.bytes)])
    return try read(command) { rows throws(PostgresFailure) in
      guard let row = rows.first else { return nil }
      let record = row.dropFirst(NoticeColumn.table.count)
      return FoundNotice(
        notice: try row.entry(),
        // Without an id there is none: it was forgotten.
        record: record[0] == nil ? nil : try PostgresCallbacks.row(record).record)
    }
  }

  package func keepNotice(_ notice: StoredNotice) throws(StoreError) {
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      _ = try connection.run(
        [.prepared(PostgresStatements.putNotices, NoticeColumn.table.arrays(of: [notice]))], within: Self.span
      )
    }
  }

  package func purgeNotices(madeUpTo time: Int64, most: Int) throws(StoreError) -> Int {
    try purge(PostgresStatements.purgeNotices, upTo: time, most: most)
  }
}

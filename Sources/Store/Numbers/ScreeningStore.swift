// Verdicts on numbers that were looked up, so that all instances look a number up once.

package import Gate

/// The verdict on a number, without the number and without what Talkdesk answered.
public struct ScreeningVerdict: Hashable, Sendable {
  /// How many a store has at most.
  package static let most: Int64 = 1_000_000

  /// The first 16 octets of the keyed hash of the number.
  package let id: StoreID
  /// The first 8 octets of the SHA-256 of the settings that it was made by.
  package let settings: Int64
  /// The setting that refuses the number, below `numbers.screening`; nil where none does.
  package let refusal: String?
  /// Until when it counts.
  package let ends: Instant

  package init(id: StoreID, settings: Int64, refusal: String?, ends: Instant) {
    self.id = id
    self.settings = settings
    self.refusal = refusal
    self.ends = ends
  }
}

/// A store of the verdicts that all instances share.
public protocol ScreeningStore: Sendable {
  /// The verdict on a number, which may have ended.
  func verdict(_ id: StoreID) async throws(StoreError) -> ScreeningVerdict?

  /// Saves a verdict in place of the earlier one on the number. Of more than 1,000,000 the oldest are removed.
  func save(_ verdict: ScreeningVerdict) async throws(StoreError)

  /// Forgets the verdict on a number.
  func forgetVerdict(_ id: StoreID) async throws(StoreError)
}

/// The columns of a verdict. Its table also has `serial`, which grows with each write.
package enum ScreeningColumn: Int, TableColumn {
  case id, settings, refusal, ends

  package static let table = Table<ScreeningColumn>("callgate_screening")

  package var column: ColumnDescription<ScreeningVerdict> {
    switch self {
    case .id: .id(.never) { $0.id }
    case .settings: .integer(.changes) { $0.settings }
    case .refusal: .text(.changes) { $0.refusal }
    case .ends: .time(.changes) { $0.ends }
    }
  }
}

extension ScreeningVerdict: TableEntry {
  package init(_ row: TableRow<ScreeningColumn>) throws(UnreadableValue) {
    self.init(
      id: try row.id(.id), settings: try row.integer(.settings), refusal: try row.optionalText(.refusal),
      ends: try row.time(.ends))
  }
}

/// The statements on verdicts that every database takes.
enum ScreeningStatements {
  static let verdict = Query<ScreeningVerdict>("screening", where: "id = $1")

  static let save = Change(
    "save_screening",
    """
    INSERT INTO callgate_screening (\(ScreeningColumn.table.list), serial)
    VALUES ($1, $2, $3, $4, (SELECT coalesce(max(serial), 0) + 1 FROM callgate_screening))
    ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, refusal = excluded.refusal, \
    ends = excluded.ends, serial = excluded.serial
    """)

  /// Removes the oldest, without counting them: each write has a number of its own. `$1` is how many stay.
  static let removeOldest = Change(
    "remove_oldest_screenings",
    deleting: """
      DELETE FROM callgate_screening WHERE id IN (
        SELECT older.id FROM callgate_screening AS older
        WHERE older.serial <= (SELECT max(serial) FROM callgate_screening) - $1
      """)

  static let forget = Change("forget_screening", "DELETE FROM callgate_screening WHERE id = $1")

  static let purge = Change(purging: "screenings", "callgate_screening", where: "kept.ends <= $1")
}

extension QueuedStore {
  package func verdict(_ id: StoreID) async throws(StoreError) -> ScreeningVerdict? {
    try await rows(ScreeningStatements.verdict, .id(id)).first
  }

  package func save(_ verdict: ScreeningVerdict) async throws(StoreError) {
    try await save(verdict, most: ScreeningVerdict.most)
  }

  /// The same with another bound, for tests.
  func save(_ verdict: ScreeningVerdict, most: Int64) async throws(StoreError) {
    let calls = [
      ChangeCall(ScreeningStatements.save, values: ScreeningColumn.table.values(of: verdict)),
      ChangeCall(ScreeningStatements.removeOldest, .integer(most)),
    ]
    _ = try await sessions.call(.writes) { session throws(StoreError) in try session.change(calls) }
  }

  package func forgetVerdict(_ id: StoreID) async throws(StoreError) {
    _ = try await sessions.call(.updates) { session throws(StoreError) in
      try session.change([ChangeCall(ScreeningStatements.forget, .id(id))])
    }
  }
}

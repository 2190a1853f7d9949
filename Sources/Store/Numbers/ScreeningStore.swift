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

// Saved verdicts on phone numbers that were looked up. Instances share them, so that a number is looked up
// once.

package import Gate

/// The verdict on a number, without the number and without Talkdesk's answer.
public struct ScreeningVerdict: Hashable, Sendable {
  /// The maximum number of verdicts in a store.
  package static let most: Int64 = 1_000_000

  /// The first 16 octets of the keyed hash of the number.
  package let id: StoreID
  /// The first 8 octets of the SHA-256 of the settings on which the verdict is based.
  package let settings: Int64
  /// The setting below `numbers.screening` that refuses the number; nil if none does.
  package let refusal: String?
  /// When the verdict expires.
  package let ends: Instant

  package init(id: StoreID, settings: Int64, refusal: String?, ends: Instant) {
    self.id = id
    self.settings = settings
    self.refusal = refusal
    self.ends = ends
  }
}

/// A store of verdicts on phone numbers.
public protocol ScreeningStore: Sendable {
  /// The verdict on a number, even if it has expired.
  func verdict(_ id: StoreID) async throws(StoreError) -> ScreeningVerdict?

  /// Saves a verdict and replaces the earlier one. Beyond 1,000,000, the oldest are deleted.
  func save(_ verdict: ScreeningVerdict) async throws(StoreError)
}

/// The columns of a verdict. The table also has a column `serial`, which grows with each write.
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

// The protocol for numbers that are never called, and the columns of their table.

public import Gate

/// A number that an operator has blocked: its hash and its last digits, never the number.
public struct BlockedNumber: Hashable, Sendable {
  /// How many a store has at most.
  package static let most = 100_000
  /// How long a store keeps one that has ended, so that every instance learns of it.
  package static let lingering: Int64 = 60

  /// `NumberKey.id(of:)`.
  package let id: StoreID
  /// The number with all but its last two digits hidden.
  package let mask: String
  package let reason: String?
  /// When it was blocked last.
  package let since: Instant
  /// When the block ends without an operator; nil for never.
  package let until: Instant?
  package let by: Operator.Identity?
  /// Grows with each change of any number, in the order in which the changes become visible. The store gives it.
  package var serial: Int64 = 0

  package init(
    id: StoreID, mask: String, reason: String?, since: Instant, until: Instant?, by: Operator.Identity?
  ) {
    self.id = id
    self.mask = mask
    self.reason = reason
    self.since = since
    self.until = until
    self.by = by
  }
}

/// A change of the list of blocked numbers.
public struct BlockChange: Hashable, Sendable {
  package let id: StoreID
  /// When the block ends, or when it was ended; nil for never.
  package let until: Instant?
  package let serial: Int64
}

/// A store with the list of blocked numbers.
///
/// Of two changes, in whatever instance, one comes wholly after the other. A change that fails may have been made if it is `isInDoubt`.
public protocol BlockedNumberStore: Sendable {
  /// Blocks a number, or replaces the block that it has.
  ///
  /// - Returns: Whether it is blocked. If not, 100,000 others are.
  func block(_ number: BlockedNumber) async throws(StoreError) -> Bool

  /// Ends the block of a number, if it has one, and forgets how it was screened.
  func unblock(_ id: StoreID, at now: Instant) async throws(StoreError)

  /// The blocked numbers, the last one to be blocked first.
  ///
  /// - Parameter serial: Only those blocked before this one; nil for all.
  func blockedNumbers(before serial: Int64?, most: Int, at now: Instant) async throws(StoreError)
    -> [BlockedNumber]

  /// The changes after one, in their order; only the last one of each number. Some are forgotten a minute after the block has ended.
  func blockChanges(after serial: Int64, most: Int) async throws(StoreError) -> [BlockChange]
}

/// The columns of a blocked number.
package enum BlockedNumberColumn: Int, TableColumn {
  case id, mask, reason, since, ends
  /// The operator who blocked it last, and how that was proved.
  case `operator`, operatorBy
  case serial

  package static let table = Table<BlockedNumberColumn>("callgate_blocked_number")

  package var column: ColumnDescription<BlockedNumber> {
    switch self {
    case .id: .id(.never) { $0.id }
    case .mask: .text(.never) { $0.mask }
    case .reason: .text(.changes) { $0.reason }
    case .since: .time(.changes) { $0.since }
    case .ends: .time(.changes) { $0.until }
    case .operator: .text(.changes) { $0.by?.name }
    case .operatorBy: .text(.changes) { $0.by?.by.rawValue }
    case .serial: .integer(.changes) { $0.serial }
    }
  }
}

extension BlockedNumber: TableEntry {
  package init(_ row: TableRow<BlockedNumberColumn>) throws(UnreadableValue) {
    self.init(
      id: try row.id(.id), mask: try row.text(.mask), reason: try row.optionalText(.reason),
      since: try row.time(.since), until: try row.optionalTime(.ends),
      by: Operator.Identity(name: try row.optionalText(.operator), by: try row.optionalText(.operatorBy)))
    serial = try row.integer(.serial)
  }
}

// Phone numbers that operators have blocked, as saved in the store: the protocol and the columns of the
// table.

public import Gate

/// A number that an operator has blocked: its hash and last two digits, never the full number.
public struct BlockedNumber: Hashable, Sendable {
  /// The maximum number of blocked numbers in a store.
  package static let most = 100_000
  /// How long a store keeps a block after its end, in seconds, so that every instance reads the change.
  package static let lingering: Int64 = 60

  /// The hash of the number by `NumberKey.id(of:)`.
  package let id: StoreID
  /// The number with all but its last two digits hidden.
  package let mask: String
  package let reason: String?
  /// When the number was last blocked.
  package let since: Instant
  /// When the block ends automatically; nil if it never does.
  package let until: Instant?
  package let by: Operator.Identity?
  /// The serial number of the last change, assigned by the store. It grows with each change of any number, in
  /// the order in which changes become visible.
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
  /// When the block ends or ended; nil if it never does.
  package let until: Instant?
  package let serial: Int64
}

/// A store with the list of blocked numbers.
///
/// Changes by all instances run one after the other. If a change fails with `isInDoubt`, it may have been
/// saved.
public protocol BlockedNumberStore: Sendable {
  /// Blocks a number, or replaces its block.
  ///
  /// - Returns: False if 100,000 other numbers are blocked; then nothing is changed.
  func block(_ number: BlockedNumber) async throws(StoreError) -> Bool

  /// Ends the block of a number, if there is one, and deletes its saved verdict.
  func unblock(_ id: StoreID, at now: Instant) async throws(StoreError)

  /// The blocked numbers, the newest block first.
  ///
  /// - Parameter serial: Only blocks with smaller serial numbers are returned. Nil for all.
  func blockedNumbers(before serial: Int64?, most: Int, at now: Instant) async throws(StoreError)
    -> [BlockedNumber]

  /// The last change of each number after a serial number, in order. The store deletes a number's change a
  /// minute after its block has ended.
  func blockChanges(after serial: Int64, most: Int) async throws(StoreError) -> [BlockChange]
}

/// The columns of a blocked number.
package enum BlockedNumberColumn: Int, TableColumn {
  case id, mask, reason, since, ends
  /// The operator who last blocked it, and how the operator was authenticated.
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

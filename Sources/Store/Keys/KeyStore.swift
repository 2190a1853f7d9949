// The protocol for what a store knows of the store keys.

public import Gate
public import Sealing

/// Where the marks of the store keys are kept that values in it were sealed with. No key itself is.
public protocol KeyStore: Sendable {
  /// The keys in use, the oldest first.
  func keys() async throws(StoreError) -> [KeyInUse]

  /// Shows the keys in use, and writes the changes of a ruling that allows the store's use. Of many instances that ask at once,
  /// each sees what the others have written.
  func updateKeys(
    at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling
  ) async throws(StoreError) -> KeyRuling
}

/// A store key that a store is in use with.
public struct KeyInUse: Hashable, Sendable {
  /// By what it is known again.
  public let mark: StoreKeyMark
  /// Since when the store is in use with it, in seconds since the epoch.
  public let since: Int64
  /// When the last value that was sealed with it is forgotten; nil where there is none.
  public let sealedUntil: Instant?

  /// Describes a key.
  public init(_ mark: StoreKeyMark, since: Int64, sealedUntil: Instant? = nil) {
    self.mark = mark
    self.since = since
    self.sealedUntil = sealedUntil
  }
}

/// A table whose rows hold sealed values.
package struct SealedTable: Sendable {
  /// Its name.
  package let name: String
  /// The column with the id of the key that sealed the row.
  let key: String
  /// The column that says when the row is forgotten, in nanoseconds since the epoch.
  let until: String

  /// Describes a table.
  package init(_ name: String, key: String, until: String) {
    self.name = name
    self.key = key
    self.until = until
  }

  /// All of them.
  package static let all: [SealedTable] = []

  /// Asks when the last row that a key has sealed is forgotten; NULL where there is none.
  package func question(parameter: String) -> String {
    "SELECT max(\(until)) FROM \(name) WHERE \(key) = \(parameter)"
  }
}

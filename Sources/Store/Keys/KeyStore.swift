// The protocol for the list of store keys in use, and for sealing values again with another key.

public import Gate
public import Sealing

/// A store with the list of store keys that have sealed its values. The list has a mark of each key, never
/// the key.
public protocol KeyStore: Sendable {
  /// The keys in use, the oldest first.
  func keys() async throws(StoreError) -> [KeyInUse]

  /// Passes the keys in use to `judge`, and saves the changes if the ruling allows the use of the store. If
  /// many instances call this at once, each sees what the others have saved.
  func updateKeys(
    at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling
  ) async throws(StoreError) -> KeyRuling

  /// Replaces every value that a key has sealed, in portions. After a failure, the portions before it stay
  /// replaced.
  ///
  /// - Parameter seal: Returns the new value; nil removes it. It may be called more than once for a value.
  /// - Returns: The number of values that were replaced or removed.
  func reseal(
    _ key: StoreKeyID, _ seal: @escaping @Sendable (SealedValue) -> [UInt8]?
  ) async throws(StoreError) -> Int

  /// Replaces the number hashes of `scheduled` appointments that were booked with another API, together with
  /// their contents, in portions. After a failure, the portions before it stay replaced.
  ///
  /// - Parameter renew: Returns the new hash and content; nil leaves the appointment unchanged. It may be
  ///   called more than once for an appointment.
  /// - Returns: The number of appointments that were changed.
  func renewAliases(
    _ renew: @escaping @Sendable (DueAppointment) -> AliasRenewal?
  ) async throws(StoreError) -> Int
}

/// A sealed value in a store.
public struct SealedValue: Hashable, Sendable {
  /// The id of the value's row. Sealing used it as associated data.
  public let id: [UInt8]
  public let sealed: [UInt8]
  public let purpose: Purpose

  package init(id: [UInt8], sealed: [UInt8], for purpose: Purpose) {
    self.purpose = purpose
    self.id = id
    self.sealed = sealed
  }
}

/// A store key in the list of keys in use.
public struct KeyInUse: Hashable, Sendable {
  /// The mark that identifies the key.
  public let mark: StoreKeyMark
  /// When the store was first used with the key, in seconds since the epoch.
  public let since: Int64
  /// When the last value that was sealed with the key expires; nil if there is no such value.
  public let sealedUntil: Instant?
  /// Whether the key has sealed the content of an appointment, or the token of a device, whose callback has
  /// not ended. Then the key is needed even after `sealedUntil`, which may have been saved while the setting
  /// `late` was shorter.
  public let isOpen: Bool

  public init(_ mark: StoreKeyMark, since: Int64, sealedUntil: Instant? = nil, isOpen: Bool = false) {
    self.mark = mark
    self.since = since
    self.sealedUntil = sealedUntil
    self.isOpen = isOpen
  }

  /// Combines the results of `SealedTable.question`, one for each table.
  package init(_ mark: StoreKeyMark, since: Int64, _ answers: [(until: Int64?, open: Int64?)]) {
    self.init(
      mark, since: since,
      sealedUntil: answers.compactMap(\.until).max().map { Instant(nanosecondsSinceEpoch: $0) },
      isOpen: answers.contains { $0.open == 1 })
  }
}

/// A table with a column `id` and a column of sealed values. A table with several such columns has one
/// description for each.
package struct SealedTable: Sendable {
  package let name: String
  /// The column with the sealed value.
  let value: String
  /// The column with the id of the key that sealed it.
  package let key: String
  /// The column with the time when the value expires, in nanoseconds since the epoch.
  let until: String
  /// Whether a value is still needed after that time if its record has not ended.
  let outlasts: Bool
  /// The purpose of sealing.
  package let purpose: Purpose

  package init(
    _ name: String, value: String, key: String, until: String, outlasts: Bool = false, for purpose: Purpose
  ) {
    self.outlasts = outlasts
    self.purpose = purpose
    self.name = name
    self.value = value
    self.key = key
    self.until = until
  }

  /// All tables with sealed values. In a row without a value, the columns of value, key and time are NULL.
  package static let all = [
    SealedTable(
      "callgate_callback", value: "verification_code", key: "verification_key", until: "verification_until",
      for: .sealing),
    SealedTable(
      "callgate_callback", value: "content", key: "content_key", until: "content_until", outlasts: true,
      for: .appointment),
    SealedTable(
      "callgate_callback", value: "device", key: "device_key", until: "device_until", outlasts: true,
      for: .device),
    numberKey,
  ]

  /// The key for hashes of phone numbers. A start after a change of the store key seals it with the new key,
  /// so its time is 0: it does not keep a store key in use.
  static let numberKey = SealedTable(
    "callgate_number_key", value: "sealed", key: "sealing_key", until: "sealed_until", for: .numbers)

  /// A query with two results: when the last value that a key has sealed expires (NULL if there is none), and
  /// whether a record that has not ended has such a value (1 or 0; always 0 unless `outlasts`). A starting
  /// server waits for the result, so the query makes two searches, each for one row of an index. PostgreSQL
  /// uses the index to find the greatest time. To find just any row of a key, it would read the table,
  /// because it assumes that the rows of a key are spread evenly.
  package func question(parameter: String) -> String {
    let last = "SELECT max(\(until)) FROM \(name) WHERE \(key) = \(parameter)"
    let open = outlasts ? "CASE WHEN (\(last) AND settled IS NULL) IS NULL THEN 0 ELSE 1 END" : "0"
    return "SELECT (\(last)), \(open)"
  }

  /// Some of the values that a key has sealed, in the order of their ids. Each portion begins after the last
  /// id of the previous one, so that all portions together read the table once.
  package func values(most: Int) -> Query<SealedValue> {
    Query(
      "find_\(key)",
      "SELECT id, \(value) FROM \(name) WHERE \(key) = $1 AND id > $2 ORDER BY id LIMIT \(most)",
      [.id, .bytes]
    ) { [purpose] row throws(UnreadableValue) in
      SealedValue(id: try row.id(0).bytes, sealed: try row.bytes(1), for: purpose)
    }
  }

  /// Replaces a value that a key has sealed, unless it was replaced or removed meanwhile. Safe to repeat.
  func replacing(_ old: SealedValue, by new: [UInt8]?) -> ChangeCall {
    let (id, before) = (ColumnValue.optional(StoreID(bytes: old.id)), ColumnValue.bytes(old.sealed))
    guard let new else {
      let set = "\(value) = NULL, \(key) = NULL, \(until) = NULL"
      return ChangeCall(
        Change("unseal_\(key)", "UPDATE \(name) SET \(set) WHERE id = $1 AND \(value) = $2"), id, before)
    }
    let replace = Change(
      "reseal_\(key)", "UPDATE \(name) SET \(value) = $1, \(key) = $2 WHERE id = $3 AND \(value) = $4")
    return ChangeCall(
      replace, .bytes(new), .optional(StoreKeys.keyID(of: new)?.bytes), id, before)
  }
}

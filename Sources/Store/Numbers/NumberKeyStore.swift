// The protocol for the stored key for hashes of phone numbers.

import Sealing

/// The stored key for hashes of phone numbers.
public struct StoredNumberKey: Hashable, Sendable {
  /// The key, sealed or not. Nil if `migrate --reseal` could not open it.
  package let value: [UInt8]?
  /// Whether it is sealed with a store key.
  package let isSealed: Bool

  package init(value: [UInt8]?, isSealed: Bool) {
    self.value = value
    self.isSealed = isSealed
  }

  /// The id of the store key that sealed it.
  var sealingKey: [UInt8]? { isSealed ? value.flatMap { StoreKeys.keyID(of: $0)?.bytes } : nil }

  package static let id = StoreID(high: 0, low: 1)
}

/// A store with one key for hashes of phone numbers.
public protocol NumberKeyStore: Sendable {
  /// The key. The first call stores `new`, and all others return what it has stored.
  func numberKey(or new: StoredNumberKey) async throws(StoreError) -> StoredNumberKey

  /// Stores the key in another form, unless it was replaced in the meantime.
  func replaceNumberKey(_ old: StoredNumberKey, by new: StoredNumberKey) async throws(StoreError)
}

// The protocol for the saved key for hashes of phone numbers.

import Sealing

/// The key for hashes of phone numbers, as saved in the store.
public struct StoredNumberKey: Hashable, Sendable {
  /// The key, sealed or not. Nil if `migrate --reseal` could not open it and removed it.
  package let value: [UInt8]?
  /// Whether the key is sealed with a store key.
  package let isSealed: Bool

  package init(value: [UInt8]?, isSealed: Bool) {
    self.value = value
    self.isSealed = isSealed
  }

  /// The id of the store key that sealed the key; nil if the key is not sealed.
  var sealingKey: [UInt8]? { isSealed ? value.flatMap { StoreKeys.keyID(of: $0)?.bytes } : nil }

  package static let id = StoreID(high: 0, low: 1)
}

/// A store with the key for hashes of phone numbers.
public protocol NumberKeyStore: Sendable {
  /// The saved key. The first call saves `new`; all others return the saved key.
  func numberKey(or new: StoredNumberKey) async throws(StoreError) -> StoredNumberKey

  /// Saves the key in another form, unless it was replaced in the meantime.
  func replaceNumberKey(_ old: StoredNumberKey, by new: StoredNumberKey) async throws(StoreError)
}

// The protocol for random secrets that all instances of a store share.

/// A store with random secrets that need no configuration.
public protocol SharedSecretStore: Sendable {
  /// The secret of a name. The first call saves `new`, and all others return what it has saved.
  func sharedSecret(_ name: String, or new: [UInt8]) async throws(StoreError) -> [UInt8]
}

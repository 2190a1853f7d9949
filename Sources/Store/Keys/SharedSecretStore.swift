// The protocol for random secrets that all instances of a store share.

/// A store with random secrets that need no configuration.
public protocol SharedSecretStore: Sendable {
  /// The secret with a name. The first call saves `new`; all others return the saved secret.
  func sharedSecret(_ name: String, or new: [UInt8]) async throws(StoreError) -> [UInt8]
}

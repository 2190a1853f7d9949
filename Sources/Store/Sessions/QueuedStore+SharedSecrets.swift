// The store's operations on shared secrets, run in database sessions.

import JOSE

extension QueuedStore {
  package func sharedSecret(_ name: String, or new: [UInt8]) async throws(StoreError) -> [UInt8] {
    let name = ColumnValue.text(SharedSecretStatements.prefix + name)
    if let known = try await rows(SharedSecretStatements.read, name).first { return known }
    let call = ChangeCall(SharedSecretStatements.save, name, .text(Hex.encode(new)))
    _ = try await sessions.call(.updates) { session throws(StoreError) in try session.change([call]) }
    // Another instance may have been first.
    return try await rows(SharedSecretStatements.read, name).first ?? new
  }
}

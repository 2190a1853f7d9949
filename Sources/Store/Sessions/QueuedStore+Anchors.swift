// The ends of audit chains of a store over database sessions.

extension QueuedStore {
  package func anchors() async throws(StoreError) -> [StoredAnchor] {
    let prefix = StoredAnchor.prefix
    return try await rows(MetaStatements.anchors, .text(prefix + "%")).compactMap(\.self)
  }

  package func save(_ anchor: StoredAnchor) async throws(StoreError) {
    let call = ChangeCall(MetaStatements.save, .text(anchor.storedName), .text(anchor.stored))
    _ = try await sessions.call(.writes) { session throws(StoreError) in try session.change([call]) }
  }
}

// The registered triggers of a store over database sessions.

extension QueuedStore {
  package func triggers() async throws(StoreError) -> [StoredTrigger] {
    let prefix = StoredTrigger.prefix
    return try await rows(MetaStatements.triggers, .text(prefix + "%")).compactMap(\.self)
  }

  package func save(_ trigger: StoredTrigger) async throws(StoreError) {
    let call = ChangeCall(
      MetaStatements.save, .text(StoredTrigger.storedName(trigger.name)), .text(trigger.stored))
    _ = try await sessions.call(.writes) { session throws(StoreError) in try session.change([call]) }
  }

  package func forgetTrigger(_ name: String) async throws(StoreError) {
    let call = ChangeCall(MetaStatements.forget, .text(StoredTrigger.storedName(name)))
    _ = try await sessions.call(.updates) { session throws(StoreError) in try session.change([call]) }
  }
}

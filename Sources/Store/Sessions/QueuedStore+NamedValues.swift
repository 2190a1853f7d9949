// The store's operations on registered triggers and the ends of audit chains, run in database sessions.

extension QueuedStore {
  package func triggers() async throws(StoreError) -> [StoredTrigger] { try await named(StoredTrigger.self) }
  package func save(_ trigger: StoredTrigger) async throws(StoreError) { try await save(named: trigger) }
  package func anchors() async throws(StoreError) -> [StoredAnchor] { try await named(StoredAnchor.self) }
  package func save(_ anchor: StoredAnchor) async throws(StoreError) { try await save(named: anchor) }

  package func forgetTrigger(_ name: String) async throws(StoreError) {
    let call = ChangeCall(MetaStatements.forget, StoredTrigger.storedName(name))
    _ = try await sessions.call(.updates) { session throws(StoreError) in try session.change([call]) }
  }

  /// All values of a kind, by name.
  private func named<Value: NamedValue>(_ kind: Value.Type) async throws(StoreError) -> [Value] {
    try await rows(MetaStatements.named(kind), .text(Value.prefix + "%")).compactMap(\.self).sorted {
      $0.name < $1.name
    }
  }

  private func save(named value: some NamedValue) async throws(StoreError) {
    let call = ChangeCall(MetaStatements.save, type(of: value).storedName(value.name), value.stored)
    _ = try await sessions.call(.writes) { session throws(StoreError) in try session.change([call]) }
  }
}

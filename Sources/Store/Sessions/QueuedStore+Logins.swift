// The store's operations on logins, run in database sessions.

package import Gate

extension QueuedStore {
  package func logins(since time: Instant) async throws(StoreError) -> [StoredLogin] {
    try await rows(LoginStatements.logins, .time(time), .integer(Int64(StoredLogin.most)))
  }

  package func save(_ logins: [StoredLogin]) async throws(StoreError) {
    guard !logins.isEmpty else { return }
    // In one order, so that the transactions of two instances never wait for each other.
    let calls = logins.sorted { $0.id < $1.id }.map {
      ChangeCall(LoginStatements.save, values: LoginColumn.table.values(of: $0))
    }
    let removal = ChangeCall(LoginStatements.removeOldest, .integer(Int64(StoredLogin.most - 1)))
    _ = try await sessions.call(.updates) { session throws(StoreError) in
      try session.change(calls + [removal])
    }
  }
}

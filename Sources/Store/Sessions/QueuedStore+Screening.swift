// The store's operations on verdicts on phone numbers, run in database sessions.

extension QueuedStore {
  package func verdict(_ id: StoreID) async throws(StoreError) -> ScreeningVerdict? {
    try await rows(ScreeningStatements.verdict, .id(id)).first
  }

  package func save(_ verdict: ScreeningVerdict) async throws(StoreError) {
    try await save(verdict, most: ScreeningVerdict.most)
  }

  /// The same with another bound, for tests.
  func save(_ verdict: ScreeningVerdict, most: Int64) async throws(StoreError) {
    let calls = [
      ChangeCall(ScreeningStatements.save, values: ScreeningColumn.table.values(of: verdict)),
      ChangeCall(ScreeningStatements.removeOldest, .integer(most)),
    ]
    _ = try await join { session throws(StoreError) in try session.change(calls) }
  }
}

// The store's operations on the state of the calls report, run in database sessions.

extension QueuedStore {
  /// How often a change is tried at most while other instances are faster.
  private static var mostRounds: Int { 8 }

  package func updateReport<Result: Sendable>(
    _ body: @Sendable (ReportState?) -> (ReportState?, Result)
  ) async throws(StoreError) -> Result {
    for _ in 0..<Self.mostRounds {
      let known = try await rows(MetaStatements.read, ReportState.name).first
      let (state, result) = body(known.flatMap(ReportState.init(stored:)))
      guard let state else { return result }
      let new = ColumnValue.text(state.stored)
      let call =
        known.map { ChangeCall(MetaStatements.replace, new, ReportState.name, .text($0)) }
        ?? ChangeCall(MetaStatements.add, ReportState.name, new)
      let changed = try await sessions.call(.updates) { session throws(StoreError) in
        try session.change([call])
      }
      if changed > 0 { return result }
    }
    throw StoreError(.unavailable, "report", "other instances change the state of the report")
  }
}

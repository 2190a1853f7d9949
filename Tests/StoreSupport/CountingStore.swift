// A store for tests that send many requests and check exact counts, without a database.

package import Gate
package import Store
import Synchronization

/// Keeps allowances in a dictionary, and everything else in another store.
package final class CountingStore: StoreDecorator {
  package let base = memoryStore()
  private let kept = Mutex<[AllowanceKey: AllowanceState]>([:])

  package init() {}

  package func update<Result: Sendable>(
    _ keys: [AllowanceKey], at now: Instant,
    _ body: @escaping @Sendable ([AllowanceState?], Instant) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    kept.withLock { kept in
      let update = body(keys.map { kept[$0] }, now)
      for (key, write) in zip(keys, update.writes) {
        switch write {
        case .keep: break
        case .put(let state, _): kept[key] = state
        case .remove: kept[key] = nil
        }
      }
      return update.result
    }
  }

  package func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    kept.withLock { kept in keys.map { kept[$0] } }
  }
}

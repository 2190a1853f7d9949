// The store keys of a store over database sessions.

package import Gate
package import Sealing

extension QueuedStore {
  package func keys() async throws(StoreError) -> [KeyInUse] {
    try await sessions.call(.reads) { session throws(StoreError) in try session.keys() }
  }

  package func updateKeys(
    at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling
  ) async throws(StoreError) -> KeyRuling {
    try await sessions.call(.writes) { session throws(StoreError) in
      try session.updateKeys(at: now, judge)
    }
  }

  package func reseal(
    _ key: StoreKeyID, _ seal: @escaping @Sendable (SealedValue) -> [UInt8]?
  ) async throws(StoreError) -> Int {
    let portion = min(Session.portion, 1000)
    var total = 0
    for table in SealedTable.all {
      var last: [UInt8]? = []
      while let after = last {
        let ids = try await sessions.call(.writes) { session throws(StoreError) in
          try session.reseal(table, key, after: after, most: portion, seal)
        }
        total += ids.count
        last = ids.count == portion ? ids.last : nil
      }
    }
    return total
  }
}

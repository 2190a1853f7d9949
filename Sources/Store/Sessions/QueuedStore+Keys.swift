// The store keys of a store over database sessions.

package import Gate
package import Sealing

extension QueuedStore {
  /// How often `reseal` reads a portion of which another process keeps replacing values.
  private static var mostReadings: Int { 3 }

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
      // No row has the id of zeros.
      var last: StoreID? = StoredNotice.noCallback
      var readings = 0
      while let after = last {
        let (values, replaced) = try await sessions.call(.updates) { session throws(StoreError) in
          let values = try session.rows(table.values(most: portion), [.bytes(key.bytes), .id(after)])
          return (values, try session.change(values.map { table.replacing($0, by: seal($0)) }))
        }
        total += replaced
        readings += 1
        // Another process replaced a value meanwhile, perhaps with the same key: what this key has still sealed is read again.
        guard replaced == values.count || readings == Self.mostReadings else { continue }
        readings = 0
        last = values.count == portion ? values.last.flatMap { StoreID(bytes: $0.id) } : nil
      }
    }
    return total
  }
}

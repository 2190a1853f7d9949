// The store's operations on store keys, run in database sessions.

package import Gate
package import Sealing

extension QueuedStore {
  /// How often a portion is read at most while another process keeps replacing its values.
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
    var total = 0
    for table in SealedTable.all {
      total += try await replaceAll { session, after, most throws(StoreError) in
        let values = try session.rows(table.values(most: most), [.bytes(key.bytes), .id(after)])
        return (
          values.compactMap { StoreID(bytes: $0.id) }, values.map { table.replacing($0, by: seal($0)) }
        )
      }
    }
    return total
  }

  package func renewAliases(
    _ renew: @escaping @Sendable (DueAppointment) -> AliasRenewal?
  ) async throws(StoreError) -> Int {
    try await replaceAll { session, after, most throws(StoreError) in
      let found = try session.rows(
        CallbackStatements.numberedAliases, [.id(after), .integer(Int64(most))])
      let changes = found.compactMap(\.dueAppointment).compactMap { appointment in
        renew(appointment).map { CallbackStatements.renewing(appointment, by: $0) }
      }
      return (found.map(\.record.id.id), changes)
    }
  }

  /// Reads rows in portions, in the order of their ids, and changes them.
  ///
  /// - Parameter read: Returns the ids of the rows after an id, and the changes to make. A change has no
  ///   effect if another process has changed the row meanwhile.
  /// - Returns: The number of changed rows.
  private func replaceAll(
    _ read:
      @escaping @Sendable (Session, _ after: StoreID, _ most: Int) throws(StoreError) -> (
        ids: [StoreID], changes: [ChangeCall]
      )
  ) async throws(StoreError) -> Int {
    let portion = min(Session.portion, 1000)
    var total = 0
    // No row has the id of zeros.
    var last: StoreID? = StoredNotice.noCallback
    var readings = 0
    while let after = last {
      let (ids, wanted, made) = try await sessions.call(.updates) { session throws(StoreError) in
        let (ids, changes) = try read(session, after, portion)
        return (ids, changes.count, changes.isEmpty ? 0 : try session.change(changes))
      }
      total += made
      readings += 1
      // Another process changed a row meanwhile, perhaps to a value with the same key, so the portion is read
      // again.
      guard made == wanted || readings == Self.mostReadings else { continue }
      readings = 0
      last = ids.count == portion ? ids.last : nil
    }
    return total
  }
}

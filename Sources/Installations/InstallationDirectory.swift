// Looks up installations by ID or key, with a bounded cache that holds each record for one second.

package import Gate
package import JOSE
package import Platform
package import Store
import Synchronization

/// Finds installations by ID or key, and caches each record for one second. So a revocation by any instance
/// takes effect here after one second and the next read.
///
/// A phone sends few requests, so nearly every lookup reads the store. The cache helps with bursts. It is
/// bounded, so a million installations need no more memory than the busy ones.
package final class InstallationDirectory: Sendable {
  /// The maximum age of a cached record.
  package static let freshness = Duration.seconds(1)
  /// The maximum number of cached records, and of times of last use that are not saved yet.
  static let capacity = 16_384
  /// The number of lookups per second for all addresses that guess IDs.
  private static let guardedRate: Int64 = 200
  /// The maximum number of guessing addresses that may wait for lookups.
  private static let guardedAddresses = 4096

  private struct Entry: Sendable {
    /// The installation; nil if this instance has changed its record since.
    let known: KnownInstallation?
    /// The time at which the read began, or at which this instance changed the record. A read that began
    /// earlier may have an older record.
    let readAt: MonotonicTime
  }

  private struct State {
    var entries: [InstallationID: Entry] = [:]
    /// The time at which entries were last removed to make room. Reads that began earlier are not cached.
    var clearedAt: MonotonicTime?
    /// The times of last use that the store does not have yet.
    var uses: [InstallationID: Instant] = [:]
    /// The theoretical arrival time of the next guarded lookup (GCRA), in nanoseconds of the monotonic clock.
    var guardedArrival: Int64 = 0
    /// The arrival time for each guessing address.
    var guardedArrivals: [IPAddress: Int64] = [:]

    /// Adds an entry. If there are too many, older ones make room.
    mutating func put(_ entry: Entry, of id: InstallationID, at now: MonotonicTime) {
      if entries.count >= InstallationDirectory.capacity, entries[id] == nil {
        entries = entries.filter { now - $0.value.readAt < InstallationDirectory.freshness / 2 }
        if entries.count >= InstallationDirectory.capacity { entries = [:] }
        clearedAt = now
      }
      entries[id] = entry
    }
  }

  private let store: any InstallationStore
  private let clock: any TimeSource
  private let state = Mutex(State())

  package init(store: any InstallationStore, clock: any TimeSource) {
    self.store = store
    self.clock = clock
  }

  /// An installation that was read less than a second ago; nil if the store must be read, also after a change
  /// by this instance.
  package func known(_ id: InstallationID, now: MonotonicTime) -> KnownInstallation? {
    state.withLock { state in
      guard let entry = state.entries[id], now.age(since: entry.readAt) < Self.freshness else { return nil }
      return entry.known
    }
  }

  /// Reads an installation from the store; nil if the store does not know it.
  package func look(_ id: InstallationID) async throws(StoreError) -> KnownInstallation? {
    let readAt = clock.now
    let known = try await store.installation(id).map { KnownInstallation($0) }
    save(known, of: id, readAt)
    return known
  }

  /// Reads the unrevoked installation with the given key from the store; nil if there is none.
  package func look(key: SHA256Digest) async throws(StoreError) -> KnownInstallation? {
    let readAt = clock.now
    guard let known = try await store.installation(key: key).map({ KnownInstallation($0) }) else {
      return nil
    }
    save(known, of: known.installation.client.id, readAt)
    return known
  }

  private func save(_ known: KnownInstallation?, of id: InstallationID, _ readAt: MonotonicTime) {
    state.withLock { state in
      if let kept = state.entries[id], kept.readAt > readAt { return }
      if let clearedAt = state.clearedAt, clearedAt > readAt { return }
      // Unknown IDs may be guesses. They must not push the records of phones out of the cache.
      guard let known else {
        state.entries[id] = nil
        return
      }
      state.put(Entry(known: known, readAt: readAt), of: id, at: clock.now)
    }
  }

  /// Whether an installation that proved its secret still has it, by a record less than a second old.
  package func holds(_ proved: Installation) async throws(StoreError) -> Bool {
    try await holds(proved.client.id) { Enrolling.holds(proved, now: $0) }
  }

  /// Whether an installation was neither revoked nor replaced, by a record less than a second old.
  ///
  /// - Parameter made: The time at which the record that names the installation was created.
  package func holds(
    _ named: InstallationIdentity, made: Instant? = nil
  ) async throws(StoreError) -> Bool {
    try await holds(named.id) { Enrolling.holds(named, made: made, now: $0) }
  }

  /// Whether an installation was neither revoked nor replaced, or its owner has enrolled it again for the
  /// same app. Appointments move to the new installation. A record that was read before the move, or is
  /// marked for its call, still names the old one.
  package func holds(
    _ named: InstallationIdentity, orIsOf owner: InstallationUser, appID: String?
  ) async throws(StoreError) -> Bool {
    try await holds(named.id) { Enrolling.holds(named, orIsOf: owner, appID: appID, now: $0) }
  }

  /// Checks a cached record first. It may be of an earlier generation than the one in question, so only the
  /// store can say no.
  private func holds(
    _ id: InstallationID, _ isAlive: (Installation?) -> Bool
  ) async throws(StoreError) -> Bool {
    if let known = known(id, now: clock.now), isAlive(known.installation) { return true }
    return isAlive(try await look(id)?.installation)
  }

  /// Whether an installation that proved its secret still has it, by the store and not by the cache. For a
  /// response after a long wait.
  package func holdsNow(_ proved: Installation) async throws(StoreError) -> Bool {
    Enrolling.holds(proved, now: try await look(proved.client.id)?.installation)
  }

  /// Removes an ID from the cache, because this instance has changed its record. A read that is still running
  /// is not cached.
  package func forget(_ id: InstallationID) {
    let now = clock.now
    state.withLock { $0.put(Entry(known: nil, readAt: now), of: id, at: now) }
  }

  /// Waits for a turn to look up an ID for a guessing address. This instance grants 200 turns a second, at
  /// most half of them to one address.
  ///
  /// - Parameter deadline: The end of the wait.
  /// - Returns: Whether there was a turn before the deadline. False also if too many addresses wait, or if
  ///   the task is canceled.
  package func waitForGuardedTurn(_ address: IPAddress, deadline: MonotonicTime) async -> Bool {
    let interval = 1_000_000_000 / Self.guardedRate
    let now = clock.now
    let client = address.client
    let turn: MonotonicTime? = state.withLock { state in
      let own = max(state.guardedArrivals[client] ?? 0, now.nanoseconds)
      let all = max(state.guardedArrival, now.nanoseconds)
      let turn = max(own, all)
      guard turn < deadline.nanoseconds else { return nil }
      if state.guardedArrivals.count >= Self.guardedAddresses {
        state.guardedArrivals = state.guardedArrivals.filter { $0.value > now.nanoseconds }
        guard state.guardedArrivals.count < Self.guardedAddresses else { return nil }
      }
      state.guardedArrivals[client] = own + 2 * interval
      state.guardedArrival = all + interval
      return MonotonicTime(nanoseconds: turn)
    }
    guard let turn else { return false }
    if turn <= now { return true }
    return await clock.hasSlept(until: turn)
  }

  // MARK: Last use

  /// Notes that an installation is used now, if its saved time of use is older than `useGrain`.
  package func used(_ installation: Installation, _ terms: InstallationTerms) {
    let now = Instant(clock.unixTime)
    guard now - installation.usedAt >= terms.useGrain else { return }
    state.withLock { state in
      let id = installation.client.id
      if state.uses.count < Self.capacity || state.uses[id] != nil { state.uses[id] = now }
    }
  }

  /// Saves the times of last use in the store. Call this about once a second. After a failure, the next call
  /// tries again.
  package func saveUses() async throws(StoreError) {
    let uses = state.withLock { state in
      defer { state.uses = [:] }
      return state.uses
    }
    guard !uses.isEmpty else { return }
    do throws(StoreError) {
      try await store.touchInstallations(uses)
    } catch {
      state.withLock { state in
        for (id, time) in uses where state.uses.count < Self.capacity || state.uses[id] != nil {
          state.uses[id] = max(time, state.uses[id] ?? time)
        }
      }
      throw error
    }
  }
}

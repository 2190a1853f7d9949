// Looks installations up for authentication: from a bounded cache for a second, otherwise from the store.

package import Gate
package import JOSE
package import Platform
package import Store
import Synchronization

/// Finds installations by their id, and caches each record for one second. So a revocation at any instance holds here after that
/// time and the next read.
///
/// A phone sends few requests, so nearly every look-up asks the store; the cache serves bursts. The cache is bounded: a million
/// installations take no more memory than those that are busy right now.
package final class InstallationDirectory: Sendable {
  /// The greatest age of a cached record.
  package static let freshness = Duration.seconds(1)
  /// The most cached records.
  static let capacity = 16_384
  /// Look-ups for addresses that are guessing, in a second.
  private static let guardedRate: Int64 = 200
  /// How many guessing addresses may wait for look-ups.
  private static let guardedAddresses = 4096

  private struct Entry: Sendable {
    /// Nil where this instance has changed the record since.
    let known: KnownInstallation?
    /// When the read began, or when this instance changed the record. A read that began earlier may have an older record.
    let readAt: MonotonicTime
  }

  private struct State {
    var entries: [InstallationID: Entry] = [:]
    /// When entries were last removed to make room: reads that began earlier are not cached.
    var clearedAt: MonotonicTime?
    /// The uses that the store does not have yet.
    var uses: [InstallationID: Instant] = [:]
    /// The theoretical arrival time of the next guarded look-up (GCRA), in nanoseconds of the monotonic clock.
    var guardedArrival: Int64 = 0
    /// The same for each address that is guessing.
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

  /// An installation that was read less than a second ago; nil if the store must be asked.
  package func known(_ id: InstallationID, now: MonotonicTime) -> KnownInstallation? {
    state.withLock { state in
      guard let entry = state.entries[id], now.age(since: entry.readAt) < Self.freshness else { return nil }
      return entry.known
    }
  }

  /// Asks the store.
  package func look(_ id: InstallationID) async throws(StoreError) -> KnownInstallation? {
    let readAt = clock.now
    let known = try await store.installation(id).map { KnownInstallation($0) }
    save(known, of: id, readAt)
    return known
  }

  /// Asks the store for the installation that has a key and is not revoked.
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
      // Unknown ids are strangers' guesses. They must not push the records of phones out of the cache.
      guard let known else {
        state.entries[id] = nil
        return
      }
      state.put(Entry(known: known, readAt: readAt), of: id, at: clock.now)
    }
  }

  /// Whether an installation that has proved its secret still has it, by a record that is less than a second old.
  package func holds(_ proved: Installation) async throws(StoreError) -> Bool {
    try await holds(proved.client.id) { Enrolling.holds(proved, now: $0) }
  }

  /// Whether an installation was neither revoked nor replaced, by such a record.
  ///
  /// - Parameter made: When the record was made that names it.
  package func holds(
    _ named: InstallationIdentity, made: Instant? = nil
  ) async throws(StoreError) -> Bool {
    try await holds(named.id) { Enrolling.holds(named, made: made, now: $0) }
  }

  /// Whether an installation is alive, or its owner has enrolled it again for the same app. Its appointments go over to the next one.
  /// A record that was read before that, or marked for its call, still names the earlier one.
  package func holds(
    _ named: InstallationIdentity, orIsOf owner: InstallationUser, appID: String?
  ) async throws(StoreError) -> Bool {
    try await holds(named.id) { Enrolling.holds(named, orIsOf: owner, appID: appID, now: $0) }
  }

  /// A cached record may be of an earlier generation than the one in question, so only the store can say no.
  private func holds(
    _ id: InstallationID, _ isAlive: (Installation?) -> Bool
  ) async throws(StoreError) -> Bool {
    if let known = known(id, now: clock.now), isAlive(known.installation) { return true }
    return isAlive(try await look(id)?.installation)
  }

  /// Whether an installation that has proved its secret still has it, by the store alone: for a response after a long wait.
  package func holdsNow(_ proved: Installation) async throws(StoreError) -> Bool {
    Enrolling.holds(proved, now: try await look(proved.client.id)?.installation)
  }

  /// Removes an id from the cache, because this instance has changed its record. A read that is still on its way is not cached.
  package func forget(_ id: InstallationID) {
    let now = clock.now
    state.withLock { $0.put(Entry(known: nil, readAt: now), of: id, at: now) }
  }

  /// Waits for a turn to look up an id for an address that is guessing: 200 a second in this instance, at most half of them for
  /// one address.
  ///
  /// - Parameter deadline: The end of the wait.
  /// - Returns: Whether there was a turn before the deadline.
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

  /// Notes the use of an installation now, if the saved time is older than its terms allow.
  package func used(_ installation: Installation, _ terms: InstallationTerms) {
    let now = Instant(clock.unixTime)
    guard now - installation.usedAt >= terms.useGrain else { return }
    state.withLock { state in
      let id = installation.client.id
      if state.uses.count < Self.capacity || state.uses[id] != nil { state.uses[id] = now }
    }
  }

  /// Saves the last uses in the store. Call it about each second. After a failure the next call tries again.
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

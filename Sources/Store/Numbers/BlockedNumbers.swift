// The blocked numbers as requests see them: the hashes of the store, in memory.

package import Gate
package import Platform
import Synchronization

/// The current blocks, asked for every callback and refreshed each second in the background.
///
/// A refresh reads only what has changed. Without any block, which is common, asking costs one atomic load. If the store cannot be read,
/// the last known blocks hold.
package final class BlockedNumbers: Sendable {
  private struct State {
    /// The end of each block, in nanoseconds since the epoch; the greatest number for none.
    var ends: [StoreID: Int64] = [:]
    /// The serial of the last change that was read.
    var serial: Int64 = 0
    var refreshedAt: MonotonicTime?
  }

  /// The key of the numbers' hashes.
  package let key: NumberKey
  private let store: any BlockedNumberStore
  private let clock: any TimeSource
  private let state = Mutex(State())
  private let hasAny = Atomic<Bool>(false)
  private let refreshing = OneAtATime()

  /// How many changes one question to the store returns at most.
  private static let portion = 10_000
  /// After this time without a refresh, changes may be missing that the store has forgotten: everything is read again.
  private static let longestGap = Duration.seconds(BlockedNumber.lingering / 2)

  package init(store: any BlockedNumberStore, key: NumberKey, clock: any TimeSource) {
    self.store = store
    self.key = key
    self.clock = clock
  }

  private var now: Instant { Instant(clock.unixTime) }

  /// Whether a number is blocked now.
  @inline(__always) package func contain(_ number: E164?) -> Bool {
    guard hasAny.load(ordering: .relaxed), let number else { return false }
    return contain(key.id(of: number))
  }

  private func contain(_ id: StoreID) -> Bool {
    let now = now.nanosecondsSinceEpoch
    return state.withLock { $0.ends[id].map { $0 > now } ?? false }
  }

  /// How many numbers are blocked. Reads all of them.
  package var count: Int {
    let now = now.nanosecondsSinceEpoch
    return state.withLock { $0.ends.values.count { $0 > now } }
  }

  /// Blocks a number, or replaces its block. This instance refuses it at once, others within two seconds.
  ///
  /// - Returns: Whether it is blocked. If not, as many others are as a store may have.
  package func block(
    _ number: E164, reason: String?, until: Instant?, by: Operator.Identity
  ) async throws(StoreError) -> Bool {
    let isBlocked = try await store.block(
      BlockedNumber(
        id: key.id(of: number), mask: number.masked, reason: reason, since: now, until: until, by: by))
    await refreshAgain()
    return isBlocked
  }

  /// Ends the block of a number, if it has one.
  package func unblock(_ number: E164) async throws(StoreError) {
    try await store.unblock(key.id(of: number), at: now)
    await refreshAgain()
  }

  /// A failure is left to the refresh of the next second: the change is saved.
  private func refreshAgain() async {
    do throws(StoreError) { try await refresh() } catch {}
  }

  /// Reads the changes since the last refresh. If the store cannot be read, the known blocks stay.
  package func refresh() async throws(StoreError) {
    try await refreshing.run(refreshing.announce()) { () throws(StoreError) in
      let started = clock.now
      let known = state.withLock { state in
        state.refreshedAt.map { started.age(since: $0) <= Self.longestGap } == true ? state.serial : nil
      }
      var found: [BlockChange] = []
      var page: [BlockChange]
      repeat {
        page = try await store.blockChanges(after: found.last?.serial ?? known ?? 0, most: Self.portion)
        found += page
      } while page.count == Self.portion
      let now = now.nanosecondsSinceEpoch
      state.withLock { state in
        if known == nil { state.ends = [:] }
        for change in found {
          let end = change.until?.nanosecondsSinceEpoch ?? .max
          state.ends[change.id] = end > now ? end : nil
        }
        state.serial = found.last?.serial ?? known ?? 0
        state.refreshedAt = started
        hasAny.store(!state.ends.isEmpty, ordering: .relaxed)
      }
    }
  }
}

// The hashes of blocked phone numbers in memory, with which every request for a callback is checked.

package import Gate
package import Platform
import Synchronization

/// The current blocks. Every callback is checked against them, and a job refreshes them each second.
///
/// A refresh reads only changes. Usually nothing is blocked, and a check costs one atomic load. While the
/// store cannot be read, the last known blocks apply.
package final class BlockedNumbers: Sendable {
  private struct State {
    /// The end of each block, in nanoseconds since the epoch. The greatest number means that the block has no
    /// end.
    var ends: [StoreID: Int64] = [:]
    /// The serial number of the last change that was read.
    var serial: Int64 = 0
    var refreshedAt: MonotonicTime?
  }

  /// The key for hashes of phone numbers.
  package let key: NumberKey
  private let store: any BlockedNumberStore
  private let clock: any TimeSource
  private let state = Mutex(State())
  private let hasAny = Atomic<Bool>(false)
  private let refreshing = OneAtATime()

  /// The maximum number of changes that one query returns.
  private static let portion = 10_000
  /// The longest time between two refreshes that reads only changes. After a longer gap, the store may have
  /// deleted some, so the whole list is read again.
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

  /// The number of blocked numbers. Counting goes through the whole list.
  package var count: Int {
    let now = now.nanosecondsSinceEpoch
    return state.withLock { $0.ends.values.count { $0 > now } }
  }

  /// Blocks a number, or replaces its block. This instance refuses the number as soon as it has refreshed,
  /// which this function tries at once. Other instances refuse it within two seconds.
  ///
  /// - Returns: False if `BlockedNumber.most` other numbers are blocked.
  package func block(
    _ number: E164, reason: String?, until: Instant?, by: Operator.Identity
  ) async throws(StoreError) -> Bool {
    let isBlocked = try await store.block(
      BlockedNumber(
        id: key.id(of: number), mask: number.masked, reason: reason, since: now, until: until, by: by))
    await refreshAgain()
    return isBlocked
  }

  /// Ends the block of a number, if there is one.
  package func unblock(_ number: E164) async throws(StoreError) {
    try await store.unblock(key.id(of: number), at: now)
    await refreshAgain()
  }

  /// Refreshes after a change that is saved. If this fails, the next refresh reads the change.
  private func refreshAgain() async {
    do throws(StoreError) { try await refresh() } catch {}
  }

  /// Reads the changes since the last refresh. While the store cannot be read, the known blocks apply.
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

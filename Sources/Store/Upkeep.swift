// The regular background work on a store: recovery, kill switch refresh, health checks and cleanup.

package import Gate
package import Platform

/// Recovers callbacks of ended processes, refreshes the kill switch, writes every three seconds to test the
/// store, and purges. The store's health shows its failures. With a wrong clock it neither recovers nor purges.
public struct Upkeep: Sendable {
  private let store: any Store
  private let board: StopBoard
  private let blocked: BlockedNumbers?
  private let clock: any TimeSource
  private let inHand: @Sendable (Instant) -> Set<CallbackID>
  private let recovered: @Sendable (RecoveredRecords) -> Void
  private let ended: @Sendable ([Stop]) -> Void
  private let lapsed: @Sendable ([Stop]) -> Void
  private let unused: @Sendable (Instant) -> [String: Instant]

  /// Upkeep of a store and its caches.
  ///
  /// - Parameters:
  ///   - inHand: Returns the callbacks that are overdue at a time and still this process's to settle.
  ///   - recovered: Gets the number of records that became `unknown` because no process settles them.
  ///   - ended: Gets the stops that have ended.
  ///   - lapsed: Gets the stops that the store could not save, and that end because it works again.
  ///   - unused: Returns the latest last use of the installations to remove at a time; nil to remove none.
  package init(
    store: any Store, board: StopBoard, blocked: BlockedNumbers? = nil, clock: any TimeSource,
    inHand: @escaping @Sendable (Instant) -> Set<CallbackID> = { _ in [] },
    recovered: @escaping @Sendable (RecoveredRecords) -> Void = { _ in },
    ended: @escaping @Sendable ([Stop]) -> Void = { _ in },
    lapsed: @escaping @Sendable ([Stop]) -> Void = { _ in },
    unused: @escaping @Sendable (Instant) -> [String: Instant] = { _ in [:] }
  ) {
    self.unused = unused
    self.inHand = inHand
    self.ended = ended
    self.lapsed = lapsed
    self.recovered = recovered
    self.store = store
    self.board = board
    self.blocked = blocked
    self.clock = clock
  }

  /// Works until its task is cancelled. It refreshes the kill switch each second, beside it the blocked numbers and
  /// callbacks each second, and beside those it purges every minute. A stop and the sign of life must
  /// not wait for slow work after a busy day.
  public func run() async {
    async let stops: Void = everySecond { _ in
      let over = board.removeEnded()
      if !over.isEmpty { ended(over) }
      await refresh()
    }
    async let numbers: Void = refreshNumbers()
    async let rest: Void = withDiscardingTaskGroup { group in
      await everySecond { turn in
        if turn % 60 == 30 { group.addTask { await purge() } }
        await tidy(turn: turn)
      }
    }
    _ = await (stops, numbers, rest)
  }

  private func refreshNumbers() async {
    guard let blocked else { return }
    // After a failure the known blocks stay.
    await everySecond { _ in do throws(StoreError) { try await blocked.refresh() } catch {} }
  }

  private func everySecond(_ body: (Int) async -> Void) async {
    var turn = 0
    while !Task.isCancelled {
      await body(turn)
      turn += 1
      do { try await clock.sleep(until: clock.now + .seconds(1)) } catch { return }
    }
  }

  private var now: Instant { Instant(clock.unixTime) }

  private func refresh() async {
    // The board keeps its old stops.
    do throws(StoreError) {
      try await board.refresh(isStoreBack: { store.health.failure == nil }, onEnd: ended, onLapse: lapsed)
    } catch {}
  }

  private func tidy(turn: Int) async {
    // The next second tries again. A ping is a sign of life, too.
    if store.health.isClockRight {
      do throws(StoreError) {
        let now = now
        let records = try await store.recoverCallbacks(at: now, besides: inHand(now))
        if !records.isEmpty { recovered(records) }
      } catch {}
    }
    // The store's health shows a failure. A clock that has jumped is measured at once.
    if turn % 3 == 0 || store.health.hasJumped { do throws(StoreError) { try await store.ping() } catch {} }
  }

  private func purge() async {
    // A wrong clock would delete what still holds. The next minute tries again.
    guard store.health.isClockRight else { return }
    do throws(StoreError) { try await store.purge(at: now) } catch {}
    do throws(StoreError) { try await store.purgeInstallations(at: now, unusedSince: unused(now)) } catch {}
  }
}

// The regular background work on a store: recovery, kill switch refresh, health checks and cleanup.

package import Gate
package import Platform

/// Recovers callbacks of ended processes, refreshes the kill switch and the blocked numbers, tests the store
/// with a write every three seconds, and purges. `StoreHealth` shows its failures. While this machine's clock
/// is wrong, or was not compared with the store's yet, it neither recovers nor purges.
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

  /// Creates the background work for a store and its caches.
  ///
  /// - Parameters:
  ///   - inHand: Returns the callbacks that are overdue at a time and that this process will still settle.
  ///   - recovered: Gets the number of records that became `unknown` because no process settles them.
  ///   - ended: Gets the stops that have ended.
  ///   - lapsed: Gets the stops that the store could not save and that end because the store works again.
  ///   - unused: Returns, by app id, the time since which an installation must have been used. Others are
  ///     deleted. Apps that are not listed keep all their installations.
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

  /// Runs three loops until its task is canceled. Each loop runs on its own, and each purge in another task,
  /// so that slow work after a busy day does not delay stops and heartbeats:
  ///
  /// - The kill switch is refreshed every second.
  /// - The blocked numbers are refreshed every second.
  /// - Callbacks are recovered every second, the store is tested every three seconds, and a purge starts
  ///   every minute.
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
    // After a failure, the known blocks still apply.
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
    // If this fails, the board's stops stay as they are.
    do throws(StoreError) {
      try await board.refresh(isStoreBack: { store.health.failure == nil }, onEnd: ended, onLapse: lapsed)
    } catch {}
  }

  private func tidy(turn: Int) async {
    // If this fails, it is tried again after a second. The ping below is a heartbeat, too.
    if store.health.isClockRight {
      do throws(StoreError) {
        let now = now
        let records = try await store.recoverCallbacks(at: now, besides: inHand(now))
        if !records.isEmpty { recovered(records) }
      } catch {}
    }
    // `health` shows a failure. After a jump of the clock, a ping compares the clocks at once.
    if turn % 3 == 0 || store.health.hasJumped { do throws(StoreError) { try await store.ping() } catch {} }
  }

  private func purge() async {
    // With a wrong clock, a purge would delete rows that are still valid. The next purge is a minute later.
    guard store.health.isClockRight else { return }
    do throws(StoreError) { try await store.purge(at: now) } catch {}
    do throws(StoreError) { try await store.purgeInstallations(at: now, unusedSince: unused(now)) } catch {}
  }
}

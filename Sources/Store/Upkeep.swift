// What has to be done for a store beside requests.

internal import Gate
public import Platform

/// Recovers callbacks whose process is gone, keeps the kill switch fresh, gives unused leases back and forgets what is
/// over. Failures are nobody's to catch here: the board and the next request show them.
public struct Upkeep: Sendable {
  private let store: any Store
  private let ledger: AllowanceLedger
  private let board: StopBoard
  private let clock: any TimeSource

  /// Upkeep of a store and what stands before it.
  public init(store: any Store, ledger: AllowanceLedger, board: StopBoard, clock: any TimeSource) {
    self.store = store
    self.ledger = ledger
    self.board = board
    self.clock = clock
  }

  /// Works until its task is cancelled: callbacks and the kill switch each second, leases every two, forgetting every
  /// minute. That may take long after a busy day, so it is done beside the rest, by which others know that we live.
  public func run() async {
    await withDiscardingTaskGroup { group in
      var turn = 0
      while !Task.isCancelled {
        if turn % 60 == 30 { group.addTask { await purge() } }
        await once(turn: turn)
        turn += 1
        do { try await clock.sleep(until: clock.now + .seconds(1)) } catch { return }
      }
    }
  }

  private var now: Instant {
    let time = clock.unixTime
    return Instant(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// One turn.
  private func once(turn: Int) async {
    // What is not recovered now is recovered a second later.
    do throws(StoreError) { try await store.recoverCallbacks(at: now) } catch {}
    // The board keeps the failure and what it showed.
    do throws(StoreError) { try await board.refresh() } catch {}
    if turn % 2 == 1 { await ledger.sweep(at: now) }
  }

  private func purge() async {
    // What is not forgotten now is forgotten a minute later.
    do throws(StoreError) { try await store.purge(at: now) } catch {}
  }
}

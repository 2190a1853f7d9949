// What has to be done for a store beside requests.

internal import Gate
public import Platform

/// Keeps the kill switch fresh, gives unused leases back and forgets what is over. Failures are nobody's to catch
/// here: the board and the next request show them.
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

  /// Works until its task is cancelled: the kill switch each second, leases every two, purging every minute.
  public func run() async {
    var turn = 0
    while !Task.isCancelled {
      await once(turn: turn)
      turn += 1
      do { try await clock.sleep(until: clock.now + .seconds(1)) } catch { return }
    }
  }

  /// One turn.
  func once(turn: Int) async {
    let time = clock.unixTime
    let now = Instant(seconds: time.seconds, nanoseconds: time.nanoseconds)
    // The board keeps the failure and what it showed.
    do throws(StoreError) { try await board.refresh() } catch {}
    if turn % 2 == 1 { await ledger.sweep(at: now) }
    if turn % 60 == 30 {
      // What is not forgotten now is forgotten a minute later.
      do throws(StoreError) { _ = try await store.purge(at: now) } catch {}
    }
  }
}

import Platform
import Synchronization

/// A clock that stands until a test moves it.
final class ManualClock: TimeSource {
  private struct State {
    var elapsed: Int64 = 0
    var sleepers: [(until: MonotonicTime, wake: CheckedContinuation<Void, Never>)] = []
    var watchers: [CheckedContinuation<Bool, Never>] = []
  }

  private let start: UnixTime
  private let state = Mutex(State())

  init(_ start: UnixTime = UnixTime(seconds: 1_800_000_000)) { self.start = start }

  var now: MonotonicTime { MonotonicTime(nanoseconds: state.withLock { $0.elapsed }) }

  var unixTime: UnixTime {
    let elapsed = state.withLock { $0.elapsed }
    return UnixTime(
      seconds: start.seconds + elapsed / 1_000_000_000, nanoseconds: Int32(elapsed % 1_000_000_000))
  }

  func sleep(until: MonotonicTime) async throws {
    await withCheckedContinuation { continuation in
      let (wake, watchers) = state.withLock { state in
        let watchers = state.watchers
        state.watchers = []
        if state.elapsed >= until.nanoseconds { return (true, watchers) }
        state.sleepers.append((until, continuation))
        return (false, watchers)
      }
      if wake { continuation.resume() }
      for watcher in watchers { watcher.resume(returning: false) }
    }
  }

  /// How many sleep.
  var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Returns once so many sleep.
  func untilSleepers(_ count: Int) async {
    while true {
      let enough = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
        let enough = state.withLock { state in
          if state.sleepers.count < count { state.watchers.append(continuation) }
          return state.sleepers.count >= count
        }
        if enough { continuation.resume(returning: true) }
      }
      if enough { return }
    }
  }

  /// Moves the clock and wakes who waited for it.
  func advance(milliseconds: Int64) {
    let due = state.withLock { state in
      state.elapsed += milliseconds * 1_000_000
      let due = state.sleepers.filter { $0.until.nanoseconds <= state.elapsed }
      state.sleepers.removeAll { $0.until.nanoseconds <= state.elapsed }
      return due
    }
    for sleeper in due { sleeper.wake.resume() }
  }
}

import Platform
import Synchronization

/// Clocks that move only when a test says so.
final class ManualTime: TimeSource {
  private struct Sleeper {
    let due: MonotonicTime
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var unix = UnixTime(seconds: 1_800_000_000)
    var sleepers: [UInt64: Sleeper] = [:]
    var last: UInt64 = 0
  }

  private let state = Mutex(State())

  var now: MonotonicTime { state.withLock { $0.now } }
  var unixTime: UnixTime { state.withLock { $0.unix } }
  /// When those who sleep want to wake.
  var due: [MonotonicTime] { state.withLock { state in state.sleepers.values.map(\.due).sorted() } }

  /// Moves both clocks, and wakes whoever is due.
  func advance(by span: Duration) {
    let woken = state.withLock { state in
      state.now = state.now + span
      state.unix.seconds += span.components.seconds
      let due = state.sleepers.filter { $0.value.due <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume(returning: true) }
  }

  func advance(to point: MonotonicTime) { advance(by: point - now) }

  /// Steps the wall clock alone.
  func stepWallClock(by seconds: Int64) { state.withLock { $0.unix.seconds += seconds } }

  func sleep(until due: MonotonicTime) async throws {
    let id = state.withLock { state in
      state.last += 1
      return state.last
    }
    let slept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let done: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          if due <= state.now { return true }
          state.sleepers[id] = Sleeper(due: due, continuation: continuation)
          return nil
        }
        if let done { continuation.resume(returning: done) }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(returning: false)
    }
    if !slept { throw CancellationError() }
  }
}

/// A test waited for something that did not come about.
struct NeverHappened: Error {}

/// Lets other tasks run until something holds; how long that takes in seconds does not matter.
func until(_ condition: @Sendable () -> Bool) async throws {
  for _ in 0..<2_000_000 {
    if condition() { return }
    await Task.yield()
  }
  throw NeverHappened()
}

/// Lets other tasks run for long enough that what could happen has happened.
func settle() async {
  for _ in 0..<200 { await Task.yield() }
}

// A clock for tests that moves only when a test moves it.

public import Platform
import Synchronization

/// A monotonic clock and a wall clock that move only when a test moves them. Moving them wakes the sleepers
/// whose time has come.
public final class ManualTime: TimeSource {
  private struct Sleeper {
    let due: MonotonicTime
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var elapsed = Duration.zero
    /// How far the wall clock was stepped without the monotonic clock, in seconds.
    var steps: Int64 = 0
    var sleepers: [UInt64: Sleeper] = [:]
    var last: UInt64 = 0
  }

  private static let origin = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let start: UnixTime
  private let state = Mutex(State())

  /// - Parameter start: the wall clock's first time, a whole second.
  public init(_ start: UnixTime = UnixTime(seconds: 1_800_000_000)) { self.start = start }

  public var now: MonotonicTime {
    let (elapsed, steps) = state.withLock { ($0.elapsed, $0.steps) }
    var now = Self.origin + elapsed
    now.wallLead = steps * 1_000_000_000
    return now
  }

  public var unixTime: UnixTime {
    let (elapsed, steps) = state.withLock { ($0.elapsed.components, $0.steps) }
    return UnixTime(
      seconds: start.seconds + steps + elapsed.seconds,
      nanoseconds: Int32(elapsed.attoseconds / 1_000_000_000))
  }

  /// Wake-up times of the sleepers, earliest first.
  public var due: [MonotonicTime] { state.withLock { state in state.sleepers.values.map(\.due).sorted() } }

  /// Moves both clocks, and wakes every sleeper that is due.
  public func advance(by span: Duration) {
    let woken = state.withLock { state in
      state.elapsed += span
      let now = Self.origin + state.elapsed
      let due = state.sleepers.filter { $0.value.due <= now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume(returning: true) }
  }

  public func advance(to point: MonotonicTime) { advance(by: point - now) }

  /// Steps the wall clock without the monotonic clock, and wakes nobody.
  public func stepWallClock(by seconds: Int64) { state.withLock { $0.steps += seconds } }

  public func sleep(until due: MonotonicTime) async throws {
    let id = state.withLock { state in
      state.last += 1
      return state.last
    }
    let slept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let done: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          if due <= Self.origin + state.elapsed { return true }
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

  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Returns once at least `count` tasks sleep.
  public func untilSleepers(_ count: Int) async throws { try await eventually { sleeperCount >= count } }
}

// Reads this machine's clocks and sleeps by them.

import Glibc

/// This system's clocks: CLOCK_BOOTTIME, which also counts suspended time, and CLOCK_REALTIME.
public struct SystemClock: TimeSource {
  /// Makes the clock.
  public init() {}

  /// Now, in nanoseconds since the system started (clock_gettime(2), answered without a system call).
  public var now: MonotonicTime {
    var time = timespec()
    _ = clock_gettime(CLOCK_BOOTTIME, &time)
    return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// Now on the wall clock.
  public var unixTime: UnixTime {
    var time = timespec()
    _ = clock_gettime(CLOCK_REALTIME, &time)
    return UnixTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }

  /// Suspends the task until a point; never returns earlier.
  public func sleep(until point: MonotonicTime) async throws {
    while true {
      let left = point - now
      guard left > .zero else {
        try Task.checkCancellation()
        return
      }
      try await Task.sleep(for: left)
    }
  }
}

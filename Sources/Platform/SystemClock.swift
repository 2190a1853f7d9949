// Reads this machine's clocks and sleeps by them.

import Glibc

/// This system's clocks: CLOCK_BOOTTIME, which also counts suspended time, and CLOCK_REALTIME.
public struct SystemClock: TimeSource {
  public init() {}

  /// Now, in nanoseconds since the system started (clock_gettime(2), answered without a system call).
  public var now: MonotonicTime {
    let time = Self.nanoseconds(CLOCK_BOOTTIME)
    return MonotonicTime(
      nanoseconds: time, wallLead: Self.nanoseconds(CLOCK_REALTIME) - time - Self.firstDifference)
  }

  /// The difference of the clocks when this process first read them, in nanoseconds.
  private static let firstDifference = nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_BOOTTIME)

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    _ = clock_gettime(clock, &time)
    // Any number: the kernel sets no clock after the year 2262.
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
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

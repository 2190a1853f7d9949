// Tests of the system's clocks and of sleeping by them.

import Platform
import Testing

@Test func `the clock goes forward, and a sleep ends not before its time`() async throws {
  let clock = SystemClock()
  let start = clock.now
  try await clock.sleep(until: start + .milliseconds(5))
  #expect(clock.now >= start + .milliseconds(5))
  try await clock.sleep(until: start)
  // 2026-01-01: a system clock before that cannot check anything.
  #expect(clock.unixTime.seconds > 1_767_225_600)
}

@Test func `a cancelled sleep throws, also when nothing is left to sleep`() async throws {
  let clock = SystemClock()
  for span in [Duration.seconds(3600), .zero] {
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await clock.sleep(until: clock.now + span)
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}

@Test func `times saturate instead of overflowing`() {
  #expect(MonotonicTime(nanoseconds: 5) + .seconds(Int64.max) == MonotonicTime(nanoseconds: .max))
  #expect(MonotonicTime(nanoseconds: 7) - MonotonicTime(nanoseconds: 5) == .nanoseconds(2))
  #expect(Duration.milliseconds(1500).nanosecondsClamped == 1_500_000_000)
  #expect(Duration.seconds(Int64.min).nanosecondsClamped == .min)
  #expect(UnixTime(seconds: 1, nanoseconds: 2) < UnixTime(seconds: 1, nanoseconds: 3))
}

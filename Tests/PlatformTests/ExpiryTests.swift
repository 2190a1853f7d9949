// Tests of expiry by two clocks.

import Platform
import TestSupport
import Testing

@Suite struct ExpiryTests {
  private let clock = ManualTime()

  @Test func `something ends by the time since boot alone`() {
    let end = Expiry(clock.now + .seconds(600))
    clock.advance(by: .seconds(600) - .nanoseconds(1))
    #expect(clock.now < end && clock.now <= end && end - clock.now == .nanoseconds(1))
    clock.advance(by: .nanoseconds(1))
    #expect(!(clock.now < end) && clock.now >= end && clock.now <= end && end - clock.now == .zero)
    clock.advance(by: .nanoseconds(1))
    #expect(!(clock.now <= end) && end - clock.now == .nanoseconds(-1))
  }

  @Test func `something ends by the wall clock, if only that one went on while the machine was suspended`() {
    let end = Expiry(clock.now + .seconds(600))
    clock.stepWallClock(by: 599)
    #expect(clock.now < end && end - clock.now == .seconds(1))
    clock.stepWallClock(by: 1)
    #expect(clock.now >= end && clock.now <= end)
    clock.stepWallClock(by: 1)
    #expect(!(clock.now <= end) && end - clock.now == .seconds(-1))
  }

  @Test func `a wall clock that is set back makes nothing live longer`() {
    let end = Expiry(clock.now + .seconds(600))
    clock.stepWallClock(by: -86_400)
    clock.advance(by: .seconds(599))
    #expect(clock.now < end && end - clock.now == .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(clock.now >= end)
  }

  @Test func `what begins after a step of the wall clock lives as long as ever`() {
    for step: Int64 in [86_400, -86_400] {
      clock.stepWallClock(by: step)
      let end = Expiry(clock.now + .seconds(600))
      #expect(end - clock.now == .seconds(600))
      clock.advance(by: .seconds(599))
      #expect(clock.now < end)
    }
  }

  @Test func `an age is that of the clock that says more`() {
    let start = clock.now
    clock.advance(by: .seconds(10))
    #expect(clock.now.age(since: start) == .seconds(10))
    clock.stepWallClock(by: -5)
    #expect(clock.now.age(since: start) == .seconds(10))
    clock.stepWallClock(by: 3605)
    #expect(clock.now.age(since: start) == .seconds(3610))
  }

  @Test func `a deadline does not follow the wall clock`() {
    let deadline = clock.now + .seconds(5)
    clock.stepWallClock(by: 3600)
    #expect(clock.now < deadline && deadline - clock.now == .seconds(5))
    #expect(MonotonicTime(nanoseconds: 1, wallLead: 2) == MonotonicTime(nanoseconds: 1, wallLead: 3))
  }

  @Test func `the later of two ends counts, and the ends of time do not overflow`() {
    let now = clock.now
    let (early, late) = (Expiry(now + .seconds(1)), Expiry(now + .seconds(2)))
    #expect(early.extended(to: late, at: now) == late && late.extended(to: early, at: now) == late)
    #expect(now >= Expiry.past && now < Expiry.never)
    #expect(Expiry.past - now < .zero && Expiry.never - now > .seconds(1_000_000_000))
    #expect(Expiry.past.extended(to: early, at: now) == early)
    #expect(now.age(since: MonotonicTime(nanoseconds: .min)) > .zero)
  }

  @Test func `a pause ends by the wall clock too`() {
    var period = RestPeriod()
    period.begin(at: clock.now, until: clock.now + .seconds(60))
    clock.stepWallClock(by: 60)
    #expect(period.remaining(at: clock.now) == nil)
  }

  @Test func `the system's clocks agree with each other while nobody sets them`() {
    let clock = SystemClock()
    let (first, second) = (clock.now, clock.now)
    #expect(abs((second.age(since: first) - (second - first)).nanosecondsClamped) < 1_000_000_000)
  }
}

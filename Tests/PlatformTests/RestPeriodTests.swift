// Tests of the period in which nothing is sent to a provider.

import Platform
import Testing

@Suite struct RestPeriodTests {
  private func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

  @Test func `only a success of a request begun after the failure ends it`() {
    var period = RestPeriod()
    #expect(period.until == nil && !period.covers(time(0)))
    period.begin(at: time(10), until: time(60))
    #expect(period.covers(time(9)) && !period.covers(time(10)))
    let isEndedEarly = period.end(startedAt: time(9))
    #expect(!isEndedEarly)
    #expect(period.remaining(at: time(20)) == .seconds(40))
    let isEnded = period.end(startedAt: time(10))
    #expect(isEnded)
    #expect(period.until == nil)
  }

  @Test func `it ends at its end, which only moves later`() {
    var period = RestPeriod()
    period.begin(at: time(0), until: time(10))
    period.extend(until: time(5))
    #expect(period.remaining(at: time(9)) == .seconds(1))
    #expect(period.remaining(at: time(10)) == nil)
    period.extend(until: time(20))
    #expect(period.remaining(at: time(10)) == .seconds(10))
    // The failure is still the one recorded at the start.
    #expect(!period.covers(time(0)))
  }
}

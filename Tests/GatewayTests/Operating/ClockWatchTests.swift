// Tests of when the log reports that the wall clock jumped ahead.

import Platform
import TestSupport
import Testing

@testable import Serving

@Suite struct ClockWatchTests {
  @Test func `each jump of the wall clock by more than 2 s is reported once`() {
    let clock = ManualTime()
    var watch = ClockWatch(clock.now)
    #expect(watch.jump(at: clock.now) == nil)
    clock.advance(by: .seconds(3600))
    #expect(watch.jump(at: clock.now) == nil, "both clocks went on")
    clock.stepWallClock(by: 2)
    #expect(watch.jump(at: clock.now) == nil)
    clock.stepWallClock(by: 1)
    #expect(watch.jump(at: clock.now) == .seconds(3), "in two steps")
    #expect(watch.jump(at: clock.now) == nil)
    clock.stepWallClock(by: -600)
    #expect(watch.jump(at: clock.now) == nil, "back")
    clock.stepWallClock(by: 600)
    #expect(watch.jump(at: clock.now) == .seconds(600))
    #expect(watch.jump(at: clock.now) == nil)
  }
}

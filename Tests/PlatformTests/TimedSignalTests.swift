// Tests of waiting for a signal for a limited time.

import Foundation
import Platform
import Testing

@Suite struct TimedSignalTests {
  @Test func `a wait ends after its time, and a signal that came before it ends it at once`() {
    let signal = TimedSignal()
    let clock = SystemClock()
    let start = clock.now
    #expect(!signal.wait(for: .milliseconds(20)))
    #expect(clock.now - start >= .milliseconds(20))
    signal.signal()
    signal.signal()
    #expect(signal.wait(for: .seconds(3600)))
    #expect(!signal.wait(for: .zero), "several signals are one")
  }

  @Test(.timeLimit(.minutes(1))) func `a signal of another thread ends a wait`() {
    let signal = TimedSignal()
    Thread.detachNewThread { signal.signal() }
    #expect(signal.wait(for: .seconds(3600)))
  }
}

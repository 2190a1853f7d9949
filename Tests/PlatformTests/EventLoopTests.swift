// Tests of the event loop: closures, descriptors and deadlines.

import Dispatch
import Glibc
import Platform
import Synchronization
import Testing

/// Records its loop's events. Its own state belongs to the loop; what the test reads goes through the mutex.
private final class Recorder: EventReceiver, @unchecked Sendable {
  let loop: EventLoop
  var token = EventToken.none
  var onReady: (Readiness) -> Void = { _ in }
  var onDeadline: () -> Void = {}
  let signal = DispatchSemaphore(value: 0)

  init(_ loop: EventLoop) { self.loop = loop }
  func ready(_ readiness: Readiness) { onReady(readiness) }
  func deadlinePassed() { onDeadline() }
  func loopEnded() { signal.signal() }

  /// Ends the registration, and breaks the reference cycles with closures that capture the recorder.
  func leave() {
    loop.unregister(token)
    onReady = { _ in }
    onDeadline = {}
  }
}

private func withLoop(_ body: (EventLoop) throws -> Void) throws {
  let loop = try EventLoop()
  defer {
    loop.stop()
    loop.join()
  }
  try body(loop)
}

private final class Pipe: Sendable {
  let reader: Descriptor
  let writer: Descriptor

  init() {
    var numbers: [Int32] = [0, 0]
    precondition(pipe(&numbers) == 0)
    reader = Descriptor(owning: numbers[0])
    writer = Descriptor(owning: numbers[1])
  }
}

@Test func `closures run on the loop in the order they were sent`() throws {
  try withLoop { loop in
    let order = Mutex<[Int]>([])
    for i in 0..<1000 {
      loop.execute {
        precondition(loop.isCurrent)
        order.withLock { $0.append(i) }
      }
    }
    #expect(loop.run { loop.isCurrent })
    #expect(order.withLock { $0 } == Array(0..<1000))
    #expect(!loop.isCurrent)
  }
}

@Test func `a closure sent from the loop runs in a later turn, without a wake-up`() throws {
  try withLoop { loop in
    let done = DispatchSemaphore(value: 0)
    let depth = Mutex(0)
    @Sendable func again() {
      let reached = depth.withLock { value in
        value += 1
        return value
      }
      if reached == 100 { done.signal() } else { loop.execute(again) }
    }
    loop.execute(again)
    #expect(done.wait(timeout: .now() + 10) == .success)
  }
}

@Test func `a receiver hears of its descriptor, once per change when asked so`() throws {
  try withLoop { loop in
    let pipe = Pipe()
    let recorder = Recorder(loop)
    let events = Mutex(0)
    let result = loop.run { () -> SystemError? in
      recorder.onReady = { readiness in
        if readiness.contains(.read) { events.withLock { $0 += 1 } }
        recorder.signal.signal()
      }
      do throws(SystemError) {
        recorder.token = try loop.register(pipe.reader, [.read, .onChange], recorder)
        return nil
      } catch { return error }
    }
    #expect(result == nil)
    #expect(write(pipe.writer.number, "a", 1) == 1)
    #expect(recorder.signal.wait(timeout: .now() + 10) == .success)
    // Nothing was read, but the loop turns without another event.
    for _ in 0..<10 { loop.run {} }
    #expect(events.withLock { $0 } == 1)
    #expect(write(pipe.writer.number, "b", 1) == 1)
    #expect(recorder.signal.wait(timeout: .now() + 10) == .success)
    #expect(events.withLock { $0 } == 2)
    loop.run { recorder.leave() }
  }
}

@Test func `a token is good for one registration only`() throws {
  try withLoop { loop in
    let outcome = loop.run {
      let first = Recorder(loop)
      let second = Recorder(loop)
      let old = loop.register(first)
      loop.unregister(old)
      let new = loop.register(second)
      // The slot is used again; the old token must not reach its new owner.
      loop.setDeadline(old, loop.now)
      loop.runAgain(old)
      loop.unregister(old)
      defer { loop.unregister(new) }
      return loop.receiver(old) == nil && loop.receiver(new) === second && old != new
        && loop.receiver(.none) == nil
    }
    #expect(outcome)
  }
}

@Test func `a deadline comes not before its time and removes itself`() throws {
  try withLoop { loop in
    let recorder = Recorder(loop)
    let clock = SystemClock()
    let calls = Mutex<[MonotonicTime]>([])
    let deadline = clock.now + .milliseconds(20)
    loop.run {
      recorder.onDeadline = {
        calls.withLock { $0.append(loop.now) }
        recorder.signal.signal()
      }
      recorder.token = loop.register(recorder)
      loop.setDeadline(recorder.token, deadline)
    }
    #expect(recorder.signal.wait(timeout: .now() + 10) == .success)
    for _ in 0..<10 { loop.run {} }
    #expect(calls.withLock { $0.count } == 1)
    #expect(calls.withLock { $0.allSatisfy { $0 >= deadline } })
    loop.run { recorder.leave() }
  }
}

@Test func `a receiver that asks to run again gets its turn`() throws {
  try withLoop { loop in
    let recorder = Recorder(loop)
    let turns = Mutex(0)
    loop.run {
      recorder.onReady = { readiness in
        precondition(readiness.isEmpty)
        let count = turns.withLock { value in
          value += 1
          return value
        }
        if count < 5 { loop.runAgain(recorder.token) } else { recorder.signal.signal() }
      }
      recorder.token = loop.register(recorder)
      loop.runAgain(recorder.token)
    }
    #expect(recorder.signal.wait(timeout: .now() + 10) == .success)
    for _ in 0..<10 { loop.run {} }
    #expect(turns.withLock { $0 } == 5)
    loop.run { recorder.leave() }
  }
}

@Test func `a stopped loop lets its receivers go`() throws {
  weak var weakRecorder: Recorder?
  let loop = try EventLoop()
  do {
    let recorder = Recorder(loop)
    weakRecorder = recorder
    loop.run { recorder.token = loop.register(recorder) }
  }
  #expect(weakRecorder != nil)
  let signal = weakRecorder?.signal
  loop.stop()
  loop.join()
  #expect(signal?.wait(timeout: .now()) == .success)
  #expect(weakRecorder == nil)
}

@Test func `work for a loop that has ended is let go`() throws {
  final class Guest: Sendable {}
  let loop = try EventLoop()
  loop.stop()
  loop.join()
  weak var weakGuest: Guest?
  do {
    let guest = Guest()
    weakGuest = guest
    loop.execute {
      withExtendedLifetime((guest, loop)) { _ = Issue.record("work ran on a loop that has ended") }
    }
  }
  #expect(weakGuest == nil)
}

@Test func `a group has the loops it was asked for`() throws {
  let group = try EventLoopGroup(count: 3)
  #expect(group.loops.map(\.index) == [0, 1, 2])
  group.shutdown()
  let usual = try EventLoopGroup()
  #expect(usual.loops.count == ProcessSetup.processorCount)
  usual.shutdown()
}

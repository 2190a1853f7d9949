// Tests of how the health of a store is judged from its operations.

import Dispatch
import Gate
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite struct StoreHealthTests {
  private let clock = ManualTime()
  private let events = Events()
  private let down = StoreError(.unavailable, "connect", "refused")
  private let full = StoreError(.full, "statement", "no space left")

  private func health() -> StoreHealth {
    let health = StoreHealth(clock: clock)
    health.observe { [events] in events.add($0) }
    return health
  }

  @Test func `failed writes are forgotten by a write, and not by a read or an update that wrote nothing`() {
    let health = health()
    health.failed(full, .updates, since: clock.now)
    clock.advance(by: .seconds(3))
    health.succeeded(.reads)
    health.succeeded(.updates)
    #expect(health.failure == full)
    health.failed(full, .writes, since: clock.now)
    clock.advance(by: .seconds(2))
    health.succeeded(.writes)
    #expect(health.failure == nil)
    #expect(events.all == [.unavailable(full), .available(after: .seconds(5))])
    #expect(health.errors == [.full: 2])
  }

  @Test func `a failed read is forgotten by any success`() {
    let health = health()
    health.failed(down, .reads, since: clock.now)
    #expect(health.failure == down)
    clock.advance(by: .seconds(1))
    health.succeeded(.updates)
    #expect(health.failure == nil)
    // A failed read among failed writes does not make a successful read enough.
    health.failed(full, .writes, since: clock.now)
    health.failed(down, .reads, since: clock.now + .nanoseconds(1))
    health.succeeded(.reads)
    #expect(health.failure == down)
    #expect(
      events.all == [
        .unavailable(down), .available(after: .seconds(1)), .unavailable(full), .unavailable(down),
      ])
  }

  @Test func `one operation that fails beside others that succeed is counted, and nothing else`() {
    let health = health()
    let begun = clock.now
    clock.advance(by: .seconds(2))
    health.succeeded(.writes)
    clock.advance(by: .seconds(1))
    health.failed(down, .updates, since: begun, count: 7)
    health.failed(StoreError(.rejected, "statement", "22021"), .updates, since: clock.now)
    #expect(health.failure == nil && health.hanging == nil)
    #expect(health.errors == [.unavailable: 7, .rejected: 1])
    #expect(events.all.isEmpty)
  }

  @Test func `only a failure after a long wait makes others fail at once`() {
    let health = health()
    health.failed(down, .reads, since: clock.now)
    #expect(health.hanging == nil)
    let begun = clock.now
    clock.advance(by: .milliseconds(1499))
    health.failed(down, .reads, since: begun)
    #expect(health.hanging == nil)
    clock.advance(by: .milliseconds(1))
    health.failed(down, .reads, since: begun)
    #expect(health.hanging == down)
    health.succeeded(.reads)
    #expect(health.hanging == nil)
  }

  @Test func `an answer from right before a store began to hang does not hide that`() {
    let health = health()
    let begun = clock.now
    clock.advance(by: .milliseconds(1))
    health.succeeded(.writes)
    clock.advance(by: .seconds(3))
    health.failed(down, .updates, since: begun)
    #expect(health.failure == down && health.hanging == down)
  }

  @Test func `clocks that differ are reported once, and again when they agree`() {
    let health = health()
    func stands(_ ahead: Duration) -> StoreHealth.ClockStanding {
      health.compared(clockAhead: ahead)
      return health.clockStanding
    }
    #expect(health.clockStanding == .agrees && health.clockAhead == nil)
    #expect(stands(.seconds(2)) == .agrees)
    #expect(stands(.milliseconds(-2001)) == .differs)
    #expect(stands(.seconds(3)) == .differs)
    #expect(stands(.seconds(10)) == .differs)
    #expect(stands(.milliseconds(10_001)) == .isWrong)
    #expect(stands(.seconds(-3600)) == .isWrong)
    #expect(stands(.seconds(1)) == .agrees)
    #expect(stands(.zero) == .agrees)
    #expect(
      events.all == [
        .clockDiffers(by: .milliseconds(-2001), isTooMuch: false),
        .clockDiffers(by: .milliseconds(10_001), isTooMuch: true), .clockAgrees,
      ])
  }

  @Test func `times are judged by a clock that was compared and differs by 10 s at most`() {
    let health = StoreHealth(clock: clock, hasClock: true)
    #expect(!health.isClockRight && health.clockStanding == .unknown)
    for (ahead, isRight) in [
      (Duration.zero, true), (.seconds(10), true), (.milliseconds(10_001), false), (.seconds(-10), true),
      (.milliseconds(-10_001), false),
    ] {
      health.compared(clockAhead: ahead)
      #expect(health.isClockRight == isRight, "\(ahead)")
    }
    // A store without a clock of its own has this machine's.
    #expect(StoreHealth(clock: clock).isClockRight)
  }

  @Test func `a clock that is set counts at once`() {
    let health = StoreHealth(clock: clock, hasClock: true)
    health.compared(clockAhead: .seconds(1))
    clock.advance(by: .seconds(100))
    #expect(health.clockAhead == .seconds(1) && health.isClockRight)
    clock.stepWallClock(by: 10)
    #expect(health.clockAhead == .seconds(11) && !health.isClockRight)
    clock.stepWallClock(by: -3600)
    #expect(health.clockAhead == .seconds(-3589) && health.clockStanding == .isWrong)
    health.compared(clockAhead: .zero)
    #expect(health.isClockRight)
  }

  @Test func `a new observer learns the current failures`() {
    let health = StoreHealth(clock: clock)
    health.failed(full, .writes, since: clock.now)
    health.compared(clockAhead: .seconds(5))
    health.found(unsafe: ["fsync = off"])
    health.observe { [events] in events.add($0) }
    health.found(unsafe: ["fsync = off"])
    #expect(
      events.all == [
        .unavailable(full), .clockDiffers(by: .seconds(5), isTooMuch: false),
        .unsafe(settings: ["fsync = off"]),
      ])
  }
}

@Suite(.timeLimit(.minutes(5))) struct SessionQueueTests {
  @Test func `while a store does not answer only probes ask it`() async throws {
    let clock = ManualTime()
    let health = StoreHealth(clock: clock)
    let hang = Hang()
    let sessions = SessionQueue(label: "test", count: 1, health: health, clock: clock) { hang.session() }
    async let first = kind {
      try await sessions.call(.reads) { session throws(StoreError) in try session.work() }
    }
    try await eventually { hang.isHeld }
    async let second = kind { _ = try await sessions.begin(.made(), at: .noon()) }
    clock.advance(by: .seconds(3))
    hang.end(fails: true)
    #expect(await first == .unavailable)
    // The second call waited behind the first and is not tried.
    #expect(await second == .unavailable)
    #expect(health.failure?.operation == "test")
    for _ in 0..<10 {
      #expect(
        await kind { try await sessions.call(.reads) { session throws(StoreError) in try session.work() } }
          == .unavailable)
      #expect(await kind { _ = try await sessions.begin(.made(), at: .noon()) } == .unavailable)
    }
    #expect(hang.count == 1)
    #expect(health.errors == [.unavailable: 22])
    async let probe = kind {
      try await sessions.call(.writes, isProbe: true) { session throws(StoreError) in try session.work() }
    }
    try await eventually { hang.isHeld }
    hang.end(fails: false)
    #expect(await probe == nil)
    #expect(health.failure == nil)
    #expect(await kind { _ = try await sessions.begin(.made(), at: .noon()) } == nil)
    await sessions.close()
  }

  @Test func `work that would wait for long is refused, and what waits already is done`() async throws {
    let clock = ManualTime()
    let hang = Hang()
    let sessions = SessionQueue(
      label: "test", count: 1, health: StoreHealth(clock: clock), clock: clock
    ) { hang.session() }
    async let first = kind {
      try await sessions.call(.reads) { session throws(StoreError) in try session.work() }
    }
    try await eventually { hang.isHeld }
    async let second = kind { _ = try await sessions.begin(.made(), at: .noon()) }
    try await eventually { sessions.waiting == 1 }
    clock.advance(by: .milliseconds(2499))
    async let third = kind { _ = try await sessions.begin(.made(), at: .noon()) }
    try await eventually { sessions.waiting == 2 }
    clock.advance(by: .milliseconds(1))
    #expect(await kind { _ = try await sessions.begin(.made(), at: .noon()) } == .unavailable)
    hang.end(fails: false)
    #expect(await [first, second, third] == [nil, nil, nil])
    await sessions.close()
  }
}

extension SessionQueueTests {
  @Test func `a session that fails works after those that do not`() async throws {
    let clock = ManualTime()
    let made = FailingSessions()
    let sessions = SessionQueue(label: "test", count: 3, health: StoreHealth(clock: clock), clock: clock) {
      made.session()
    }
    await sessions.inEach { _ in }
    #expect(made.count == 3)
    // A call and an update. The broken session is the one that is used next.
    let work: [@Sendable () async throws -> Void] = [
      { try await sessions.call(.reads) { session throws(StoreError) in try session.work() } },
      { _ = try await sessions.begin(.made(), at: .noon()) },
    ]
    for work in work {
      // The session that became idle last is used next.
      try await eventually { sessions.idle == 3 }
      made.setBroken(try await sessions.call(.reads) { session throws(StoreError) in session.number })
      for fails in [true] + Array(repeating: false, count: 20) {
        // A session returns its result before it is idle.
        try await eventually { sessions.idle == 3 }
        #expect(await kind { try await work() } == (fails ? .incompatible : nil))
      }
    }
    await sessions.close()
  }
}

/// Sessions of which one fails.
private final class FailingSessions: Sendable {
  private let state = Mutex((count: 0, broken: 0))

  var count: Int { state.withLock { $0.count } }

  func session() -> FailingSession {
    FailingSession(
      self,
      state.withLock { state in
        state.count += 1
        return state.count
      })
  }

  func setBroken(_ number: Int) { state.withLock { $0.broken = number } }

  func fails(_ number: Int) -> Bool { state.withLock { $0.broken == number } }
}

/// A session that works unless it is the broken one.
private final class FailingSession: StoreSession {
  let number: Int
  private let all: FailingSessions

  init(_ all: FailingSessions, _ number: Int) {
    self.all = all
    self.number = number
  }

  func work() throws(StoreError) {
    if all.fails(number) { throw StoreError(.incompatible, "test", "broken") }
  }

  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    try work()
    for job in jobs {
      if case .callback(.begin(_, _, let said)) = job.work { said(.begun) }
      job.finish(nil)
    }
  }

  func close() {}
}

/// The reported events, in order.
private final class Events: Sendable {
  private let events = Mutex<[StoreHealth.Event]>([])
  var all: [StoreHealth.Event] { events.withLock { $0 } }
  func add(_ event: StoreHealth.Event) { events.withLock { $0.append(event) } }
}

/// Holds a session's work until a test lets it go.
private final class Hang: Sendable {
  private struct State {
    var count = 0
    var isHeld = false
    var fails = false
  }

  private let state = Mutex(State())
  private let release = DispatchSemaphore(value: 0)

  var count: Int { state.withLock { $0.count } }
  var isHeld: Bool { state.withLock { $0.isHeld } }

  func session() -> HangingSession { HangingSession(self) }

  func end(fails: Bool) {
    state.withLock { state in
      state.fails = fails
      state.isHeld = false
    }
    release.signal()
  }

  /// Blocks, as a session does, though not for longer than a test may take.
  func wait() -> Bool {
    state.withLock { state in
      state.count += 1
      state.isHeld = true
    }
    _ = release.wait(timeout: .now() + 60)
    return state.withLock { $0.fails }
  }
}

/// A session whose calls hang; its updates do not.
private final class HangingSession: StoreSession {
  private let hang: Hang

  init(_ hang: Hang) { self.hang = hang }

  func work() throws(StoreError) {
    if hang.wait() { throw StoreError(.unavailable, "test", "no answer") }
  }

  func updateAll(_ jobs: [UpdateJob]) throws(StoreError) {
    for job in jobs {
      if case .callback(.begin(_, _, let said)) = job.work { said(.begun) }
      job.finish(nil)
    }
  }

  func close() {}
}

// Tests of when due appointments are handled: at their time, never twice at once, and not while the process
// ends.

import Gate
import Platform
import Store
import Synchronization
import TestSupport
import Testing

@testable import Appointments
@testable import Delivery
@testable import DeliverySupport

@Suite(.timeLimit(.minutes(2))) struct AppointmentKeeperTests {
  /// A keeper of a store in memory, and the appointments that it has handled.
  private final class Fixture: Sendable {
    struct Visit: Equatable {
      let id: CallbackID
      let after: Duration
    }

    let time = ManualTime()
    let start: MonotonicTime
    let store = DoubtfulStore()
    let inHand: CallbacksInHand
    let lateness = Mutex<Duration?>(.seconds(180))
    let isClockRight = Mutex(true)
    let visits = Mutex<[Visit]>([])
    /// The times at which the keeper queried the store.
    let looks = Mutex<[Duration]>([])
    let onVisit = Mutex<(@Sendable (DueAppointment) async -> AppointmentKeeper.Handling)?>(nil)

    init() {
      start = time.now
      inHand = CallbacksInHand(time: time)
      store.onLook { [self] in looks.withLock { $0.append(time.now - start) } }
    }

    func keeper() -> AppointmentKeeper {
      AppointmentKeeper(
        store: store, clock: time, inHand: inHand, isClockRight: { [self] in isClockRight.withLock { $0 } },
        lateness: { [self] in lateness.withLock { $0 } },
        handle: { [self] due in
          visits.withLock { $0.append(Visit(id: due.record.id, after: time.now - start)) }
          guard let body = onVisit.withLock({ $0 }) else {
            _ = try? await store.base.end(due.record.id, .cancelled, at: now)
            return .done
          }
          return await body(due)
        })
    }

    var now: Instant { Instant(time.unixTime) }

    /// Books an appointment for `seconds` after the start.
    @discardableResult
    func book(_ seconds: Int64, number: Int = 0) async throws -> CallbackID {
      let at = Instant(seconds: 1_800_000_000 + seconds)
      let intent = CallbackIntent(
        id: CallbackID(at: now), callerID: "app", subject: nil, appID: nil,
        contact: try E164("+1415555\(1000 + number)"),
        key: nil,
        terms: .init(dedupeWindow: .zero, keyRetention: .seconds(3600), retention: .seconds(3600)),
        deadline: at.advanced(by: .seconds(200)))
      let booking = Booking(
        intent: intent, at: at, slot: at.seconds, content: [1],
        limits: .init(perSlot: .max, perNumber: .max))
      #expect(try await store.base.book(booking, at: now) == .booked)
      return intent.id
    }

    /// Lets other tasks run until their requests to the store are done.
    func quiet() async {
      for _ in 0..<5 {
        await settle()
        _ = try? await store.base.takenPlaces(in: 0...0)
      }
      await settle()
    }

    /// Lets time pass until `end` after the start, from one wake-up to the next.
    func pass(until end: Duration) async throws {
      while time.now < start + end {
        try await time.untilSleepers(1)
        // A task that was just woken may handle something first.
        await quiet()
        guard let next = time.due.first else { continue }
        time.advance(to: min(next, start + end))
      }
      await quiet()
    }

    var handled: [Visit] { visits.withLock { $0 } }
    var lookTimes: [Duration] { looks.withLock { $0 } }
  }

  @Test func `an appointment is handled at its time`() async throws {
    let fixture = Fixture()
    // The keeper does not start on a whole second.
    fixture.time.advance(by: .milliseconds(437))
    let (third, first) = (try await fixture.book(12), try await fixture.book(3))
    let second = try await fixture.book(3)
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .seconds(14))
    keeper.stop()
    await work.value
    #expect(Set(fixture.handled.prefix(2).map(\.id)) == [first, second])
    #expect(fixture.handled.last?.id == third)
    #expect(fixture.handled.map(\.after) == [.seconds(3), .seconds(3), .seconds(12)])
    #expect(fixture.lookTimes.prefix(3) == [.milliseconds(437), .milliseconds(1437), .milliseconds(2437)])
  }

  @Test func `what is booked here and due soon is looked for at once`() async throws {
    let fixture = Fixture()
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .milliseconds(500))
    let id = try await fixture.book(0)
    keeper.wake(at: fixture.now)
    try await eventually { fixture.handled.map(\.id) == [id] }
    // A booking for later wakes nothing.
    keeper.wake(at: fixture.now.advanced(by: .seconds(5)))
    // A hundred bookings at once do not cause a hundred queries.
    for _ in 0..<100 { keeper.wake(at: fixture.now) }
    try await fixture.pass(until: .milliseconds(900))
    #expect(fixture.lookTimes == [.zero, .milliseconds(500), .milliseconds(520)])
    keeper.stop()
    await work.value
  }

  @Test func `with a wrong clock nothing is looked for, and what was found is left`() async throws {
    let fixture = Fixture()
    let (first, second) = (try await fixture.book(1), try await fixture.book(4))
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    // The first appointment is read ahead.
    try await fixture.pass(until: .milliseconds(500))
    fixture.isClockRight.withLock { $0 = false }
    keeper.wake(at: fixture.now)
    try await fixture.pass(until: .seconds(6))
    #expect(fixture.handled == [] && fixture.lookTimes == [.zero])
    fixture.isClockRight.withLock { $0 = true }
    try await fixture.pass(until: .milliseconds(7500))
    #expect(Set(fixture.handled.map(\.id)) == [first, second])
    keeper.stop()
    await work.value
  }

  @Test func `an appointment is not handled twice at the same time`() async throws {
    let fixture = Fixture()
    let (waiting, resume) = AsyncStream.makeStream(of: Void.self)
    fixture.onVisit.withLock {
      $0 = { _ in
        for await _ in waiting { break }
        return .done
      }
    }
    try await fixture.book(1)
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .seconds(5))
    #expect(fixture.handled.map(\.after) == [.seconds(1)])
    // The appointment is still scheduled, so it is handled again once the first attempt has ended.
    resume.yield()
    try await fixture.pass(until: .milliseconds(6500))
    #expect(fixture.handled.map(\.after) == [.seconds(1), .seconds(6)])
    resume.finish()
    keeper.stop()
    await work.value
  }

  @Test func `what was left aside comes again after half a minute`() async throws {
    let fixture = Fixture()
    fixture.onVisit.withLock { $0 = { _ in .leftAside(for: .seconds(30)) } }
    try await fixture.book(1)
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .seconds(40))
    #expect(fixture.handled.map(\.after) == [.seconds(1), .seconds(31)])
    keeper.stop()
    await work.value
  }

  @Test func `appointments that were left aside keep no other from its time`() async throws {
    let fixture = Fixture()
    let count = AppointmentKeeper.mostInHand + 1
    for number in 0..<count { try await fixture.book(1, number: number) }
    let last = try await fixture.book(4, number: count)
    fixture.onVisit.withLock { $0 = { _ in .leftAside(for: .seconds(30)) } }
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .seconds(6))
    #expect(fixture.handled.count == count + 1)
    #expect(fixture.handled.last == Fixture.Visit(id: last, after: .seconds(4)))
    keeper.stop()
    await work.value
  }

  @Test func `a keeper that was stopped begins nothing, and what has begun is waited for`() async throws {
    let fixture = Fixture()
    let (waiting, resume) = AsyncStream.makeStream(of: Void.self)
    fixture.onVisit.withLock {
      $0 = { _ in
        for await _ in waiting { break }
        return .done
      }
    }
    let first = try await fixture.book(1)
    try await fixture.book(2)
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .milliseconds(1500))
    keeper.stop()
    await work.value
    fixture.time.advance(by: .seconds(2))
    await settle()
    #expect(fixture.handled.map(\.id) == [first])
    #expect(fixture.inHand.count == 1)
    resume.finish()
    try await eventually { fixture.inHand.count == 0 }
  }

  @Test func `after a jump of the wall clock, appointments go by the new time`() async throws {
    let fixture = Fixture()
    let (soon, later) = (try await fixture.book(2), try await fixture.book(3600 + 1800))
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    // The first appointment is read ahead. The jump then moves it an hour away.
    try await fixture.pass(until: .milliseconds(1100))
    fixture.time.stepWallClock(by: -3600)
    try await fixture.pass(until: .seconds(10))
    #expect(fixture.handled == [])
    fixture.time.stepWallClock(by: 3600)
    try await fixture.pass(until: .seconds(12))
    #expect(fixture.handled.map(\.id) == [soon])
    fixture.time.stepWallClock(by: 7200)
    try await fixture.pass(until: .seconds(14))
    #expect(fixture.handled.map(\.id) == [soon, later])
    keeper.stop()
    await work.value
  }

  @Test func `a store that fails is asked less often, until it answers`() async throws {
    let fixture = Fixture()
    let id = try await fixture.book(1)
    fixture.store.set(looks: .refused)
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    // The keeper queries the store after 0, 1, 3, 8 and 13 s.
    try await fixture.pass(until: .milliseconds(12_900))
    #expect(fixture.lookTimes == [])
    fixture.store.set(looks: .fine)
    try await fixture.pass(until: .seconds(14))
    #expect(fixture.handled == [.init(id: id, after: .seconds(13))])
    keeper.stop()
    await work.value
  }

  @Test func `a crowd is handled without waiting for the next second, and never too many at once`()
    async throws
  {
    let fixture = Fixture()
    let count = 3000
    for number in 0..<count { try await fixture.book(1, number: number) }
    let load = Mutex((now: 0, most: 0))
    fixture.onVisit.withLock {
      $0 = { due in
        load.withLock { load in
          load.now += 1
          load.most = max(load.most, load.now)
        }
        for _ in 0..<5 { await Task.yield() }
        _ = try? await fixture.store.base.mark(due.record.id, for: due.at, deadline: due.at)
        load.withLock { $0.now -= 1 }
        return .done
      }
    }
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .seconds(1))
    while fixture.handled.count < count, fixture.time.now < fixture.start + .seconds(5) {
      try await fixture.pass(until: fixture.time.now - fixture.start + .milliseconds(20))
    }
    #expect(fixture.handled.count == count && Set(fixture.handled.map(\.id)).count == count)
    #expect(fixture.handled.someAndAll { $0.after < .seconds(2) })
    #expect(load.withLock { $0.most } <= AppointmentKeeper.mostInHand)
    keeper.stop()
    await work.value
  }

  @Test func `a crowd does not wait for the next second while others are being called`() async throws {
    let fixture = Fixture()
    let (waiting, resume) = AsyncStream.makeStream(of: Void.self)
    let calls = Task { for await _ in waiting {} }
    let called = Mutex<Set<CallbackID>>([])
    for _ in 0..<400 {
      let id = try await fixture.book(1)
      called.withLock { _ = $0.insert(id) }
    }
    fixture.onVisit.withLock {
      $0 = { due in
        _ = try? await fixture.store.base.mark(due.record.id, for: due.due, deadline: due.at)
        if called.withLock({ $0.contains(due.record.id) }) { await calls.value }
        return .done
      }
    }
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    try await fixture.pass(until: .seconds(2))
    // As many as one query reads beside those 400, and slightly fewer than the query can return.
    for _ in 0..<1420 { try await fixture.book(3) }
    try await fixture.pass(until: .milliseconds(3900))
    #expect(fixture.handled.count == 1820)
    resume.finish()
    keeper.stop()
    await work.value
  }

  @Test func `where no appointments are taken, only those that are late are handled`() async throws {
    let fixture = Fixture()
    fixture.lateness.withLock { $0 = nil }
    let id = try await fixture.book(1)
    let keeper = fixture.keeper()
    let work = Task { await keeper.run() }
    let counting = Task { await keeper.keepCounted() }
    for second in stride(from: Int64(100), through: 180, by: 80) {
      fixture.time.advance(to: fixture.start + .seconds(second))
      try await fixture.time.untilSleepers(2)
      await settle()
      #expect(fixture.handled == [])
    }
    #expect(keeper.counts == nil)
    try await fixture.pass(until: .seconds(182))
    #expect(fixture.handled.map(\.id) == [id])
    keeper.stop()
    counting.cancel()
    await work.value
    await counting.value
  }

  @Test func `appointments are counted every ten seconds`() async throws {
    let fixture = Fixture()
    let id = try await fixture.book(100)
    try await fixture.book(200)
    let keeper = fixture.keeper()
    let counting = Task { await keeper.keepCounted() }
    try await fixture.time.untilSleepers(1)
    #expect(keeper.counts == AppointmentCounts(scheduled: 2, pending: 0))
    #expect(
      try await fixture.store.base.mark(
        id, for: Instant(seconds: 1_800_000_100), deadline: Instant(seconds: 1_800_000_120)))
    fixture.time.advance(by: .seconds(10))
    try await fixture.time.untilSleepers(1)
    #expect(keeper.counts == AppointmentCounts(scheduled: 1, pending: 1))
    // An appointment is overdue five seconds after its time.
    for (seconds, overdue) in [(190, 0), (10, 1)] as [(Int, Int)] {
      fixture.time.advance(by: .seconds(seconds))
      try await fixture.time.untilSleepers(1)
      #expect(keeper.counts == AppointmentCounts(scheduled: 1, pending: 1, overdue: overdue))
    }
    fixture.lateness.withLock { $0 = nil }
    fixture.time.advance(by: .seconds(10))
    try await fixture.time.untilSleepers(1)
    #expect(keeper.counts == nil)
    counting.cancel()
    await counting.value
  }
}

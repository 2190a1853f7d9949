// Tests of how callback records are saved or withdrawn after the store failed.

import Gate
import Platform
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import DeliverySupport
@testable import Records

@Suite struct RetryingStoreTests {
  private struct Fixture {
    let doubtful = DoubtfulStore()
    let time = ManualTime()
    let inHand: CallbacksInHand
    let health: StoreHealth
    let store: RetryingStore
    var now: Instant { Instant(time.unixTime) }

    init() {
      inHand = CallbacksInHand(time: time)
      let log = Log(sink: LogSink(lanes: 1) { _ in true }, lane: 0, level: .info, format: .json, clock: time)
      let health = StoreHealth(clock: time, hasClock: true)
      health.compared(clockAhead: .zero)
      self.health = health
      store = RetryingStore(
        doubtful, inHand: inHand, clock: time, log: CallbackLog(log: log),
        isClockRight: { health.isClockRight })
    }

    func intent(_ number: String = "+14155550165", key: String? = nil) throws -> CallbackIntent {
      CallbackIntent(
        id: CallbackID(at: now), callerID: "app", subject: nil, appID: nil, contact: try E164(number),
        key: key.map { .init(text: $0, fingerprint: [1]) },
        terms: .init(dedupeWindow: .seconds(60), keyRetention: .seconds(3600), retention: .seconds(3600)),
        deadline: Instant(seconds: now.seconds + 30, nanoseconds: 0))
    }

    var accepted: CallbackSettlement {
      CallbackSettlement(
        .accepted, code: nil, upstreamStatus: 201, platformTID: nil,
        keepsKey: true, at: now)
    }

    func booking(_ number: String = "+14155550165", key: String? = nil) throws -> Booking {
      Booking(
        intent: try intent(number, key: key), at: now, slot: now.seconds, content: [1],
        limits: .init(perSlot: 9, perNumber: 9))
    }

    /// The error that `begin` throws.
    func failure(of intent: CallbackIntent) async throws -> StoreError {
      try #require(await #expect(throws: StoreError.self) { _ = try await store.begin(intent, at: now) })
    }
  }

  @Test(arguments: ["k", nil])
  func `what was begun in doubt is withdrawn until that is certain, and then its request begins afresh`(
    _ key: String?
  ) async throws {
    let fixture = Fixture()
    let first = try fixture.intent(key: key)
    fixture.doubtful.set(.committedInDoubt, withdraws: false)
    // The error does not wait for the withdrawal.
    #expect(try await fixture.failure(of: first).isInDoubt)
    try await eventually { fixture.doubtful.tries == 1 }
    #expect(fixture.inHand.count == 1)
    fixture.doubtful.set(.fine, withdraws: false)
    for number in 1...3 {
      // Meanwhile, nobody is told that the callback is in progress or that it is a duplicate: neither is
      // certain.
      let again = try fixture.intent(key: key)
      await #expect(throws: StoreError.self) { try await fixture.store.standing(of: again, at: fixture.now) }
      #expect(try await fixture.failure(of: again).kind == .unavailable)
      #expect(try await fixture.failure(of: again).isInDoubt == false)
      try await eventually { fixture.time.due.count == 1 }
      fixture.time.advance(by: .seconds(2))
      try await eventually { fixture.doubtful.tries == number + 1 }
    }
    // Other callbacks are not affected.
    #expect(try await fixture.store.begin(try fixture.intent("+14155550166"), at: fixture.now) == .begun)
    fixture.doubtful.set(.fine, withdraws: true)
    try await eventually { fixture.time.due.count == 1 }
    fixture.time.advance(by: .seconds(5))
    try await eventually { fixture.store.count == 0 && fixture.inHand.count == 0 }
    let again = try fixture.intent(key: key)
    let standing = try await fixture.store.standing(of: again, at: fixture.now)
    #expect(standing == CallbackStanding(key: .free, duplicate: nil))
    #expect(try await fixture.store.begin(again, at: fixture.now) == .begun)
    // A callback that has certainly begun is reported as usual.
    let more = try fixture.intent(key: key)
    let said = try await fixture.store.begin(more, at: fixture.now)
    #expect(said == (key == nil ? .duplicate(again.id) : .inProgress(again.id)))
  }

  @Test func `what certainly did not begin is not withdrawn`() async throws {
    let fixture = Fixture()
    fixture.doubtful.set(.refused, withdraws: true)
    #expect(try await fixture.failure(of: try fixture.intent()).isInDoubt == false)
    await settle()
    #expect(fixture.doubtful.tries == 0 && fixture.store.count == 0)
    // The commit was in doubt and did not happen: one withdrawal is enough, because the store says when it is
    // certain.
    fixture.doubtful.set(.lostInDoubt, withdraws: true)
    #expect(try await fixture.failure(of: try fixture.intent()).isInDoubt)
    try await eventually { fixture.doubtful.tries == 1 && fixture.store.count == 0 }
    #expect(fixture.time.due.isEmpty)
  }

  /// Lets `tries` attempts fail, each after its pause.
  private func fail(_ tries: Int, _ fixture: Fixture) async throws {
    for _ in 0..<tries {
      let before = fixture.doubtful.tries
      try await eventually { fixture.time.due.count == 1 }
      if let due = fixture.time.due.first { fixture.time.advance(to: due) }
      try await eventually { fixture.doubtful.tries > before }
    }
  }

  @Test func `a withdrawal is tried for hours, and ends with the process`() async throws {
    let fixture = Fixture()
    fixture.doubtful.set(.committedInDoubt, withdraws: false)
    let intent = try fixture.intent()
    #expect(try await fixture.failure(of: intent).isInDoubt)
    try await eventually { fixture.doubtful.tries == 1 }
    try await fail(1000, fixture)
    #expect(fixture.inHand.count == 1)
    // The callback is long overdue, but is not recovered as abandoned.
    let overdue = fixture.store.overdue(at: fixture.now)
    #expect(overdue == [intent.id])
    let held = try await fixture.doubtful.base.recoverCallbacks(at: fixture.now, besides: overdue)
    #expect(held.callbacks == 0)
    fixture.store.end()
    try await fail(1, fixture)
    try await eventually { fixture.inHand.count == 0 }
    #expect(fixture.store.count == 0)
    #expect(fixture.store.overdue(at: fixture.now) == [])
    #expect(try await fixture.doubtful.base.recoverCallbacks(at: fixture.now, besides: []).callbacks == 1)
  }

  @Test func `an outcome is written down as soon as that is possible, beside its answer`() async throws {
    let fixture = Fixture()
    let intent = try fixture.intent(key: "k")
    #expect(try await fixture.store.begin(intent, at: fixture.now) == .begun)
    fixture.doubtful.set(settles: false)
    await fixture.store.settle(intent, fixture.accepted) { _ in }
    #expect(fixture.inHand.count == 1)
    for _ in 1...6 {
      let before = fixture.doubtful.tries
      try await eventually { fixture.time.due.count == 1 }
      fixture.time.advance(by: .seconds(5))
      try await eventually { fixture.doubtful.tries > before }
    }
    #expect(try await fixture.doubtful.callback(intent.id, of: "app")?.status == .pending)
    fixture.doubtful.set(settles: true)
    try await eventually { fixture.time.due.count == 1 }
    fixture.time.advance(by: .seconds(5))
    try await eventually { fixture.inHand.count == 0 }
    #expect(try await fixture.doubtful.callback(intent.id, of: "app")?.status == .accepted)
  }

  @Test(arguments: [true, false])
  func `an outcome that is saved later is told by a notice, unless the app has read it`(_ isRead: Bool)
    async throws
  {
    let fixture = Fixture()
    var intent = try fixture.intent()
    intent.notifies = InstallationIdentity(
      try #require(InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")), generation: 1)
    #expect(try await fixture.store.begin(intent, at: fixture.now) == .begun)
    fixture.doubtful.set(settles: false)
    await fixture.store.settle(intent, fixture.accepted) { _ in }
    if isRead { fixture.store.told(intent.id) }
    try await fail(1, fixture)
    fixture.doubtful.set(settles: true)
    try await fail(1, fixture)
    try await eventually { fixture.inHand.count == 0 }
    let record = try #require(try await fixture.doubtful.callback(intent.id, of: "app"))
    #expect(record.status == .accepted && record.notices?.state == (isRead ? .told : .waiting))
    #expect(record.waitsToBeTold == !isRead)
  }

  @Test func `an outcome is saved however late, and its record is not taken for abandoned meanwhile`()
    async throws
  {
    let fixture = Fixture()
    let intent = try fixture.intent(key: "k")
    let saved = Mutex<[Bool]>([])
    #expect(try await fixture.store.begin(intent, at: fixture.now) == .begun)
    #expect(fixture.store.overdue(at: fixture.now) == [])
    fixture.doubtful.set(settles: false)
    await fixture.store.settle(intent, fixture.accepted) { recovered in
      saved.withLock { $0.append(recovered) }
    }
    try await fail(100, fixture)
    let overdue = fixture.store.overdue(at: fixture.now)
    #expect(overdue == [intent.id])
    let held = try await fixture.doubtful.base.recoverCallbacks(at: fixture.now, besides: overdue)
    #expect(held.callbacks == 0)
    // Another instance may still have recovered the callback, if it thought that this one was gone. This one
    // has the true result.
    #expect(try await fixture.doubtful.base.recoverCallbacks(at: fixture.now, besides: []).callbacks == 1)
    #expect(saved.withLock { $0 } == [])
    fixture.doubtful.set(settles: true)
    try await fail(1, fixture)
    try await eventually { fixture.inHand.count == 0 }
    #expect(saved.withLock { $0 } == [true])
    #expect(fixture.store.overdue(at: fixture.now) == [])
    #expect(try await fixture.doubtful.callback(intent.id, of: "app")?.status == .accepted)
    let standing = try await fixture.store.standing(of: try fixture.intent(key: "k"), at: fixture.now)
    guard case .replay(let record) = standing.key else {
      Issue.record("\(standing.key)")
      return
    }
    #expect(record.status == .accepted)
  }

  @Test func `what did not begin, or is settled, is not in hand`() async throws {
    let fixture = Fixture()
    let later = Instant(seconds: fixture.now.seconds + 3600, nanoseconds: 0)
    let first = try fixture.intent(key: "k")
    #expect(try await fixture.store.begin(first, at: fixture.now) == .begun)
    #expect(fixture.store.overdue(at: later) == [first.id])
    _ = try await fixture.store.begin(try fixture.intent(key: "k"), at: fixture.now)
    fixture.doubtful.set(.refused, withdraws: true)
    _ = try await fixture.failure(of: try fixture.intent("+14155550166"))
    #expect(fixture.store.overdue(at: later) == [first.id])
    await fixture.store.settle(first, fixture.accepted) { #expect(!$0) }
    #expect(fixture.store.overdue(at: later) == [])
  }

  // MARK: Appointments

  @Test func `a booking in doubt is confirmed, moved and called at once, and nothing withdraws it`()
    async throws
  {
    let fixture = Fixture()
    let booking = try fixture.booking(key: "k")
    fixture.doubtful.set(.committedInDoubt)
    let error = try #require(
      await #expect(throws: StoreError.self) { try await fixture.store.book(booking, at: fixture.now) })
    #expect(error.isInDoubt)
    fixture.doubtful.set(.fine)
    guard case .replay(let record) = try await fixture.store.book(booking, at: fixture.now) else {
      Issue.record("no replay")
      return
    }
    #expect(record.id == booking.intent.id)
    try await fixture.doubtful.withdraw(booking.intent.id)
    #expect(try await fixture.doubtful.scheduledAppointment(booking.intent.id) != nil)
    #expect(try await fixture.store.mark(booking.intent.id, for: booking.at, deadline: fixture.now))
    #expect(fixture.store.count == 0 && fixture.inHand.count == 0)
  }

  @Test(arguments: [DoubtfulStore.Fate.committedInDoubt, .lostInDoubt])
  func `a cancel in doubt is found out, and never made later`(_ fate: DoubtfulStore.Fate) async throws {
    let fixture = Fixture()
    let booking = try fixture.booking()
    let id = booking.intent.id
    #expect(try await fixture.store.book(booking, at: fixture.now) == .booked)
    fixture.doubtful.set(ends: fate)
    let now = fixture.now
    let error = try #require(
      await #expect(throws: StoreError.self) {
        try await fixture.store.end(id, .cancelled, returning: [], at: now)
      })
    #expect(error.isInDoubt)
    fixture.doubtful.set(ends: .fine)
    fixture.doubtful.set(isCertain: false)
    let asking = Task { await fixture.store.ended(id, .cancelled, at: now) }
    try await eventually { fixture.doubtful.tries == 1 }
    try await fail(1, fixture)
    // Another instance moves the appointment meanwhile, if it still exists, and confirms that.
    var moved = booking
    moved = Booking(
      intent: moved.intent, at: now.advanced(by: .seconds(600)), slot: 0, content: [], limits: moved.limits)
    let isCancelled = fate == .committedInDoubt
    if case .moved = try await fixture.doubtful.base.move(moved, at: fixture.now) {
      #expect(!isCancelled)
    } else {
      #expect(isCancelled)
    }
    fixture.doubtful.set(isCertain: true)
    try await fail(1, fixture)
    #expect(await asking.value?.status == (isCancelled ? .cancelled : nil))
    #expect(
      try await fixture.doubtful.base.callbacks([id]).first?.status == (isCancelled ? .cancelled : .scheduled)
    )
    // An ending by another instance is not reported as this one's.
    #expect(await fixture.store.ended(id, .cancelled, at: now.advanced(by: .seconds(1))) == nil)
  }

  @Test(arguments: [nil, Duration.seconds(11), .seconds(-3600)])
  func `with a clock that is wrong or unknown nothing begins, is marked or expires`(_ ahead: Duration?)
    async throws
  {
    let fixture = Fixture()
    let booking = try fixture.booking()
    #expect(try await fixture.store.book(booking, at: fixture.now) == .booked)
    let health = StoreHealth(clock: fixture.time, hasClock: true)
    if let ahead { health.compared(clockAhead: ahead) }
    let log = Log(
      sink: LogSink(lanes: 1) { _ in true }, lane: 0, level: .info, format: .json, clock: fixture.time)
    let store = RetryingStore(
      fixture.doubtful, inHand: fixture.inHand, clock: fixture.time, log: CallbackLog(log: log),
      isClockRight: { health.isClockRight })
    let (id, now) = (booking.intent.id, fixture.now)
    func expectRefused(_ body: () async throws -> Void) async throws {
      let error = try #require(await #expect(throws: StoreError.self) { try await body() })
      #expect(error.kind == .unavailable && error.operation == "clock" && !error.isInDoubt)
    }
    try await expectRefused { _ = try await store.begin(try fixture.intent("+14155550166"), at: now) }
    try await expectRefused { _ = try await store.book(try fixture.booking("+14155550167"), at: now) }
    try await expectRefused { _ = try await store.mark(id, for: now, deadline: now) }
    try await expectRefused { _ = try await store.end(id, .expired(due: now), returning: [], at: now) }
    try await expectRefused {
      _ = try await store.end(id, .failed("closed", due: now), returning: [], at: now)
    }
    try await expectRefused { _ = try await store.end(id, .unanswered(serial: 1), returning: [], at: now) }
    #expect(store.overdue(at: now.advanced(by: .seconds(9999))) == [])
    // An owner can cancel without a right clock.
    guard case .ended = try await store.end(id, .cancelled, returning: [], at: now) else {
      Issue.record("not cancelled")
      return
    }
  }

  @Test func `no more are under way than a bound`() async throws {
    let fixture = Fixture()
    fixture.doubtful.set(.lostInDoubt, withdraws: false)
    for number in 0..<(RetryingStore.most + 10) {
      _ = try? await fixture.store.begin(try fixture.intent("+1415\(5_550_000 + number)"), at: fixture.now)
    }
    #expect(fixture.store.count == RetryingStore.most)
    #expect(fixture.inHand.count == RetryingStore.most)
  }
}

extension RetryingStore {
  /// Ends an appointment without allowances.
  fileprivate func end(
    _ id: CallbackID, _ ending: AppointmentEnding, at now: Instant
  ) async throws(StoreError) -> EndResult {
    try await end(id, ending, returning: [], at: now)
  }
}

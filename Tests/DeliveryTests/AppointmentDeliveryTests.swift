// Tests of how a due appointment is carried out: marked, sent once, tried again or ended.

import Gate
import Platform
import Records
import Store
import Synchronization
import TestSupport
import Testing
import Tokens

@testable import Delivery
@testable import DeliverySupport

@Suite(.timeLimit(.minutes(2))) struct AppointmentDeliveryTests {
  private typealias Fixture = DeliveryFixture

  private func postponed(_ result: DeliveryResult) -> (reason: Undelivered, until: Instant)? {
    guard case .postponed(let reason, let until) = result.outcome else { return nil }
    return (reason, until)
  }

  /// Checks that nothing was sent or accepted, and that the appointment is tried again after a span.
  private func expectWaiting(
    _ fixture: Fixture, _ booking: Booking, _ result: DeliveryResult, for span: Duration, tries: Int,
    code: String?, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let due = try await fixture.memory.scheduledAppointment(booking.intent.id)
    #expect(due?.tries == tries && due?.lastCode == code, sourceLocation: sourceLocation)
    #expect(due?.due == fixture.now.advanced(by: span), sourceLocation: sourceLocation)
    #expect(postponed(result)?.until == due?.due, "\(result.outcome)", sourceLocation: sourceLocation)
    #expect(!result.endsWithoutCall, sourceLocation: sourceLocation)
    #expect(fixture.isFree(booking.intent), sourceLocation: sourceLocation)
    #expect(
      fixture.parts.store.overdue(at: fixture.now.advanced(by: .seconds(9999))) == [],
      sourceLocation: sourceLocation)
  }

  /// Checks that the appointment has ended and certainly no call was made.
  private func expectFailed(
    _ fixture: Fixture, _ booking: Booking, _ result: DeliveryResult, _ code: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let record = try await fixture.record(booking)
    #expect(record.status == .failed && record.code == code, sourceLocation: sourceLocation)
    #expect(result.endsWithoutCall, "\(result.outcome)", sourceLocation: sourceLocation)
    #expect(fixture.isFree(booking.intent), sourceLocation: sourceLocation)
  }

  // MARK: Sent

  @Test func `an appointment is marked before the call, which has to start within 5 s of that`() async throws
  {
    let fixture = Fixture(.accepted)
    let booking = try await fixture.book()
    fixture.store.onMark { fixture.time.advance(by: .seconds(2)) }
    let statuses = Mutex<[StoredCallback.Status?]>([])
    fixture.courier.onRequest {
      let status = try await fixture.memory.callback(booking.intent.id, of: "app")?.status
      statuses.withLock { $0.append(status) }
      // The call is in flight, so the process does not let it be recovered as abandoned.
      #expect(
        fixture.parts.store.overdue(at: fixture.now.advanced(by: .seconds(9999))) == [booking.intent.id])
    }
    let result = try await fixture.tryOut(booking)
    guard case .accepted = result.outcome else {
      Issue.record("\(result.outcome)")
      return
    }
    #expect(!result.endsWithoutCall && result.upstreamStatus == 299)
    #expect(statuses.withLock { $0 } == [.pending])
    let request = try #require(fixture.courier.requests.first)
    #expect(request.startWithin == .seconds(3) && request.timeout == .seconds(18))
    let record = try await fixture.record(booking)
    #expect(record.status == .accepted && record.platformTID == "tid-1" && record.upstreamStatus == 299)
    #expect(fixture.isFree(booking.intent))
    #expect(fixture.parts.store.overdue(at: fixture.now.advanced(by: .seconds(9999))) == [])
  }

  @Test func `an immediate callback may start as late as it likes`() async throws {
    let fixture = Fixture(.accepted)
    _ = try await fixture.call()
    #expect(fixture.courier.requests.map(\.startWithin) == [nil])
  }

  @Test(arguments: [true, false])
  func `an appointment that a provider may have accepted ends unknown`(isAnswered: Bool) async throws {
    let fixture = Fixture(.unknown(isAnswered: isAnswered))
    let booking = try await fixture.book()
    let result = try await fixture.tryOut(booking)
    guard case .undelivered(.unknown(isAnswered), isRecorded: true) = result.outcome else {
      Issue.record("\(result.outcome)")
      return
    }
    #expect(try await fixture.record(booking).status == .unknown)
    #expect(!result.endsWithoutCall)
  }

  // MARK: Tried again

  /// The provider's reason for not accepting a call, the first wait after it, and the code that is saved.
  private static let waits: [(CourierReport.Reason, Duration, String)] = [
    (.unreachable, .seconds(1), "upstream_unavailable"),
    (.unavailable(retryAfter: nil), .seconds(1), "upstream_unavailable"),
    (.unavailable(retryAfter: .seconds(7)), .seconds(7), "upstream_unavailable"),
    (.unavailable(retryAfter: .zero), .seconds(1), "upstream_unavailable"),
    (.rateLimited(retryAfter: nil), .seconds(5), "upstream_rate_limited"),
    (.rateLimited(retryAfter: .seconds(9)), .seconds(9), "upstream_rate_limited"),
    (.rateLimited(retryAfter: .seconds(170)), .seconds(170), "upstream_rate_limited"),
  ]

  @Test(arguments: waits.indices)
  func `an appointment that a provider did not take is tried again`(_ index: Int) async throws {
    let (reason, span, code) = Self.waits[index]
    let fixture = Fixture(.notAccepted(reason), .accepted)
    let booking = try await fixture.book()
    let result = try await fixture.tryOut(booking)
    try await expectWaiting(fixture, booking, result, for: span, tries: 1, code: code)
    fixture.time.advance(by: span)
    guard case .accepted = try await fixture.tryOut(booking).outcome else {
      Issue.record("not accepted")
      return
    }
    #expect(fixture.courier.requests.count == 2)
    #expect(try await fixture.record(booking).status == .accepted)
  }

  @Test func `an appointment without a token is tried again, the refused credential included`() async throws {
    let failures: [TokenExchangeError] = [
      .refused(status: 401, code: "invalid_client"), .unavailable(status: 503, retryAfter: nil),
      .rateLimited(retryAfter: .seconds(40)), .unusableReply(.empty), .timedOut(sent: true),
    ]
    for failure in failures {
      let fixture = Fixture(.accepted)
      fixture.issuer.before { failure }
      let booking = try await fixture.book()
      let result = try await fixture.tryOut(booking)
      guard case .noToken(let error) = postponed(result)?.reason else {
        Issue.record("\(result.outcome)")
        continue
      }
      let code = fixture.delivery.code(.noToken(error))
      try await expectWaiting(fixture, booking, result, for: .seconds(1), tries: 1, code: code)
      #expect(result.cache == .miss && result.upstreamStatus == failure.status)
      #expect(fixture.courier.requests.isEmpty)
    }
  }

  @Test func `an appointment that gets no turn in a pause waits as long as the pause`() async throws {
    let fixture = Fixture()
    fixture.parts.queue.pause(for: .seconds(70))
    let booking = try await fixture.book()
    let result = try await fixture.tryOut(booking)
    try await expectWaiting(
      fixture, booking, result, for: .seconds(70), tries: 1, code: "upstream_rate_limited")
    // The next attempt would be too late.
    fixture.time.advance(by: .seconds(70))
    fixture.parts.queue.pause(for: .seconds(111))
    try await expectFailed(fixture, booking, try await fixture.tryOut(booking), "upstream_rate_limited")
  }

  @Test func `an appointment that a pause keeps from any try waits to expire`() async throws {
    let fixture = Fixture()
    fixture.parts.queue.pause(for: .seconds(300))
    let booking = try await fixture.book()
    let result = try await fixture.tryOut(booking)
    try await expectWaiting(fixture, booking, result, for: Fixture.late, tries: 0, code: nil)
  }

  @Test func `an appointment whose installation cannot be checked is tried again`() async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    let result = try await fixture.tryOut(booking) { .unchecked }
    try await expectWaiting(fixture, booking, result, for: .seconds(1), tries: 1, code: "store_unavailable")
  }

  @Test func `the waits double to 30 s, less up to a quarter`() {
    let waits = (0..<8).map { tries in
      [0, 0.8].map { unit in
        OrderedAppointment(
          at: .init(seconds: 0), due: .init(seconds: 0), lastTry: .init(seconds: 180), tries: tries,
          receipts: []
        )
        .wait(nil, unit: unit)
      }
    }
    #expect(waits.map { $0[0] } == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    #expect(waits.map { $0[1] / .milliseconds(1) } == [800, 1600, 3200, 6400, 12800, 24000, 24000, 24000])
    let many = OrderedAppointment(
      at: .init(seconds: 0), due: .init(seconds: 0), lastTry: .init(seconds: 180), tries: .max,
      receipts: [])
    #expect(many.wait(nil, unit: 0) == .seconds(30))
  }

  @Test func `an appointment is tried until it would be late, and fails with the last reason`() async throws {
    let fixture = Fixture()
    fixture.issuer.before { .unavailable(status: 503, retryAfter: nil) }
    let booking = try await fixture.book()
    var starts: [Int64] = []
    for _ in 1...20 {
      starts.append(fixture.now.seconds - booking.at.seconds)
      let result = try await fixture.tryOut(booking)
      guard let until = postponed(result)?.until else {
        try await expectFailed(fixture, booking, result, "upstream_unavailable")
        break
      }
      fixture.time.advance(by: until - fixture.now)
    }
    // The last attempt comes a second before the end.
    #expect(starts == [0, 1, 3, 7, 15, 31, 61, 91, 121, 151, 179])
    #expect(fixture.courier.requests.isEmpty)
  }

  @Test func `an appointment that a provider did not take shortly before it is late fails`() async throws {
    let fixture = Fixture(.notAccepted(.unreachable))
    let booking = try await fixture.book()
    fixture.time.advance(by: Fixture.late - .milliseconds(900))
    try await expectFailed(fixture, booking, try await fixture.tryOut(booking), "upstream_unavailable")
    #expect(fixture.courier.requests.count == 1)
  }

  // MARK: Ended at once

  private static let refusals: [(CourierReport.Reason, String)] = [
    (.rejected(fields: ["a"]), "invalid_request"), (.forbidden, "upstream_refused"),
    (.refused, "upstream_failed"),
  ]

  @Test(arguments: refusals.indices)
  func `an appointment that a provider refuses fails at once`(_ index: Int) async throws {
    let (reason, code) = Self.refusals[index]
    let fixture = Fixture(.notAccepted(reason))
    let booking = try await fixture.book()
    try await expectFailed(fixture, booking, try await fixture.tryOut(booking), code)
    #expect(fixture.courier.requests.count == 1)
  }

  @Test func `an appointment whose token is refused twice fails`() async throws {
    let fixture = Fixture(.notAccepted(.tokenRefused), .notAccepted(.tokenRefused))
    let booking = try await fixture.book()
    try await expectFailed(fixture, booking, try await fixture.tryOut(booking), "upstream_refused")
    #expect(Set(fixture.courier.tokens).count == 2)
    #expect(fixture.courier.requests.someAndAll { $0.startWithin == .seconds(5) })
  }

  @Test(arguments: [false, true])
  func `an appointment that is stopped before its mark, or during it, fails`(isMarked: Bool) async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    let stop = Stop(.caller("app"), .one(.callback), since: fixture.now.seconds)
    if !isMarked { try await fixture.stops.stop(stop) }
    let asked = Atomic<Int>(0)
    let result = try await fixture.tryOut(booking) {
      if isMarked, asked.wrappingAdd(1, ordering: .relaxed).newValue == 2 {
        _ = try? await fixture.stops.stop(stop)
      }
      return nil
    }
    try await expectFailed(fixture, booking, result, "stopped")
    #expect(fixture.courier.requests.isEmpty)
  }

  @Test(arguments: [0, 1])
  func `an appointment whose installation has ended fails`(after good: Int) async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    let asked = Atomic<Int>(0)
    let result = try await fixture.tryOut(booking) {
      asked.wrappingAdd(1, ordering: .relaxed).oldValue < good ? nil : .revoked
    }
    try await expectFailed(fixture, booking, result, "unauthenticated")
    #expect(fixture.courier.requests.isEmpty)
  }

  // MARK: No try

  @Test func `an ending server leaves an appointment to others`() async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    fixture.parts.queue.shutdown()
    fixture.store.onMark { Issue.record("marked") }
    let before = try await fixture.memory.scheduledAppointment(booking.intent.id)
    guard case .noTurn(.ended) = postponed(try await fixture.tryOut(booking))?.reason else {
      Issue.record("not ended")
      return
    }
    #expect(try await fixture.memory.scheduledAppointment(booking.intent.id) == before)
    #expect(fixture.store.tries == 0 && fixture.isFree(booking.intent))
  }

  @Test func `6 s between the mark and the call are too many, and no try`() async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    fixture.store.onMark { fixture.time.advance(by: .seconds(6)) }
    let result = try await fixture.tryOut(booking)
    try await expectWaiting(fixture, booking, result, for: .seconds(1), tries: 0, code: nil)
    #expect(fixture.courier.requests.isEmpty)
  }

  @Test func `an appointment that a pause made late waits to expire, as nothing was tried`() async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    fixture.store.onMark { fixture.time.advance(by: Fixture.late) }
    let result = try await fixture.tryOut(booking)
    try await expectWaiting(fixture, booking, result, for: .seconds(1), tries: 0, code: nil)
    #expect(fixture.courier.requests.isEmpty)
  }

  @Test func `an appointment is not sent after its last try, whatever made the clock jump`() async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    fixture.store.onMark { fixture.time.stepWallClock(by: 3600) }
    let result = try await fixture.tryOut(booking)
    try await expectWaiting(fixture, booking, result, for: .seconds(1), tries: 0, code: nil)
    #expect(fixture.courier.requests.isEmpty)
  }

  @Test func `a second request after a refused token has to start within the same 5 s`() async throws {
    let fixture = Fixture(.notAccepted(.tokenRefused))
    let booking = try await fixture.book()
    fixture.courier.onRequest {
      fixture.issuer.before {
        fixture.time.advance(by: .seconds(6))
        return nil
      }
    }
    let result = try await fixture.tryOut(booking)
    // One request was sent, so it counts as an attempt.
    try await expectWaiting(fixture, booking, result, for: .seconds(1), tries: 1, code: "upstream_timeout")
    #expect(fixture.courier.requests.count == 1)
  }

  @Test func `an appointment waits for its turn until its last try`() async throws {
    let fixture = Fixture()
    let booking = try await fixture.book()
    fixture.time.advance(by: Fixture.late - .seconds(4))
    let running = try await fixture.parts.queue.turn(
      .init("other"), deadline: fixture.time.now + .seconds(20), bytes: 1)
    let waiting = Task { try await fixture.tryOut(booking) }
    try await eventually { fixture.parts.queue.load == (1, 1) }
    try await fixture.untilSleeping(for: .seconds(4))
    fixture.time.advance(by: .seconds(4))
    let result = try await waiting.value
    fixture.parts.queue.end(running, wasSent: false)
    // No attempt was made, so the appointment will expire.
    try await expectWaiting(fixture, booking, result, for: .zero, tries: 0, code: nil)
  }

  @Test func `the call starts before its appointment is late`() async throws {
    let fixture = Fixture(.accepted)
    let booking = try await fixture.book()
    fixture.time.advance(by: Fixture.late - .seconds(2))
    _ = try await fixture.tryOut(booking)
    #expect(fixture.courier.requests.map(\.startWithin) == [.seconds(2)])
  }

  // MARK: Others

  @Test func `an appointment that another has marked, or that is moved or cancelled, is left alone`()
    async throws
  {
    for change in 0..<3 {
      let fixture = Fixture()
      let booking = try await fixture.book()
      let later = Booking(
        intent: booking.intent, at: booking.at.advanced(by: .seconds(7200)), slot: booking.slot + 7200,
        content: booking.content, limits: booking.limits)
      switch change {
      case 0: #expect(try await fixture.memory.mark(booking.intent.id, for: booking.at, deadline: later.at))
      case 1: #expect(try await fixture.memory.move(later, at: fixture.now) != .missing)
      default:
        #expect(try await fixture.memory.end(booking.intent.id, .cancelled, at: fixture.now) != .missing)
      }
      let record = try await fixture.record(booking)
      let due = try await fixture.memory.scheduledAppointment(booking.intent.id)
      for failure in [nil, TokenExchangeError.unavailable(status: 503, retryAfter: nil)] {
        fixture.issuer.before { failure }
        // A decision about the old time does not end the appointment, with or without a token.
        fixture.tokens.forgetTokens()
        guard case .elsewhere = try await fixture.tryOut(booking, due: booking.at).outcome else {
          Issue.record("\(change)")
          continue
        }
        #expect(try await fixture.record(booking) == record)
        #expect(try await fixture.memory.scheduledAppointment(booking.intent.id) == due)
      }
      #expect(fixture.courier.requests.isEmpty && fixture.isFree(booking.intent))
      #expect(fixture.parts.store.overdue(at: later.at) == [])
    }
  }

  @Test(arguments: [false, true])
  func `a try that Talkdesk did not take fails where another instance took this process for dead`(
    wasSent: Bool
  ) async throws {
    let fixture = Fixture(.notAccepted(.unreachable))
    let booking = try await fixture.book()
    let recover: @Sendable () async throws -> Void = {
      fixture.time.advance(by: .seconds(6))
      let later = fixture.now.advanced(by: .seconds(9999))
      let recovered = try await fixture.memory.recoverCallbacks(at: later, besides: [])
      #expect(recovered.callbacks == 1)
    }
    if wasSent { fixture.courier.onRequest(recover) } else { fixture.store.onMark(recover) }
    let result = try await fixture.tryOut(booking)
    #expect(fixture.courier.requests.count == (wasSent ? 1 : 0))
    try await expectFailed(
      fixture, booking, result, wasSent ? "upstream_unavailable" : fixture.delivery.code(.noTurn(.late)))
  }

  // MARK: A store that fails

  @Test func `an appointment whose mark certainly fails is due still`() async throws {
    let fixture = Fixture(.accepted)
    let booking = try await fixture.book()
    fixture.store.set(.refused)
    guard case .notSaved = postponed(try await fixture.tryOut(booking))?.reason else {
      Issue.record("not refused")
      return
    }
    #expect(fixture.store.tries == 0)
    fixture.store.set(.fine)
    guard case .accepted = try await fixture.tryOut(booking).outcome else {
      Issue.record("not accepted")
      return
    }
    #expect(fixture.courier.requests.count == 1)
  }

  @Test func `an appointment whose mark is in doubt is not sent, and its mark is taken back`() async throws {
    for fate in [DoubtfulStore.Fate.committedInDoubt, .lostInDoubt] {
      let fixture = Fixture(.accepted)
      let booking = try await fixture.book()
      let id = booking.intent.id
      fixture.store.set(fate)
      fixture.store.set(postpones: .refused)
      guard case .notSaved = postponed(try await fixture.tryOut(booking))?.reason else {
        Issue.record("not in doubt")
        return
      }
      #expect(fixture.courier.requests.isEmpty)
      try await fixture.untilSleeping(for: .seconds(1))
      #expect(fixture.parts.store.overdue(at: fixture.now.advanced(by: .seconds(9999))) == [id])
      // The pending release would also undo another mark made meanwhile, while its request is on its way.
      fixture.store.set(.fine)
      fixture.store.onMark { Issue.record("marked") }
      guard case .notSaved = postponed(try await fixture.tryOut(booking))?.reason else {
        Issue.record("marked again")
        return
      }
      fixture.store.set(postpones: .fine)
      fixture.time.advance(by: .seconds(1))
      try await eventually { fixture.parts.inHand.count == 0 }
      fixture.store.onMark {}
      let due = try #require(try await fixture.memory.scheduledAppointment(id))
      #expect(due.tries == 0 && due.due == booking.at)
      #expect(fixture.parts.store.overdue(at: fixture.now.advanced(by: .seconds(9999))) == [])
      guard case .accepted = try await fixture.tryOut(booking).outcome else {
        Issue.record("not accepted")
        return
      }
    }
  }

  @Test func `an appointment that could not be postponed is, as soon as possible, and not marked before`()
    async throws
  {
    let fixture = Fixture(.notAccepted(.unreachable), .accepted)
    let booking = try await fixture.book()
    fixture.store.set(postpones: .committedInDoubt)
    let trying = Task { try await fixture.tryOut(booking) }
    try await fixture.untilSleeping(for: .seconds(1))
    let due = try #require(try await fixture.memory.scheduledAppointment(booking.intent.id)?.due)
    await #expect(throws: StoreError.self) {
      try await fixture.parts.store.mark(booking.intent.id, for: due, deadline: due)
    }
    fixture.store.set(postpones: .fine)
    fixture.time.advance(by: .seconds(1))
    #expect(postponed(try await trying.value)?.until == due)
    guard case .accepted = try await fixture.tryOut(booking).outcome else {
      Issue.record("not accepted")
      return
    }
    #expect(try await fixture.record(booking).status == .accepted)
  }

  @Test func `the outcome of an appointment is saved as soon as that is possible`() async throws {
    let fixture = Fixture(.accepted)
    let booking = try await fixture.book()
    fixture.store.set(settles: false)
    guard case .accepted = try await fixture.tryOut(booking).outcome else {
      Issue.record("not accepted")
      return
    }
    #expect(try await fixture.record(booking).status == .pending)
    let later = fixture.now.advanced(by: .seconds(9999))
    let overdue = fixture.parts.store.overdue(at: later)
    #expect(overdue == [booking.intent.id])
    #expect(try await fixture.memory.recoverCallbacks(at: later, besides: overdue).callbacks == 0)
    fixture.store.set(settles: true)
    try await fixture.untilSleeping(for: .seconds(1))
    fixture.time.advance(by: .seconds(1))
    try await eventually { fixture.parts.inHand.count == 0 }
    #expect(try await fixture.record(booking).status == .accepted)
    #expect(fixture.parts.store.overdue(at: later) == [])
  }

  @Test(arguments: [DoubtfulStore.Fate.refused, .lostInDoubt, .committedInDoubt])
  func `a booking takes its allowances with its record or not at all, also where its commit is in doubt`(
    _ fate: DoubtfulStore.Fate
  ) async throws {
    let fixture = Fixture()
    var intent = try fixture.intent()
    intent.charges = try await fixture.charges(intent)
    #expect(intent.charges != nil)
    var booking = Booking(
      intent: intent, at: fixture.now, slot: 0, content: [], limits: .init(perSlot: 1, perNumber: 1))
    booking.seal = { receipts in [UInt8(receipts.count)] }
    fixture.store.set(fate)
    await #expect(throws: StoreError.self) { try await fixture.parts.store.book(booking, at: fixture.now) }
    fixture.store.set(.fine)
    let isBooked = try await fixture.memory.scheduledAppointment(intent.id) != nil
    #expect(isBooked == (fate == .committedInDoubt))
    #expect((try await fixture.charges(intent) != nil) == !isBooked)
    // The content has the receipts of what the booking took, for whichever instance ends it.
    if isBooked { #expect(try await fixture.memory.scheduledAppointment(intent.id)?.content == [1]) }
  }

  @Test func `with a wrong clock nothing is sent, and the appointment waits for others`() async throws {
    let fixture = Fixture(.accepted, .accepted)
    let booking = try await fixture.book()
    fixture.health.compared(clockAhead: .seconds(11))
    guard case .notSaved = postponed(try await fixture.tryOut(booking))?.reason else {
      Issue.record("not refused")
      return
    }
    #expect(fixture.courier.requests.isEmpty)
    let due = try #require(try await fixture.memory.scheduledAppointment(booking.intent.id))
    #expect(due.tries == 0 && due.due == booking.at)
    fixture.health.compared(clockAhead: .seconds(10))
    guard case .accepted = try await fixture.tryOut(booking).outcome else {
      Issue.record("not accepted")
      return
    }
  }
}

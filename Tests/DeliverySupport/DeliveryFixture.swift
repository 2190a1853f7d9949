// A delivery for tests, with a provider, an issuer of tokens and a store that do what a test says.

import Gate
import HTTP
import HTTPServer
import Platform
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import API
@testable import Delivery
@testable import Records
@testable import Responses
@testable import Tokens

/// A provider that says what it is told to say.
final class ScriptedCourier: Courier {
  /// What it was asked.
  struct Request: Sendable {
    let token: String
    let timeout: Duration
    let startWithin: Duration?
  }

  private let reports: Mutex<[CourierReport.Outcome]>
  private let asked = Mutex<[Request]>([])
  /// Runs when it is asked, before it answers.
  private let onRequest = Mutex<(@Sendable () async throws -> Void)?>(nil)

  init(_ outcomes: [CourierReport.Outcome]) { reports = Mutex(outcomes) }

  var requests: [Request] { asked.withLock { $0 } }
  var tokens: [String] { requests.map(\.token) }
  func onRequest(_ body: @escaping @Sendable () async throws -> Void) { onRequest.withLock { $0 = body } }

  func carry(
    _ order: CallbackOrder, with token: AccessToken, within timeout: Duration, startWithin: Duration?,
    then: @escaping @Sendable (CourierReport) -> Void
  ) {
    asked.withLock { $0.append(Request(token: token.sha256, timeout: timeout, startWithin: startWithin)) }
    let outcome = reports.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    if outcome == nil { Issue.record("a request too many") }
    let report = CourierReport(outcome ?? .unknown(isAnswered: false), status: 299, traceID: "tid-1")
    guard let before = onRequest.withLock({ $0 }) else { return then(report) }
    Task {
      do { try await before() } catch { Issue.record(error) }
      then(report)
    }
  }
}

/// Gives another token each time, or none.
final class NumberedIssuer: TokenIssuer {
  private let count = Atomic<Int>(0)
  private let time: any TimeSource
  /// Runs before each exchange, which fails with what it throws.
  private let before = Mutex<(@Sendable () -> TokenExchangeError?)?>(nil)

  init(_ time: any TimeSource) { self.time = time }

  func before(_ body: @escaping @Sendable () -> TokenExchangeError?) { before.withLock { $0 = body } }

  var credentialStatus: [CredentialStatus] { [] }
  func exchange(
    scope: String, deadline: MonotonicTime, trace: TraceContext?,
    observe: @Sendable (TokenRequestReport) -> Void, change: @Sendable (CredentialStatus) -> Void
  ) async throws(TokenExchangeError) -> AccessToken {
    if let failure = before.withLock({ $0 })?() { throw failure }
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    return AccessToken(
      token: Array("token-\(number)".utf8), scope: scope, clientID: "c",
      obtainedAt: time.now, lifetime: .seconds(600))
  }
  func tryAllAgain() {}
  func inherit(from other: any TokenIssuer) {}
  func keeps(_ token: AccessToken, of other: any TokenIssuer) -> Bool { true }
}

final class DeliveryFixture: Sendable {
  let time = ManualTime()
  let store = DoubtfulStore()
  var memory: any Store { store.base }
  let parts: CallbackParts
  let ledger: AllowanceLedger
  let policy = Policy(brakes: Brakes(numberPerDay: 1, perFiveMinutes: 0, perHour: 0))
  let courier: ScriptedCourier
  let issuer: NumberedIssuer
  let tokens: TokenSource
  let delivery: CallbackDelivery
  let stops: StopBoard
  let blocked: BlockedNumbers
  /// The caller whom the policy grants it to; the record belongs to `app`.
  let callerID: String
  /// What is known of the clocks.
  let health: StoreHealth

  convenience init(_ outcomes: CourierReport.Outcome..., callerID: String = "app") {
    self.init(outcomes, callerID: callerID)
  }

  init(_ outcomes: [CourierReport.Outcome], callerID: String = "app") {
    self.callerID = callerID
    courier = ScriptedCourier(outcomes)
    ledger = AllowanceLedger(store: store.base)
    health = StoreHealth(clock: time)
    let log = Log(sink: LogSink(lanes: 1) { _ in true }, lane: 0, level: .info, format: .json, clock: time)
    let inHand = CallbacksInHand(time: time)
    let callbackLog = CallbackLog(log: log)
    parts = CallbackParts(
      store: RetryingStore(
        store, inHand: inHand, clock: time, log: callbackLog,
        isClockRight: { [health] in health.isClockRight }),
      queue: CallbackQueue(concurrency: 1, time: time), inHand: inHand, clock: time, log: callbackLog,
      metrics: ServiceMetrics(loops: 1, routes: ["other"], audited: []),
      brakes: BrakeWatch(log: log, clock: time))
    issuer = NumberedIssuer(time)
    tokens = TokenSource(issuer: issuer, time: time)
    stops = StopBoard(store: store.base, clock: time)
    blocked = BlockedNumbers(
      store: store.base, key: NumberKey(store: store.base, keys: nil), clock: time)
    delivery = CallbackDelivery(
      parts, tokens: tokens, stops: stops, blocked: blocked, courier: courier,
      scope: tokens.scopeID("callback:write"), upstream: tokens.upstream,
      code: { Problem($0).code.rawValue }, jitter: { 0 })
  }

  var now: Instant { Instant(time.unixTime) }

  func intent(key: String = "k", deadline: Duration = .seconds(30)) throws -> CallbackIntent {
    CallbackIntent(
      id: CallbackID(at: now), callerID: "app", subject: nil, appID: nil, contact: try E164("+14155550165"),
      key: .init(text: key, fingerprint: [1]),
      terms: .init(dedupeWindow: .seconds(60), keyRetention: .seconds(3600), retention: .seconds(3600)),
      deadline: now.advanced(by: deadline))
  }

  /// The leave to make a callback, with what its record takes; nil where the number's callbacks of the day are used up.
  private func grant(_ intent: CallbackIntent, by policy: Policy) async throws -> Grant? {
    let facts = Facts(
      action: .callback, callerID: callerID, address: nil, phone: intent.contact, instant: now)
    let charges = policy.charges(for: facts)
    let found = try await memory.states(of: charges.map(\.key))
    let states = zip(charges.map(\.key), found)
      .map { ($0, $1.map { AllowanceLookup.state($0) } ?? .unused) }
    let decision = policy.decide(facts, states: FetchedStates(Dictionary(uniqueKeysWithValues: states)))
    guard case .granted(_, let grant) = decision.settledWithRecord(at: now) else { return nil }
    return grant
  }

  /// What the record of an intent takes: the number's only callback of the day; nil where it is used up.
  func charges(_ intent: CallbackIntent) async throws -> RecordCharges? {
    try await grant(intent, by: policy)?.charges
  }

  /// Nil where the number's only callback of the day is used up.
  func order(_ intent: CallbackIntent, recheck: (@Sendable () async -> Undelivered?)? = nil) async throws
    -> CallbackOrder?
  {
    guard let grant = try await grant(intent, by: policy) else { return nil }
    var intent = intent
    intent.charges = grant.charges
    return CallbackOrder(
      grant, intent: intent, content: [], deadline: time.now + .seconds(20),
      context: RequestContext(requestID: .init(), trace: nil), recheck: recheck)
  }

  /// Makes a callback as the gateway does; nil where the number's allowance is used up.
  func call(recheck: (@Sendable () async -> Undelivered?)? = nil) async throws -> DeliveryResult? {
    let intent = try intent()
    var hold = Hold(intent, parts)
    #expect(hold.claimKey(fingerprint: "a") == .free)
    #expect(await hold.takeNumber(deadline: time.now + .seconds(20)) == .free)
    guard let order = try await order(intent, recheck: recheck) else {
      hold.withdraw()
      return nil
    }
    return await carryOut(order, hold)
  }

  private func carryOut(_ order: CallbackOrder, _ hold: consuming Hold) async -> DeliveryResult? {
    let (results, continuation) = AsyncStream.makeStream(of: DeliveryResult.self)
    await delivery.carryOut(order, hold) { continuation.yield($0) }
    // Not in this task, which may be cancelled.
    return await Task { await results.first { _ in true } }.value
  }

  /// Whether key, number and turn are free.
  func isFree(_ intent: CallbackIntent) -> Bool {
    parts.inHand.look(.init(callerID: "app", text: "k"), fingerprint: "b") == .free
      && parts.inHand.count(at: CallbacksInHand.Number(intent)) == 0 && parts.queue.load == (0, 0)
  }

  /// Returns once something sleeps for a span or less.
  func untilSleeping(for span: Duration) async throws {
    let end = time.now + span
    try await eventually { self.time.due.contains { $0 <= end } }
  }

  // MARK: Appointments

  /// How late an appointment of the fixture may be sent.
  static let late = Duration.seconds(180)

  /// Books an appointment for now.
  func book(key: String = "k") async throws -> Booking {
    let booking = Booking(
      intent: try intent(key: key, deadline: Self.late + .seconds(20)), at: now, slot: now.seconds,
      content: [1, 2, 3], limits: .init(perSlot: 9, perNumber: 9))
    #expect(try await parts.store.book(booking, at: now) == .booked)
    return booking
  }

  /// Carries an appointment out as its keeper does.
  /// - Parameter due: When it was due as it was read; nil for now.
  func tryOut(
    _ booking: Booking, due: Instant? = nil, receipts: [AllowanceReceipt] = [],
    recheck: (@Sendable () async -> Undelivered?)? = nil
  ) async throws -> DeliveryResult {
    let kept = try await memory.scheduledAppointment(booking.intent.id)
    let takingNothing = Policy(brakes: .off)
    guard let grant = try await grant(booking.intent, by: takingNothing) else { throw NeverHappened() }
    let order = CallbackOrder(
      grant, intent: booking.intent, content: [], deadline: time.now + .seconds(20),
      context: RequestContext(requestID: .init(), trace: nil), recheck: recheck,
      appointment: OrderedAppointment(
        at: booking.at, due: due ?? kept?.due ?? booking.at, lastTry: booking.at.advanced(by: Self.late),
        tries: kept?.tries ?? 0, receipts: receipts.map(\.kept)))
    guard let result = await carryOut(order, Hold(booking.intent, parts)) else {
      throw NeverHappened()
    }
    return result
  }

  func record(_ booking: Booking) async throws -> StoredCallback {
    try #require(try await memory.callback(booking.intent.id, of: "app"))
  }
}

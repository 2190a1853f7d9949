// A callback delivery for tests, whose provider, token issuer and store are scripted.

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

/// A callback provider that reports the outcomes given to `init`, in order.
final class ScriptedCourier: Courier {
  /// One request to the provider.
  struct Request: Sendable {
    let token: String
    let timeout: Duration
    let startWithin: Duration?
  }

  private let reports: Mutex<[CourierReport.Outcome]>
  private let asked = Mutex<[Request]>([])
  /// Runs after a request has arrived and before its report.
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

/// Issues `token-1`, `token-2` and so on, or fails when a test says so.
final class NumberedIssuer: TokenIssuer {
  private let count = Atomic<Int>(0)
  private let time: any TimeSource
  /// Runs before each exchange. An error that it returns is thrown instead of a token.
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
  /// The caller in the grant. The record belongs to `app` in any case.
  let callerID: String
  /// Health of the store, which also says whether this machine's clock is right.
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

  /// The grant for a callback, with the charges of its record; nil if the number's daily limit is used up.
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

  /// Charges of the intent's record: the only callback that its number has per day. Nil if that is used up.
  func charges(_ intent: CallbackIntent) async throws -> RecordCharges? {
    try await grant(intent, by: policy)?.charges
  }

  /// An order for the intent; nil if the number's daily limit is used up.
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

  /// Makes a callback as the gateway does; nil if the number's daily limit is used up.
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
    // A task of its own still gets the result when the caller's task is cancelled.
    return await Task { await results.first { _ in true } }.value
  }

  /// Whether key, number and turn are free.
  func isFree(_ intent: CallbackIntent) -> Bool {
    parts.inHand.look(.init(callerID: "app", text: "k"), fingerprint: "b") == .free
      && parts.inHand.count(at: CallbacksInHand.Number(intent)) == 0 && parts.queue.load == (0, 0)
  }

  /// Returns once a sleeper wakes within a span.
  func untilSleeping(for span: Duration) async throws {
    let end = time.now + span
    try await eventually { self.time.due.contains { $0 <= end } }
  }

  // MARK: Appointments

  /// How long after its time an appointment of this fixture may still be sent.
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
  /// - Parameter due: When the appointment was due when the keeper read it; nil for its stored time.
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

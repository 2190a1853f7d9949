// A carrier of due appointments for tests, with a store in memory and a scripted provider.

import Gate
import HTTP
import HTTPServer
import JOSE
import JSON
import Platform
import Sealing
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import API
@testable import Appointments
@testable import Callers
@testable import Configuration
@testable import Deciding
@testable import Delivery
@testable import DeliverySupport
@testable import Gateway
@testable import Installations
@testable import Records
@testable import RoomSupport

/// A remote policy with a scripted answer.
final class ScriptedPolicy: HTTPTransport {
  private let result = Mutex<Result<String, TransportError>>(.success("true"))

  func set(_ next: Result<String, TransportError>) { result.withLock { $0 = next } }

  func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
    let text = try result.withLock { $0 }.get()
    return InboundResponse(status: 200, fields: [:], content: Array(text.utf8))
  }
}

final class CarrierFixture: Sendable {
  /// A configuration with the caller and the app of the bookings, whose numbers have one callback a day.
  static func yaml(callers: String = "app", apps: String = "shop: {}", rules: String = "", more: String = "")
    -> String
  {
    """
    callers: [{ id: \(callers), api_key: { sha256: "\(String(repeating: "ab", count: 32))" } }]
    apps: { \(apps) }
    callbacks: { brakes: { number_per_day: 1, per_5m: 0, per_hour: 0 } }
    rules: [\(rules)]
    \(more)
    """
  }

  let delivery: DeliveryFixture
  let policy = ScriptedPolicy()
  let keys = StoreKeys.sandbox
  let directory: InstallationDirectory
  let watch: AppointmentWatch
  private let current: Mutex<AppointmentSetting>
  private let output = RunningService.Output()
  private let sink: LogSink
  private let log: Log

  init(_ outcomes: CourierReport.Outcome..., yaml: String = yaml()) throws {
    delivery = DeliveryFixture(outcomes)
    directory = InstallationDirectory(store: delivery.memory, clock: delivery.time)
    watch = AppointmentWatch(store: delivery.store, time: delivery.time)
    sink = LogSink(lanes: 1, write: output.write)
    log = Log(sink: sink, lane: 0, level: .info, format: .json, clock: delivery.time)
    current = Mutex(try Self.setting(yaml, delivery, policy, directory))
  }

  private static func setting(
    _ yaml: String, _ delivery: DeliveryFixture, _ policy: ScriptedPolicy, _ directory: InstallationDirectory
  ) throws -> AppointmentSetting {
    let configuration = try Fixture.load(yaml, environment: [:], for: .sandbox).configuration
    return AppointmentSetting(
      configuration: configuration,
      decider: Decider(
        apps: AppRegistry(configuration.servedApps), policy: configuration.policy,
        stops: delivery.stops, ledger: delivery.ledger,
        remotes: RemotePolicies(transport: policy, log: nil, time: delivery.time)),
      delivery: delivery.delivery, directory: directory)
  }

  var now: Instant { delivery.now }
  var memory: any Store { delivery.memory }

  /// The carrier, with the bookings' store keys or others.
  func carrier(keys other: StoreKeys? = nil) -> AppointmentCarrier {
    AppointmentCarrier(
      delivery.parts, keys: other ?? keys, watch: watch,
      audit: AuditLog(sink: sink, clock: delivery.time, metrics: delivery.parts.metrics, log: log), log: log,
      setting: { [self] in current.withLock { $0 } })
  }

  /// Applies another configuration.
  func reload(_ yaml: String) throws {
    let next = try Self.setting(yaml, delivery, policy, directory)
    current.withLock { $0 = next }
  }

  /// Removes the configuration's section for appointments.
  func removeSection() {
    current.withLock { setting in
      var configuration = setting.configuration
      configuration.appointments = nil
      setting = AppointmentSetting(
        configuration: configuration, decider: setting.decider, delivery: setting.delivery,
        directory: setting.directory)
    }
  }

  // MARK: Bookings

  /// The facts of a booking, or of a callback.
  private func facts(_ caller: Caller, app: String?) throws -> Facts {
    var facts = Facts(
      action: .callback, callerID: caller.id, subject: caller.subject, appID: app,
      address: IPAddress("203.0.113.9"), phone: try E164("+14155550165"), instant: now)
    facts.installation = caller.installationFacts
    return facts
  }

  /// Takes the allowances of a callback to the number; nil if they are used up.
  func take(_ caller: Caller = Caller(authenticated: "app"), app: String? = "shop") async throws
    -> [AllowanceReceipt]?
  {
    let decider = current.withLock { $0.decider }
    return try await decider.ruled(try facts(caller, app: app), taking: true).grant?.receipts
  }

  /// Books an appointment for some seconds from now, which takes the number's one callback of the day.
  func book(
    in seconds: Int64 = 600, by caller: Caller = Caller(authenticated: "app"), app: String? = "shop",
    askedBefore question: Duration? = nil
  ) async throws -> Booking {
    let receipts = try #require(try await take(caller, app: app))
    let terms = CallbackIntent.Terms(
      dedupeWindow: .zero, keyRetention: .seconds(3600), retention: .seconds(3600))
    let id = CallbackID(at: now)
    let content = AppointmentContent(
      body: Array("{}".utf8), caller: caller, facts: try facts(caller, app: app),
      receipts: receipts.map(\.kept), context: RequestContext(requestID: RequestID("booking")!, trace: nil),
      terms: terms)
    var intent = CallbackIntent(
      id: id, callerID: caller.owner.callerID, subject: caller.owner.subject, appID: app,
      contact: content.contact, key: nil, terms: terms,
      deadline: now.advanced(by: .seconds(seconds + 200)))
    if question != nil {
      intent.notifies = InstallationIdentity(
        try #require(InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")), generation: 1)
    }
    var booking = Booking(
      intent: intent, at: now.advanced(by: .seconds(seconds)), slot: 0,
      content: try content.sealed(with: keys, for: id), limits: .init(perSlot: 9, perNumber: 9))
    booking.confirmAt = question.map { booking.at.advanced(by: .zero - $0) }
    #expect(try await memory.book(booking, at: now) == .booked)
    return booking
  }

  /// Sends a booking's question to its customer, with the given result.
  func send(_ booking: Booking, _ outcome: NoticeOutcome) async throws {
    let record = try await record(booking)
    let notices = try #require(record.notices)
    let device = StoredDevice(
      installation: notices.installation, platform: "http", token: "canary", registered: now)
    let due = try #require(DueNotice(record, to: device))
    #expect(
      try await memory.takeNotice(
        due, id: SHA256Digest(of: Array(booking.intent.id.description.utf8)), until: booking.at, at: now))
    let taken = try #require(DueNotice(try await self.record(booking), to: device))
    try await memory.settleNotice(taken, outcome)
  }

  /// The appointment as the keeper reads it.
  func due(_ booking: Booking) async throws -> DueAppointment {
    try #require(try await memory.scheduledAppointment(booking.intent.id))
  }

  /// Advances the clock to an appointment's time and handles the appointment.
  @discardableResult
  func carryOut(_ booking: Booking, late: Duration = .zero) async throws -> AppointmentKeeper.Handling {
    let due = try await due(booking)
    delivery.time.advance(by: booking.at - now + late)
    return await carrier().handle(due)
  }

  func record(_ booking: Booking) async throws -> StoredCallback {
    try #require(try await memory.callbacks([booking.intent.id]).first)
  }

  /// Whether the number's one callback of the day is available again. If so, the check takes it.
  func isGivenBack() async throws -> Bool { try await take() != nil }

  /// Every line written, including audit lines.
  func lines() throws -> [JSONValue] {
    sink.start { _ in [] }
    #expect(sink.close(within: .seconds(10)))
    return try output.lines()
  }

  /// The only audit line.
  func auditLine() throws -> JSONValue {
    let lines = try lines().filter { $0["log"] == "audit" }
    #expect(lines.count == 1)
    return try #require(lines.first)
  }
}

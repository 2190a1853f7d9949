// Tests of the nightly report: which instance requests it, how often, for which span, and how failures are
// classified.

import Gate
import HTTP
import Platform
import Records
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Outcomes

/// A store that only matches calls to callbacks. A call that a test does not list matches none.
private final class Callbacks: OutcomeStore {
  let calls = Mutex<[String]>([])
  /// Callbacks by call.
  let told = Mutex<[String: StoredCallback]>([:])
  /// Calls that fit several callbacks until another call is matched.
  let ambiguous = Mutex<[String: String]>([:])

  func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant) async throws(StoreError)
    -> CallMatch
  {
    if let other = ambiguous.withLock({ $0[call.id] }), !calls.withLock({ $0.contains(other) }) {
      calls.withLock { $0.append(call.id) }
      return .several
    }
    calls.withLock { $0.append(call.id) }
    return told.withLock { $0[call.id] }.map { .set($0) } ?? .none
  }
}

@Suite struct NightlyReportTests {
  fileprivate typealias Answer = Result<[String], NightlyReport.Failure>
  /// 2026-11-23T03:29:00Z.
  private static let start = UnixTime(seconds: 1_795_404_540)
  private static let day = ["{\"entries\":[\(entry("c1"))]}"]

  private static func entry(_ id: String) -> String {
    #"{"call_id":"\#(id)","type":"outbound","start_at":"2026-11-23T01:00:00Z","end_at":"2026-11-23T01:01:00Z","#
      + #""talk_time":40,"contact_phone_number":"+14155550123","talkdesk_phone_number":"+18005550199"}"#
  }

  private static func at(_ text: String) throws -> Instant { try #require(Instant(rfc3339: text)) }

  /// Instances that share a store, and Talkdesk's responses in order. If no response is left, Talkdesk works
  /// on the report until it is given up.
  private final class Fixture: Sendable {
    struct Instance {
      let report: NightlyReport
      let job: Task<Void, Never>
    }

    let time = ManualTime(NightlyReportTests.start)
    let callbacks = Callbacks()
    let store = memoryStore()
    let isClockRight = Mutex(true)
    let asked = Mutex<[(from: Instant, to: Instant)]>([])
    private let answers: Mutex<[Answer]>
    private let instances = Mutex<[Int: Instance]>([:])
    private let settings: OutcomeSettings

    /// - Parameters:
    ///   - minute: minutes after midnight at which the report is requested.
    ///   - read: the end of the calls read before.
    init(
      instances count: Int = 1, at minute: Int64 = 210, read: String? = "2026-11-22T03:30:00Z",
      _ answers: [Answer]
    ) async throws {
      self.answers = Mutex(answers)
      var settings = OutcomeSettings(hooks: [])
      settings.report = ReportSettings(second: minute * 60, zone: .utc)
      self.settings = settings
      if let read = try read.map(at) {
        try await store.updateReport { _ in (ReportState(readUntil: read), ()) }
      }
      for number in 0..<count { start(number) }
    }

    func start(_ number: Int) {
      let sink = LogSink(lanes: 2) { _ in true }
      let log = Log(sink: sink, lane: 1, level: .error, format: .json, clock: time)
      let desk = OutcomeDesk(
        store: callbacks, clock: time,
        audit: AuditLog(
          sink: sink, clock: time, metrics: ServiceMetrics(loops: 1, routes: ["a"], audited: []), log: log),
        log: log, settings: { [settings] in settings }, onOutcome: { _ in })
      let report = NightlyReport(
        desk, store, clock: time, log: log, isClockRight: { [self] in isClockRight.withLock { $0 } },
        settings: { [settings] in settings }, mostBytes: 1 << 20,
        fetch: { [self] from, to, hold, take throws(NightlyReport.Failure) in
          asked.withLock { $0.append((from, to)) }
          guard let answer = answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
            _ = await time.hasSlept(until: time.now + .seconds(86_400))
            throw NightlyReport.Failure("cancelled")
          }
          for text in try answer.get() where !take(Array(text.utf8)) {
            throw NightlyReport.Failure("it was not wanted")
          }
        })
      instances.withLock { $0[number] = Instance(report: report, job: Task { await report.run() }) }
    }

    var count: Int { asked.withLock { $0.count } }
    var spans: [String] { asked.withLock { $0.map { "\($0.from.rfc3339) \($0.to.rfc3339)" } } }
    func state() async throws -> ReportState? { try await store.updateReport { (nil, $0) } }

    /// Lets time pass in steps, and lets every instance wake after each.
    func pass(_ duration: Duration, by step: Duration = .seconds(5)) async throws {
      for _ in 0..<Int(duration / step) {
        try await time.untilSleepers(instances.withLock { $0.count })
        time.advance(by: step)
        await settle()
      }
    }

    /// Lets time pass at once, so that no instance wakes in between.
    func jump(_ span: Duration) async throws {
      try await time.untilSleepers(instances.withLock { $0.count })
      time.advance(by: span)
      await settle()
    }

    /// Ends an instance, either as SIGKILL would or in order.
    func end(_ number: Int, killed: Bool = false) async {
      guard let instance = instances.withLock({ $0.removeValue(forKey: number) }) else { return }
      instance.job.cancel()
      await instance.job.value
      if !killed { await instance.report.end() }
    }

    func end() async {
      for number in instances.withLock({ Array($0.keys) }) { await end(number) }
    }
  }

  @Test func `one of two instances asks once a night, for what came since the last report`() async throws {
    let fixture = try await Fixture(instances: 2, [.success(Self.day), .success([#"{"entries":[]}"#])])
    try await fixture.pass(.seconds(55))
    #expect(fixture.count == 0)
    try await fixture.pass(.seconds(7200), by: .seconds(60))
    #expect(fixture.spans == ["2026-11-22T03:30:00Z 2026-11-23T03:30:00Z"])
    #expect(fixture.callbacks.calls.withLock { $0 } == ["c1"])
    #expect(try await fixture.state() == ReportState(readUntil: Self.at("2026-11-23T03:30:00Z")))
    try await fixture.jump(.seconds(86_400 - 7200))
    try await fixture.pass(.seconds(60))
    #expect(fixture.spans.dropFirst() == ["2026-11-23T03:30:00Z 2026-11-24T03:30:00Z"])
    await fixture.end()
  }

  @Test func `the very first start asks for nothing, and notes its time`() async throws {
    let fixture = try await Fixture(read: nil, [.success(Self.day)])
    try await fixture.pass(.seconds(30))
    #expect(fixture.count == 0)
    #expect(try await fixture.state() == ReportState(readUntil: Self.at("2026-11-23T03:29:00Z")))
    try await fixture.pass(.seconds(60))
    #expect(fixture.spans == ["2026-11-23T03:29:00Z 2026-11-23T03:30:00Z"])
    await fixture.end()
  }

  @Test(arguments: [63, 5 * 3600, 86_340])
  func `a server that was away at that time asks within 30 seconds of its start`(seconds: Int) async throws {
    let fixture = try await Fixture(instances: 0, [.success(Self.day)])
    fixture.time.advance(by: .seconds(seconds))
    fixture.start(0)
    try await fixture.pass(.seconds(30))
    #expect(fixture.spans == ["2026-11-22T03:30:00Z 2026-11-23T03:30:00Z"])
    await fixture.end()
  }

  @Test func `what was missed is asked for, seven days back at most`() async throws {
    let fixture = try await Fixture(read: "2026-10-01T03:30:00Z", [.success(Self.day)])
    try await fixture.pass(.seconds(10))
    // The report is due at once, because nobody requested it the night before.
    let asked = fixture.asked.withLock { $0 }
    let (from, to) = try #require(asked.first)
    #expect(to.rfc3339 == "2026-11-22T03:30:00Z")
    #expect(Instant(fixture.time.unixTime) - from <= .seconds(7 * 86_400 + 10))
    #expect(Instant(fixture.time.unixTime) - from >= .seconds(7 * 86_400))
    await fixture.end()
  }

  @Test func `an instance that ends while Talkdesk works on the report lets another one ask`() async throws {
    let fixture = try await Fixture([])
    try await fixture.pass(.seconds(70))
    #expect(fixture.count == 1)
    fixture.start(1)
    try await fixture.pass(.seconds(600), by: .seconds(60))
    #expect(fixture.count == 1, "one asks at a time")
    await fixture.end(0)
    try await fixture.pass(.seconds(60))
    #expect(fixture.spans == Array(repeating: "2026-11-22T03:30:00Z 2026-11-23T03:30:00Z", count: 2))
    await fixture.end()
  }

  @Test func `an instance that is killed meanwhile lets another one ask after two hours`() async throws {
    let fixture = try await Fixture([])
    try await fixture.pass(.seconds(70))
    #expect(fixture.count == 1)
    await fixture.end(0, killed: true)
    fixture.start(1)
    try await fixture.pass(.seconds(7100), by: .seconds(50))
    #expect(fixture.count == 1)
    try await fixture.pass(.seconds(150))
    #expect(fixture.count == 2)
    await fixture.end()
  }

  @Test func `an instance whose clock is wrong leaves the report to others`() async throws {
    let fixture = try await Fixture([.success(Self.day)])
    fixture.isClockRight.withLock { $0 = false }
    try await fixture.pass(.seconds(600), by: .seconds(60))
    #expect(fixture.count == 0)
    fixture.isClockRight.withLock { $0 = true }
    try await fixture.pass(.seconds(30))
    #expect(fixture.count == 1)
    await fixture.end()
  }

  @Test(arguments: [
    [Answer.failure(.init("down"))], [.success(["[}"])], [.success(["{\"entries\":[\(entry("c1"))"])],
    [.success(["{\"entries\":[\(entry("c1"))", ",{"])],
  ])
  private func `a report that fails or breaks off is asked for again`(first: [Answer]) async throws {
    let fixture = try await Fixture(first + [.success(Self.day)])
    try await fixture.pass(.seconds(300))
    #expect(fixture.count == 1)
    try await fixture.pass(.seconds(400))
    #expect(fixture.spans == Array(repeating: "2026-11-22T03:30:00Z 2026-11-23T03:30:00Z", count: 2))
    #expect(fixture.callbacks.calls.withLock { $0.last } == "c1")
    try await fixture.pass(.seconds(7200), by: .seconds(60))
    #expect(fixture.count == 2)
    await fixture.end()
  }

  @Test func `after four tries the calls come with the next report`() async throws {
    let failed = Array(repeating: Answer.failure(.init("down")), count: 4)
    let fixture = try await Fixture(instances: 2, failed + [.success(Self.day)])
    try await fixture.pass(.seconds(3 * 3600), by: .seconds(60))
    #expect(fixture.count == 4)
    try await fixture.jump(.seconds(21 * 3600))
    try await fixture.pass(.seconds(70))
    #expect(fixture.spans.last == "2026-11-22T03:30:00Z 2026-11-24T03:30:00Z" && fixture.count == 5)
    await fixture.end()
  }

  @Test func `a report beyond what is read is not asked for again`() async throws {
    let rest = String(repeating: " ", count: 1 << 20)
    let fixture = try await Fixture([.success(["[\(Self.entry("c1")),", rest])])
    try await fixture.pass(.seconds(900), by: .seconds(30))
    #expect(fixture.callbacks.calls.withLock { $0 } == ["c1"])
    #expect(fixture.count == 1)
    #expect(try await fixture.state() == ReportState(readUntil: Self.at("2026-11-23T03:30:00Z")))
    await fixture.end()
  }

  @Test func `a call that fits several callbacks is tried again at the end of the report`() async throws {
    let fixture = try await Fixture([.success(["[\(Self.entry("c1")),", "\(Self.entry("c2"))]"])])
    fixture.callbacks.ambiguous.withLock { $0 = ["c1": "c2"] }
    fixture.callbacks.told.withLock {
      $0["c2"] = StoredCallback(
        id: CallbackID(at: Instant(seconds: 1)), callerID: "app", subject: nil, appID: nil,
        contact: "+*********23", createdAt: Instant(seconds: 1), at: nil, settledAt: nil, status: .accepted,
        code: nil, upstreamStatus: nil, platformTID: nil, verificationCode: nil, notices: nil, ticket: nil,
        origin: .other, alias: nil, outcome: nil)
    }
    try await fixture.pass(.seconds(70))
    #expect(fixture.callbacks.calls.withLock { $0 } == ["c1", "c2", "c1"])
    await fixture.end()
  }

  @Test func `however long a report is, only some of its calls wait to be matched`() async throws {
    let count = rounds(5000, of: 20_000)
    var settings = OutcomeSettings(hooks: [])
    settings.report = ReportSettings(second: 0, zone: .utc)
    let feed = ReportFeed(settings, at: Instant(Self.start), most: 1 << 30)
    let sent = Mutex(0)
    let most = Mutex(0)
    let sender = Task {
      _ = feed.take(Array("[".utf8))
      for number in 0..<count {
        try await eventually { !feed.hold.isHeld }
        _ = feed.take(Array((Self.entry("c\(number)") + (number + 1 < count ? "," : "]")).utf8))
        sent.withLock { $0 += 1 }
        most.withLock { $0 = max($0, feed.waiting) }
      }
      feed.end()
    }
    try await eventually { feed.hold.isHeld }
    await settle()
    #expect(sent.withLock { $0 } == ReportFeed.most, "the sender waits")
    var matched = 0
    for await calls in feed.calls {
      matched += calls.count
      feed.matched(calls.count)
    }
    try await sender.value
    #expect(matched == count && feed.count == count && feed.isWhole)
    #expect(most.withLock { $0 } <= ReportFeed.most)
  }
}

// Tests of the nightly report: who asks for it, how often, and for what a failure is taken.

import Gate
import Platform
import Records
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Outcomes

/// A store of which only the calls are asked: each is some callback's.
private final class Callbacks: OutcomeStore {
  let calls = Mutex<[String]>([])

  func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant) async throws(StoreError)
    -> CallMatch
  {
    calls.withLock { $0.append(call.id) }
    return .none
  }
}

@Suite struct NightlyReportTests {
  /// 2026-11-23T03:29:00Z.
  private static let start = UnixTime(seconds: 1_795_404_540)
  private static let entry =
    #"{"call_id":"c1","type":"outbound","start_at":"2026-11-23T01:00:00Z","end_at":"2026-11-23T01:01:00Z","#
    + #""talk_time":40,"contact_phone_number":"+14155550123","talkdesk_phone_number":"+18005550199"}"#

  /// Instances that share a store, and Talkdesk's answers in order.
  private final class Fixture: Sendable {
    let time = ManualTime(NightlyReportTests.start)
    let callbacks = Callbacks()
    let asked = Mutex<[(from: Instant, to: Instant)]>([])
    private let answers: Mutex<[Result<[String], NightlyReport.Failure>]>
    private let jobs = Mutex<[Task<Void, Never>]>([])

    /// - Parameter minute: When the report is asked for, after midnight.
    init(
      instances: Int = 1, at minute: Int64 = 210, _ answers: [Result<[String], NightlyReport.Failure>]
    ) {
      self.answers = Mutex(answers)
      let ledger = AllowanceLedger(store: memoryStore())
      var settings = OutcomeSettings(hooks: [])
      settings.report = ReportSettings(second: minute * 60, zone: .utc)
      let (callbacks, time) = (callbacks, time)
      let sink = LogSink(lanes: 2) { _ in true }
      let log = Log(sink: sink, lane: 1, level: .error, format: .json, clock: time)
      for _ in 0..<instances {
        let desk = OutcomeDesk(
          store: callbacks, clock: time,
          audit: AuditLog(
            sink: sink, clock: time, metrics: ServiceMetrics(loops: 1, routes: ["a"], audited: []), log: log),
          log: log, settings: { [settings] in settings }, onOutcome: { _ in })
        let fetch: NightlyReport.Fetch = { [self] from, to, take throws(NightlyReport.Failure) in
          asked.withLock { $0.append((from, to)) }
          let answer = self.answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
          for text in try answer?.get() ?? [] where !take(Array(text.utf8)) {
            throw NightlyReport.Failure("it was not wanted")
          }
        }
        let report = NightlyReport(
          desk, ledger, clock: time, log: log, settings: { [settings] in settings }, fetch: fetch)
        jobs.withLock { $0.append(Task { await report.run() }) }
      }
    }

    var count: Int { asked.withLock { $0.count } }

    /// Lets time pass in steps in which every instance looks at it.
    func pass(_ duration: Duration) async {
      for _ in 0..<Int(duration.components.seconds / 5) {
        await time.untilSleepers(jobs.withLock { $0.count })
        time.advance(by: .seconds(5))
        await settle()
      }
    }

    func end() async {
      let jobs = jobs.withLock { $0 }
      for job in jobs { job.cancel() }
      for job in jobs { await job.value }
    }
  }

  @Test func `one of two instances asks once a night, for the day before`() async throws {
    let fixture = Fixture(instances: 2, [.success(["{\"entries\":[\(Self.entry)]}"])])
    await fixture.pass(.seconds(50))
    #expect(fixture.count == 0)
    await fixture.pass(.seconds(7200))
    #expect(fixture.count == 1)
    let asked = fixture.asked.withLock { $0 }
    let (from, to) = try #require(asked.first)
    #expect(to == Instant(rfc3339: "2026-11-23T03:30:00Z"))
    #expect(from == Instant(rfc3339: "2026-11-22T03:30:00Z"))
    #expect(fixture.callbacks.calls.withLock { $0 } == ["c1"])
    await fixture.end()
  }

  @Test(arguments: [
    [Result<[String], NightlyReport.Failure>.failure(.init("down"))], [.success(["[}"])],
    [.success(["{\"entries\":[\(entry)"])], [.success(["{\"entries\":[\(entry)", ",{"])],
  ])
  func `a report that fails or breaks off is asked for again`(
    first: [Result<[String], NightlyReport.Failure>]
  ) async {
    let fixture = Fixture(first + [.success(["{\"entries\":[\(Self.entry)]}"])])
    await fixture.pass(.seconds(300))
    #expect(fixture.count == 1)
    await fixture.pass(.seconds(400))
    #expect(fixture.count == 2)
    #expect(fixture.callbacks.calls.withLock { $0.last } == "c1")
    await fixture.pass(.seconds(7200))
    #expect(fixture.count == 2)
    await fixture.end()
  }

  @Test func `a try after midnight takes nothing from the next night`() async {
    let day = ["{\"entries\":[\(Self.entry)]}"]
    let fixture = Fixture(at: 1435, [.failure(.init("down")), .success(day), .success(day)])
    func jump(_ span: Duration) async {
      await fixture.time.untilSleepers(1)
      fixture.time.advance(by: span)
      await settle()
    }
    await fixture.pass(.seconds(10))
    // From 03:29:10 to 23:54:50.
    await jump(.seconds(73_540))
    await fixture.pass(.seconds(60))
    #expect(fixture.count == 1)
    await fixture.pass(.seconds(900))
    #expect(fixture.count == 2)
    await jump(.seconds(85_400))
    await fixture.pass(.seconds(300))
    #expect(fixture.count == 3)
    await fixture.end()
  }

  @Test func `four tries are all of a night`() async {
    let fixture = Fixture(Array(repeating: .failure(.init("down")), count: 9))
    await fixture.pass(.seconds(3 * 3600))
    #expect(fixture.count == 4)
    await fixture.end()
  }
}

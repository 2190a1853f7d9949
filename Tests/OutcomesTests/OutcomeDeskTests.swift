// Tests of how events are processed after they were acknowledged.

import API
import Gate
import HTTPServer
import JOSE
import JSON
import Metrics
import Platform
import Records
import Store
import Synchronization
import TestSupport
import Testing

@testable import Outcomes

/// A store with scripted matches.
private final class Matches: OutcomeStore {
  struct State {
    var answers: [Result<CallMatch, StoreError>] = []
    var otherwise: CallMatch = .none
    var asked: [String] = []
    /// Whether the store never answers.
    var isStuck = false
  }

  let state = Mutex(State())

  func conclude(_ call: EndedCall, within window: CallWindow, at now: Instant) async throws(StoreError)
    -> CallMatch
  {
    while state.withLock({ $0.isStuck }) { await Task.yield() }
    return try state.withLock { (state) throws(StoreError) in
      state.asked.append(call.id)
      return try state.answers.isEmpty ? state.otherwise : state.answers.removeFirst().get()
    }
  }
}

@Suite struct OutcomeDeskTests {
  private static let hook = HookSecret(Secret(Array(repeating: 7, count: 32)))
  private static let settings = OutcomeSettings(hooks: [hook])

  private final class Fixture: Sendable {
    let store = Matches()
    let time = ManualTime(UnixTime(seconds: 1_795_428_060))
    let desk: OutcomeDesk
    private let job: Task<Void, Never>

    init(_ sink: LogSink = LogSink(lanes: 2) { _ in true }) {
      let (store, time) = (store, time)
      let log = Log(sink: sink, lane: 1, level: .error, format: .json, clock: time)
      desk = OutcomeDesk(
        store: store, clock: time,
        audit: AuditLog(
          sink: sink, clock: time, metrics: ServiceMetrics(loops: 1, routes: ["a"], audited: []), log: log),
        log: log, settings: { settings }, onOutcome: { _ in })
      job = Task { [desk] in await desk.run() }
    }

    func end() async {
      job.cancel()
      await job.value
    }

    func take(_ id: String, token: String = OutcomeDeskTests.hook.exposedEventToken()) throws -> Bool {
      let body: JSONObject = [
        "token": .string(token), "call_id": .string(id), "contact_phone_number": "+14155550123",
        "talkdesk_phone_number": "+18005550199", "start_time": "1795428000",
        "timestamp": "1795428013", "duration": "1",
      ]
      return desk.take(
        body.serialized(), by: OutcomeDeskTests.hook,
        HookedEvent(
          requestID: try #require(RequestID("r-1")), address: IPAddress(v4: 0x7F00_0001), received: time.now))
    }

    var asked: Int { store.state.withLock { $0.asked.count } }

    func metric(_ sample: String) -> Bool {
      var text = MetricsText()
      desk.metrics.append(to: &text)
      return String(decoding: text.bytes, as: UTF8.self).contains(sample + "\n")
    }
  }

  @Test func `an event that fits nothing is tried again for a minute, and counted once`() async throws {
    let fixture = Fixture()
    #expect(try fixture.take("a"))
    try await eventually { fixture.asked == 1 }
    for _ in 0..<140 where fixture.asked < 7 {
      try await fixture.time.untilSleepers(1)
      fixture.time.advance(by: .milliseconds(500))
      await settle()
    }
    try await eventually { fixture.asked == 7 }
    for _ in 0..<4 {
      fixture.time.advance(by: .seconds(100))
      await settle()
    }
    #expect(fixture.asked == 7)
    #expect(fixture.metric(#"callgate_outcome_events_total{result="unmatched"} 1"#))
    await fixture.end()
  }

  @Test func `the audit line of an outcome names the user whose callback it is`() async throws {
    let written = Mutex<[UInt8]>([])
    let sink = LogSink(lanes: 2) { bytes in
      written.withLock { $0 += bytes }
      return true
    }
    let fixture = Fixture(sink)
    let record = StoredCallback(
      id: CallbackID(at: Instant(seconds: 1)), callerID: "app-users", subject: "user-614f", appID: "shop",
      contact: "+*********23", createdAt: Instant(seconds: 1), at: nil, settledAt: nil, status: .accepted,
      code: nil, upstreamStatus: nil, platformTID: nil, verificationCode: nil, notices: nil, ticket: nil,
      origin: .other, alias: nil, outcome: nil)
    fixture.store.state.withLock { $0.otherwise = .set(record) }
    #expect(try fixture.take("a"))
    try await eventually { fixture.metric(#"callgate_outcome_events_total{result="matched"} 1"#) }
    // The call ended 47 s ago.
    #expect(fixture.metric(#"callgate_outcome_delay_seconds_bucket{le="30"} 0"#))
    #expect(fixture.metric(#"callgate_outcome_delay_seconds_bucket{le="60"} 1"#))
    await fixture.end()
    sink.start { _ in [] }
    #expect(sink.close(within: .seconds(5)))
    let line = try JSONValue(parsing: written.withLock { Array($0.dropLast()) })
    #expect(line["action"] == "outcome" && line["caller"] == "app-users" && line["subject"] == "user-614f")
    #expect(line["app"] == "shop" && line["reason"] == "reached")
  }

  @Test func `an event without the token is counted and explains nothing`() async throws {
    let fixture = Fixture()
    #expect(try fixture.take("a", token: "another"))
    try await eventually { fixture.metric(#"callgate_outcome_events_total{result="ignored"} 1"#) }
    #expect(fixture.asked == 0)
    await fixture.end()
  }

  @Test func `a thousand events wait, and one more is refused`() async throws {
    let fixture = Fixture()
    fixture.store.state.withLock { $0.isStuck = true }
    // Events that are being processed no longer count as waiting.
    var taken = 0
    while taken < 2 * OutcomeDesk.mostWaiting, try fixture.take("\(taken)") {
      taken += 1
      await Task.yield()
    }
    let count = taken
    #expect((OutcomeDesk.mostWaiting...OutcomeDesk.mostWaiting + 40).contains(count))
    fixture.store.state.withLock { $0.isStuck = false }
    try await eventually { fixture.asked >= count }
    #expect(try fixture.take("again"))
    await fixture.end()
  }

  @Test func `while the store fails the event is tried again`() async throws {
    let fixture = Fixture()
    fixture.store.state.withLock {
      $0.answers = Array(repeating: .failure(StoreError(.unavailable, "test", "down")), count: 3)
    }
    #expect(try fixture.take("a"))
    for count in 1...3 {
      try await eventually { fixture.asked == count }
      fixture.time.advance(by: .seconds(5))
      await settle()
    }
    try await eventually { fixture.asked >= 4 }
    await fixture.end()
  }

  @Test func `calls are kept up to a number`() throws {
    var kept = KeptCalls()
    let call = EndedCall(
      id: "a", contact: try E164("+14155550123"), talkdesk: try E164("+18005550199"),
      start: Instant(seconds: 1),
      outcome: CallOutcome(.reached, source: .trigger, at: Instant(seconds: 2)))
    let event = HookedEvent(
      requestID: try #require(RequestID("r-1")), address: IPAddress(v4: 1),
      received: MonotonicTime(nanoseconds: 0))
    for _ in 0...KeptCalls.most { kept.keep(KeptCalls.Entry(call: call, event: event)) }
    #expect(kept.count == KeptCalls.most)
    #expect(kept.takeDue(at: MonotonicTime(nanoseconds: 999_999_999)).isEmpty)
    #expect(kept.takeDue(at: MonotonicTime(nanoseconds: 1_000_000_000)).count == KeptCalls.most)
    #expect(kept.count == 0)
  }
}

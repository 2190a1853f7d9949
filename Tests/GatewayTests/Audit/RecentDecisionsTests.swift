// Tests of the recent decisions, and of the last hour's counts, that operators see.

import HTTP
import HTTPServer
import JSON
import Metrics
import Platform
import TestSupport
import Testing

@testable import API
@testable import Callers
@testable import Gate
@testable import Gateway
@testable import Records

@Suite struct RecentDecisionsTests {
  private func append(_ recent: RecentDecisions, _ count: Int, lane: Int = 0) {
    for number in 0..<count { recent.append(Array("{\"n\":\(number)}\n".utf8).span, lane: lane) }
  }

  private func numbers(_ recent: RecentDecisions, after number: Int = 0) -> [Int] {
    recent.after(number).entries.map(\.number)
  }

  @Test func `the last 200 are kept, whichever lanes they came on`() {
    let recent = RecentDecisions(lanes: 3)
    #expect(recent.after(0).last == 0 && numbers(recent).isEmpty)
    for lane in 0..<3 { append(recent, 50, lane: lane) }
    #expect(numbers(recent) == Array(1...150))
    append(recent, 1000, lane: 1)
    append(recent, 7, lane: 2)
    #expect(numbers(recent) == Array(958...1157))
    #expect(recent.after(0).last == 1157)
  }

  /// Appends the audit line of a decision about a request.
  private func append(_ recent: RecentDecisions, of id: String, lane: Int = 0, filling: Int = 0) {
    let line =
      #"{"log":"audit","time":"2026-11-20T15:04:05.000Z","request_id":"\#(id)","x":"\#(String(repeating: "x", count: filling))"}"#
    recent.append(Array((line + "\n").utf8).span, lane: lane)
  }

  @Test func `the last 10,000 are found by their request id, on one lane or on several`() {
    for lanes in [1, 3] {
      let recent = RecentDecisions(lanes: lanes)
      for number in 0..<20_000 { append(recent, of: "id-\(number)", lane: number % lanes) }
      for number in [10_000, 10_001, 15_000, 19_999] {
        #expect(recent.decisions(of: "id-\(number)").map(\.number) == [number + 1])
      }
      #expect(recent.decisions(of: "id-0").isEmpty)
      // Neither the beginning of an ID nor the value of another member counts as an ID.
      #expect(recent.decisions(of: "id-1999").isEmpty)
      #expect(recent.decisions(of: "x").isEmpty)
      append(recent, of: "id-19999", lane: 0)
      #expect(recent.decisions(of: "id-19999").map(\.number) == [20_000, 20_001])
    }
  }

  @Test func `long lines are found within a number of octets`() {
    let recent = RecentDecisions(lanes: 1, archiveOctets: 1 << 20)
    for number in 0..<5000 { append(recent, of: "id-\(number)", filling: 1000) }
    #expect(recent.decisions(of: "id-4999").count == 1)
    #expect(recent.decisions(of: "id-4200").count == 1)
    // One MiB holds about 950 such lines, besides those of the lane.
    #expect(recent.decisions(of: "id-3000").isEmpty)
  }

  @Test func `what lines have in common counts once`() {
    let recent = RecentDecisions(lanes: 1, archiveOctets: 1 << 18)
    let verdicts = String(repeating: "x", count: 1000)
    var lines: [[UInt8]] = []
    for number in 0..<2000 {
      let head = #"{"log":"audit","time":"2026-11-20T15:04:05.000Z","request_id":"id-\#(number)","x":""#
      let line = Array((head + verdicts + "\"}\n").utf8)
      recent.append(
        line.span, RepeatedParts(verdicts: head.utf8.count..<head.utf8.count + 1000), lane: 0)
      lines.append(line)
    }
    // Without sharing, 256 KiB would hold about 240 such lines.
    for number in [0, 1000, 1999] {
      #expect(recent.decisions(of: "id-\(number)").map(\.line) == [lines[number]])
    }
  }

  @Test func `only those after a number are given`() {
    let recent = RecentDecisions(lanes: 2)
    append(recent, 10)
    #expect(numbers(recent, after: 7) == [8, 9, 10])
    #expect(numbers(recent, after: 10).isEmpty)
    append(recent, 1, lane: 1)
    #expect(numbers(recent, after: 10) == [11])
    // Numbers from an earlier process.
    #expect(numbers(recent, after: 12) == Array(1...11))
    #expect(numbers(recent, after: .max) == Array(1...11))
  }

  @Test func `a reader who goes on from the last number misses no decision of other threads`() async {
    for _ in 0..<300 {
      let recent = RecentDecisions(lanes: 4)
      let seen = await withTaskGroup(of: [Int].self) { group in
        for lane in 0..<4 {
          group.addTask {
            append(recent, RecentDecisions.capacity / 4, lane: lane)
            return []
          }
        }
        group.addTask {
          var seen: [Int] = []
          var last = 0
          while last < RecentDecisions.capacity {
            let (entries, newest) = recent.after(last)
            seen += entries.map(\.number)
            last = newest
            await Task.yield()
          }
          return seen
        }
        return await group.reduce(into: [], +=)
      }
      #expect(seen == Array(1...RecentDecisions.capacity))
    }
  }

  @Test(arguments: [LogSettings.Format.json, .text])
  func `a decision is an audit line, whatever the log's format; a request without one is not listed`(
    format: LogSettings.Format
  ) throws {
    // The lane fills up, because nothing reads it.
    let sink = LogSink(lanes: 2) { _ in true }
    let clock = SystemClock()
    let log = Log(sink: sink, lane: 1, level: .error, format: format, clock: clock)
    let audit = AuditLog(sink: sink, clock: clock, metrics: ServiceMetrics(loops: 1), log: log)
    var record = AuditRecord(
      action: .callback, requestID: try #require(RequestID("r-1")), address: IPAddress("203.0.113.9"))
    record.outcome = nil
    audit.append(record, since: clock.now, lane: 0)
    #expect(audit.recent.after(0).last == 0)
    record.outcome = .deny
    record.code = .closed
    record.rule = "opening-hours"
    record.contact = "+*********23"
    let before = sink.droppedLines
    var count = 0
    while sink.droppedLines == before {
      audit.append(record, since: clock.now, lane: 0)
      count += 1
    }
    #expect(audit.recent.after(0).last == count)
    for entry in audit.recent.after(count - 2).entries {
      let line = try JSONValue(parsing: entry.line)
      #expect(line["log"] == "audit" && line["request_id"] == "r-1" && line["contact"] == "+*********23")
      #expect(line["decision"] == "deny" && line["code"] == "closed" && line["rule"] == "opening-hours")
    }
  }
}

@Suite struct RecentActivityTests {
  private func decide(_ metrics: ServiceMetrics, _ code: Problem.Code? = nil, rule: String? = nil) {
    var record = AuditRecord(action: .access, requestID: RequestID(), address: nil)
    record.outcome = code.map { $0.isError ? .error : .deny } ?? .allow
    record.code = code
    record.rule = rule
    metrics.decided(record, lane: 0)
  }

  @Test func `decisions of the last hour are counted by minute, and by code and rule`() async throws {
    // Twenty seconds after a whole minute.
    let clock = ManualTime(UnixTime(seconds: 1_800_000_020))
    let metrics = ServiceMetrics(loops: 1)
    metrics.register(rules: ["opening-hours"])
    let activity = RecentActivity(metrics: metrics, clock: clock)
    let reading = Task { await activity.keepRead() }
    try await clock.untilSleepers(1)
    decide(metrics)
    decide(metrics, .closed, rule: "opening-hours")
    clock.advance(by: .seconds(40))
    try await clock.untilSleepers(1)
    for _ in 0..<3 { decide(metrics, .upstreamTimeout) }
    let report = activity.report()
    #expect(report.minutes.count == 60)
    let starts = (0..<60).map { (minute: Int64) -> Int64 in 1_799_996_520 + 60 * minute }
    #expect(report.minutes.map(\.start.seconds) == starts)
    let (before, current) = (report.minutes[58], report.minutes[59])
    #expect((before.allow, before.deny, before.error) == (1, 1, 0))
    // The counters were read at the whole minute, less than a second ago.
    #expect((current.allow, current.deny, current.error) == (0, 0, 0))
    clock.advance(by: .seconds(1))
    let later = activity.report()
    #expect((later.minutes[59].error, later.minutes[58].allow) == (3, 1))
    #expect(later.decisions.map(\.code) == ["upstream_timeout", "", "closed"])
    #expect(later.decisions.map(\.rule) == ["", "", "opening-hours"])
    #expect(later.decisions.map(\.count) == [3, 1, 1])
    #expect(later.decisions.map(\.decision) == ["error", "allow", "deny"])
    reading.cancel()
    await reading.value
  }

  @Test func `latency is the upper bound of a share of the responses`() {
    let clock = ManualTime()
    let metrics = ServiceMetrics(loops: 1)
    let activity = RecentActivity(metrics: metrics, clock: clock)
    let access = UInt8(Route.labels.firstIndex(of: "/access") ?? 0)
    for index in 0..<100 {
      let nanoseconds: Int64 = index < 90 ? 50_000 : index < 98 ? 2_000_000 : 60_000_000_000
      metrics.requests.count(route: access, method: .get, status: 200, nanoseconds: nanoseconds, lane: 0)
    }
    let latencies = activity.report().latencies
    #expect(latencies.map(\.route) == ["/access"] && latencies.map(\.count) == [100])
    #expect(latencies[0].bound(0.5) == 0.0001)
    #expect(latencies[0].bound(0.95) == 0.0025)
    #expect(latencies[0].bound(0.99) == nil)
  }
}

// Tests of audit records as lines of text for people.

import Gate
import HTTP
import HTTPServer
import JSON
import Platform
import Synchronization
import TestSupport
import Testing

@testable import API
@testable import Callers
@testable import Gateway
@testable import Records
@testable import RoomSupport

/// Audit lines of a log whose format is text.
@Suite struct AuditTextTests {
  private func record(_ id: String = "0a1b2c3d4e5f60718293a4b5c6d7e8f9") throws -> AuditRecord {
    AuditRecord(
      action: .access, requestID: try #require(RequestID(id)), address: IPAddress("203.0.113.9")
    )
  }

  private func line(_ record: AuditRecord, isColoured: Bool = false) -> String {
    var bytes: [UInt8] = []
    record.appendText(
      to: &bytes, time: UnixTime(seconds: 1_795_219_199, nanoseconds: 5_000_000),
      nanoseconds: 1_234_000, colour: TerminalColour(isOn: isColoured))
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `an allowed request is one short line with its whole id`() throws {
    var record = try record()
    record.caller = Caller(authenticated: "ios-app").audited
    record.app = "shop"
    record.cache = .hit
    record.tokenSHA256 = String(repeating: "a", count: 64)
    #expect(
      line(record)
        == "2026-11-20T23:59:59.005Z allow access   ios-app/shop 203.0.113.9 cache=hit 1.234 ms "
        + "request_id=0a1b2c3d4e5f60718293a4b5c6d7e8f9\n")
  }

  @Test func `a refusal names its code, its rule and its reason`() throws {
    var record = try record("r-1")
    record.action = .callback
    record.caller = Caller(authenticated: "app-users", subject: "ann b").audited
    record.outcome = .deny
    record.code = .denied
    record.rule = "fraud"
    record.reason = "the policy gave no decision: it responded with status 500"
    record.verdicts = try Fixture.policy(
      """
      - { name: old-app, kind: field, field: X-App-Version, at_least: "2", mode: audit }
      - { name: older-app, kind: field, field: X-App-Version, at_least: "1", mode: audit }
      - { name: office, kind: addresses, allow: [192.0.2.0/24] }
      """
    ).decide(
      Facts(action: .access, callerID: "a", address: nil, phone: nil, instant: Instant(seconds: 0)),
      states: FetchedStates()
    ).verdicts
    record.contact = "+*********65"
    #expect(
      line(record)
        == "2026-11-20T23:59:59.005Z deny  callback app-users 203.0.113.9 +*********65 denied (fraud) "
        + #"reason="the policy gave no decision: it responded with status 500" would_deny=old-app,older-app "#
        + "subject=\"ann b\" 1.234 ms request_id=r-1\n")
  }

  @Test func `what Talkdesk and the record say stands there`() throws {
    var record = try record("r-1")
    record.action = .callback
    record.caller = Caller(authenticated: "tel", subject: "tel:+14155550123").audited
    record.outcome = .error
    record.code = .upstreamFailed
    record.upstreamStatus = 500
    record.callback = "0193-a"
    record.isReplay = true
    record.trace = TraceContext(Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8))
    #expect(
      line(record)
        == "2026-11-20T23:59:59.005Z error callback tel 203.0.113.9 upstream_failed subject=tel:+*********23 "
        + "upstream_status=500 callback=0193-a replay=true 1.234 ms request_id=r-1 "
        + "trace_id=0af7651916cd43dd8448eb211c80319c\n")
  }

  @Test func `without a caller and a decision there are dashes`() throws {
    var record = try record("r-1")
    record.outcome = nil
    #expect(
      line(record) == "2026-11-20T23:59:59.005Z -     access   - 203.0.113.9 1.234 ms request_id=r-1\n")
  }

  @Test func `the decision has a colour on a terminal that shows them`() throws {
    var record = try record("r-1")
    #expect(line(record, isColoured: true).contains(" \u{1B}[32mallow\u{1B}[0m access "))
    record.outcome = .deny
    #expect(line(record, isColoured: true).contains(" \u{1B}[33mdeny\u{1B}[0m  access "))
    record.outcome = .error
    #expect(line(record, isColoured: true).contains(" \u{1B}[31merror\u{1B}[0m access "))
    #expect(!line(record).contains("\u{1B}"))
  }

  @Test(arguments: ["line\nbreak", "quote\"", "\u{1B}[31mred", "null\u{0}", ""])
  func `no value can forge a line or move a terminal's cursor`(text: String) throws {
    var record = try record("r-1")
    record.caller = Caller(authenticated: "app-users", subject: text).audited
    record.reason = text
    let bytes = Array(line(record).utf8)
    #expect(bytes.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7F } && bytes.last == 0x0A)
    #expect(line(record).contains("reason=\""))
  }

  /// Direction marks, isolates, a byte order mark, a tag, a line separator and a C1 control character.
  @Test(arguments: [
    ("\u{202E}", #"\u202e"#), ("\u{2066}", #"\u2066"#), ("\u{200F}", #"\u200f"#), ("\u{FEFF}", #"\ufeff"#),
    ("\u{E0041}", #"\udb40\udc41"#), ("\u{2028}", #"\u2028"#), ("\u{85}", #"\u0085"#),
    ("\u{61C}", #"\u061c"#),
  ])
  func `no value turns the text around it`(mark: String, escaped: String) throws {
    var record = try record("r-1")
    record.caller = Caller(authenticated: "app-users", subject: "é\(mark)x\"").audited
    record.reason = "a\(mark)b"
    let line = line(record)
    #expect(!line.unicodeScalars.contains(mark.unicodeScalars.first!))
    #expect(line.contains(#" reason="a\#(escaped)b""#) && line.contains(#" subject="é\#(escaped)x\"""#))
  }

  @Test func `audit lines follow the log's format, also after a reload`() throws {
    let written = Mutex<[UInt8]>([])
    let sink = LogSink(lanes: 2) { bytes in
      written.withLock { $0 += bytes }
      return true
    }
    let clock = SystemClock()
    let log = Log(sink: sink, lane: 1, level: .error, format: .json, clock: clock, isColoured: true)
    let audit = AuditLog(sink: sink, clock: clock, metrics: ServiceMetrics(loops: 1), log: log)
    audit.append(try record(), since: clock.now, lane: 0)
    log.set(LogSettings(level: .error, format: .text))
    audit.append(try record(), since: clock.now, lane: 0)
    log.set(LogSettings(level: .error, format: .json))
    audit.append(try record(), since: clock.now, lane: 0)
    sink.start { _ in [] }
    #expect(sink.close(within: .seconds(5)))
    let lines = written.withLock { $0 }.split(separator: UInt8(ascii: "\n"))
    #expect(lines.map { $0.first == UInt8(ascii: "{") } == [true, false, true])
    #expect(lines.map { $0.contains(0x1B) } == [false, true, false])
  }
}

// Tests of how a report of calls is split into entries, and how an entry is read.

import Gate
import JOSE
import JSON
import Outcomes
import Store
import Testing

@Suite struct ReportTests {
  private static let settings = OutcomeSettings(hooks: [])
  /// 2026-11-24T03:30:00Z.
  private static let now = Instant(seconds: 1_795_491_000)

  // MARK: Entries

  private func entries(_ text: String, pieces: Int = 1) throws -> (found: [String], isWhole: Bool) {
    var reader = ReportEntries()
    let octets = Array(text.utf8)
    var found: [String] = []
    for start in stride(from: 0, to: octets.count, by: max(1, octets.count / pieces)) {
      let piece = Array(octets[start..<min(octets.count, start + max(1, octets.count / pieces))])
      found += try reader.take(piece).map { String(decoding: $0, as: UTF8.self) }
    }
    return (found, reader.isWhole)
  }

  @Test(arguments: [
    (
      #"{"type":"calls","entries":[{"a":1},{"b":[{"c":2}]}],"total":2}"#, [#"{"a":1}"#, #"{"b":[{"c":2}]}"#],
      true
    ),
    (#"[{"a":"}]\"{"},{"b":{}}]"#, [#"{"a":"}]\"{"}"#, #"{"b":{}}"#], true),
    (#"{"entries":[],"total":0}"#, [], true), ("[]", [], true),
    (#"{"entries":[{"a":1},{"b":"#, [#"{"a":1}"#], false), ("", [], false), (#"{"a":"}"#, [], false),
    (#"{"a":{"entries":[{"b":1}]}}"#, [], true),
  ])
  func `the objects of the report's array are its entries`(text: String, expected: [String], isWhole: Bool)
    throws
  {
    for pieces in [1, 3, text.utf8.count] {
      let (found, whole) = try entries(text, pieces: max(1, pieces))
      #expect(found == expected && whole == isWhole)
    }
  }

  @Test(arguments: ["}", "[}", "{]", #"{"a":[}"#])
  func `brackets that do not match end it`(text: String) {
    #expect(throws: ReportEntries.Fault.malformed) { try entries(text) }
  }

  @Test func `an entry has a longest length, and nesting a greatest depth`() throws {
    let most = ReportEntries.mostBytes
    func entry(_ bytes: Int) -> String { "{\"a\":\"" + String(repeating: "x", count: bytes - 8) + "\"}" }
    #expect(try entries("[\(entry(most)),{\"b\":1}]").found.count == 2)
    #expect(try entries("[\(entry(most + 1)),{\"b\":1}]").found == ["{\"b\":1}"])
    func nested(_ depth: Int) -> String {
      "[{\"a\":" + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}]"
    }
    #expect(try entries(nested(16)).found.count == 1)
    #expect(throws: ReportEntries.Fault.malformed) { try entries(nested(17)) }
    #expect(throws: ReportEntries.Fault.malformed) { try entries(String(repeating: "[", count: 17)) }
  }

  @Test func `a large report is read, and one that is larger than what is read is given up`() throws {
    var reader = ReportEntries()
    let entry = Array(("{\"a\":\"" + String(repeating: "x", count: 1015) + "\"},").utf8)
    let block = Array(repeatElement(entry, count: 1024).joined())
    #expect(block.count == 1 << 20)
    _ = try reader.take(Array("[".utf8))
    var found = 0
    for _ in 0..<4 { found += try reader.take(block).count }
    #expect(found == 4096)
    #expect(ReportEntries.mostReportBytes == 512 << 20)
    var large = ReportEntries(most: 1 << 20)
    _ = try large.take(block)
    #expect(throws: ReportEntries.Fault.tooLarge) { try large.take([0x20]) }
  }

  // MARK: What an entry says

  private func call(_ changes: [String: JSONValue] = [:], old: Bool = false) -> EndedCall? {
    var entry: JSONObject =
      old
      ? [
        "interaction_id": "i1", "call_type": "outbound", "start_time": "2026-11-23 10:00:00",
        "end_time": "2026-11-23 10:00:52", "talk_time": .number(JSONNumber(40.0 / 86_400) ?? JSONNumber(0)),
        "waiting_time": .number(JSONNumber(12.0 / 86_400) ?? JSONNumber(0)), "hold_time": 0,
        "contact_phone_number": "+14155550123", "talkdesk_phone_number": "+18005550199",
        "in_business_hours?": "TRUE",
      ]
      : [
        "call_id": "c1", "type": "outbound", "start_at": "2026-11-23T10:00:00Z",
        "end_at": "2026-11-23T10:00:52Z",
        "talk_time": 40, "wait_time": 12, "hold_time": 0, "total_time": 52,
        "contact_phone_number": "+14155550123", "talkdesk_phone_number": "+18005550199",
        "recording_url": .null,
        "is_transfer": false,
      ]
    for (name, value) in changes { entry[name] = value }
    return CallEvent.reported(entry.serialized(), by: Self.settings, at: Self.now)
  }

  @Test(arguments: [false, true])
  func `both forms say the same of a call`(isOld: Bool) throws {
    let call = try #require(self.call(old: isOld))
    #expect(call.contact.text == "+14155550123" && call.talkdesk.text == "+18005550199")
    #expect(call.start == Instant(rfc3339: "2026-11-23T10:00:00Z"))
    #expect(call.outcome.at == Instant(rfc3339: "2026-11-23T10:00:52Z"))
    #expect(call.outcome.state == .reached && call.outcome.source == .report)
    #expect(call.outcome.talkSeconds == 40 && call.outcome.waitedSeconds == 12)
    #expect(call.id == (isOld ? "i1" : "c1"))
  }

  @Test(arguments: [
    ("outbound", 0, CallOutcome.State.notReached), ("outbound_missed", 0, .notReached),
    ("missed", 0, .notReached),
    ("abandoned", 0, .cancelled), ("short_abandoned", 0, .cancelled), ("inbound", 3, .reached),
    ("voicemail", 9, nil),
  ])
  func `the type and the talk are the outcome`(type: String, talk: Int64, state: CallOutcome.State?) {
    #expect(call(["type": .string(type), "talk_time": .number(JSONNumber(talk))])?.outcome.state == state)
    let days = JSONNumber(Double(talk) / 86_400) ?? JSONNumber(0)
    #expect(
      call(["call_type": .string(type), "talk_time": .number(days)], old: true)?.outcome.state == state)
  }

  @Test func `days are days only in the older form`() {
    #expect(
      call(["talk_time": .number(JSONNumber(0.000069) ?? JSONNumber(0))], old: true)?.outcome.talkSeconds == 6
    )
    // A rounding error does not count as talk time.
    #expect(
      call(["talk_time": .number(JSONNumber(0.000001) ?? JSONNumber(0))], old: true)?.outcome.state
        == .notReached)
    #expect(call(["talk_time": 7.5], old: true)?.outcome == nil)
    #expect(call(["talk_time": "N/A"], old: true)?.outcome == nil)
    #expect(call(["talk_time": .null]) == nil && call(["start_at": "yesterday", "end_at": ""]) == nil)
    #expect(call(["contact_phone_number": "anonymous"]) == nil)
  }

  @Test func `a call of more than a week ago, and an id longer than those of Talkdesk, are ignored`() {
    #expect(call(["start_at": "2026-11-17T03:30:00Z"]) != nil)
    #expect(call(["start_at": "2026-11-17T03:29:59Z"]) == nil)
    #expect(call(["call_id": .string(String(repeating: "0", count: 64))]) != nil)
    #expect(call(["call_id": .string(String(repeating: "0", count: 65))]) == nil)
  }

  @Test func `an entry that is none says nothing`() {
    for text in ["", "[]", "{", #"{"type":"outbound"}"#, #"{"type"=>"outbound"}"#] {
      #expect(CallEvent.reported(Array(text.utf8), by: Self.settings, at: Self.now) == nil)
    }
  }

  // MARK: When

  @Test(arguments: [
    ("2026-11-23T03:29:59Z", "UTC", "2026-11-23T03:30:00Z"),
    ("2026-11-23T03:30:00Z", "UTC", "2026-11-24T03:30:00Z"),
    ("2026-11-23T12:00:00Z", "America/New_York", "2026-11-24T08:30:00Z"),
    // In March, New York's clocks skip the hour from two; 03:30 exists there.
    ("2027-03-14T05:00:00Z", "America/New_York", "2027-03-14T07:30:00Z"),
  ])
  func `the next night's time is found`(now: String, zone: String, next: String) throws {
    let report = ReportSettings(second: 3 * 3600 + 1800, zone: try Zone(named: zone))
    #expect(report.next(after: try #require(Instant(rfc3339: now))) == Instant(rfc3339: next))
  }

  @Test(arguments: [
    ("2026-11-23T03:29:59Z", "UTC", "2026-11-22T03:30:00Z"),
    ("2026-11-23T03:30:00Z", "UTC", "2026-11-23T03:30:00Z"),
    ("2026-11-23T07:00:00Z", "America/New_York", "2026-11-22T08:30:00Z"),
    ("2026-11-23T12:00:00Z", "Pacific/Auckland", "2026-11-22T14:30:00Z"),
  ])
  func `the last night's time is found`(now: String, zone: String, last: String) throws {
    let report = ReportSettings(second: 3 * 3600 + 1800, zone: try Zone(named: zone))
    #expect(report.last(by: try #require(Instant(rfc3339: now))) == Instant(rfc3339: last))
  }

  @Test func `a time that the clocks leave out is the first one after it`() throws {
    let report = ReportSettings(second: 2 * 3600 + 1800, zone: try Zone(named: "America/New_York"))
    let next = report.next(after: try #require(Instant(rfc3339: "2027-03-14T05:00:00Z")))
    #expect(next == Instant(rfc3339: "2027-03-14T07:00:00Z"))
  }
}

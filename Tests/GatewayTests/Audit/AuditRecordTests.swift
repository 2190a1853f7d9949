// Tests of audit records as JSON lines.

import Foundation
import Gate
import HTTP
import HTTPServer
import JSON
import Platform
import TestSupport
import Testing
import Trust

@testable import API
@testable import Callers
@testable import Gateway
@testable import Records
@testable import RoomSupport

@Suite struct AuditRecordTests {
  private func line(_ record: AuditRecord, duration: Duration = .microseconds(1_234)) throws -> (
    String, JSONValue
  ) {
    var bytes: [UInt8] = []
    record.append(
      to: &bytes, time: UnixTime(seconds: 1_795_219_199, nanoseconds: 5_000_000),
      nanoseconds: duration.nanosecondsClamped)
    #expect(bytes.last == UInt8(ascii: "\n"))
    #expect(!bytes.dropLast().contains(UInt8(ascii: "\n")))
    return (String(decoding: bytes, as: UTF8.self), try JSONValue(parsing: Array(bytes.dropLast())))
  }

  private func record() throws -> AuditRecord {
    AuditRecord(
      action: .access, requestID: try #require(RequestID("r-1")),
      address: IPAddress("203.0.113.9"))
  }

  @Test func `a record without a decision shows none`() throws {
    var record = try record()
    #expect(try line(record).1["decision"]?.string == "allow")
    record.outcome = nil
    let (text, value) = try line(record)
    #expect(value["decision"] == nil && value["action"]?.string == "access", "\(text)")
    #expect(text.contains(#""address":"203.0.113.9","verdicts":[]"#))
  }

  @Test func `a record is one JSON line with every member that has a value`() throws {
    var record = try record()
    record.caller = Caller(authenticated: "ios-app", subject: "ann").audited
    record.app = "shop"
    record.outcome = .deny
    record.code = .closed
    record.rule = "opening-hours"
    record.reason = "too many of \"them\""
    record.verdicts = try Fixture.policy(
      """
      - { name: old-app, kind: field, field: X-App-Version, at_least: "2", mode: audit }
      - { name: opening-hours, kind: addresses, allow: [192.0.2.0/24] }
      - { name: daily, kind: quota, key: caller, limit: 5, per: day }
      """
    ).decide(
      Facts(action: .access, callerID: "a", address: nil, phone: nil, instant: Instant(seconds: 0)),
      states: FetchedStates()
    ).verdicts
    record.upstreamStatus = 200
    record.tokenSHA256 = "ab"
    record.contact = "+*********65"
    record.callback = "0193-a"
    record.isReplay = true
    record.trace = TraceContext(Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8))
    let expected: JSONValue = [
      "log": "audit", "time": "2026-11-20T23:59:59.005Z", "request_id": "r-1", "action": "access",
      "caller": "ios-app", "subject": "ann", "app": "shop", "address": "203.0.113.9", "decision": "deny",
      "code": "closed", "rule": "opening-hours",
      "reason": "too many of \"them\"",
      "verdicts": [
        ["rule": "old-app", "verdict": "would_deny"], ["rule": "opening-hours", "verdict": "deny"],
        ["rule": "daily", "verdict": "skipped"],
      ],
      "cache": "none", "upstream_status": 200,
      "duration_ms": .number(try #require(JSONNumber(1.234))), "token_sha256": "ab",
      "contact": "+*********65", "callback": "0193-a", "replay": true,
      "trace_id": "0af7651916cd43dd8448eb211c80319c",
    ]
    let (text, value) = try line(record)
    #expect(value == expected)
    // Byte for byte, including the order of the members.
    #expect(text == String(decoding: expected.serialized(), as: UTF8.self) + "\n")
  }

  /// A record in which every property has a value.
  private func wholeRecord(_ action: Action) throws -> AuditRecord {
    var record = AuditRecord(
      action: .init(action), requestID: try #require(RequestID("r-1")), address: IPAddress("203.0.113.9"))
    record.caller = Caller(authenticated: "ios-app", subject: "ann").audited
    record.installation = "0193-b"
    record.app = "shop"
    record.attestation = AuditedAttestation(type: .appCheck, result: .failed(.badSignature))
    record.proof = .failed(.repeated)
    record.trigger = .appointment
    record.via = .gms
    record.code = .closed
    (record.rule, record.reason, record.contact, record.callback) = (
      "hours", "closed", "+*********65", "0193-a"
    )
    (record.upstreamStatus, record.tokenSHA256, record.cancelled, record.isReplay) = (200, "ab", 1, true)
    record.trace = TraceContext(Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8))
    (record.retryAfter, record.desk) = (1, "support")
    record.by = Operator.Identity("ann", by: .jwt)
    (record.conversation, record.ownership) = ("booking-42", .proof)
    record.consent = StoredConsent(stored: "1795219199 0123456789abcdef terms-3")
    for (name, value) in Mirror(reflecting: record).children {
      let mirror = Mirror(reflecting: value)
      #expect(mirror.displayStyle != .optional || !mirror.children.isEmpty, "\(name ?? "") has no value")
    }
    return record
  }

  @Test(arguments: [Action.callback, .ticket])
  func `the description of the interface and docs/operate/logging.md know every member`(_ action: Action)
    throws
  {
    let schemas = try #require(
      APIDocument(endpoints: Endpoint.all, allowsAnonymous: false).json["components"]?["schemas"])
    let known = try #require(schemas["RecentDecision"]?["properties"]?.object)
    let page = try String(
      contentsOf: Checkout.root.appending(path: "docs/operate/logging.md"), encoding: .utf8)
    // Each entry of the list starts with names of members.
    let rows = page.split(separator: "\n").compactMap {
      $0.hasPrefix("- `") ? $0.split(separator: ":").first : nil
    }
    for (name, value) in try #require(try line(wholeRecord(action)).1.object).members {
      var schema = try #require(known[name], "\(name)")
      if let reference = schema["$ref"]?.string {
        schema = try #require(schemas[String(reference.split(separator: "/").last ?? "")], "\(name)")
      }
      #expect(rows.contains { $0.contains("`\(name)`") }, "\(name)")
      for (inner, _) in value.object?.members ?? [] {
        #expect(schema["properties"]?[inner] != nil, "\(name).\(inner)")
      }
    }
  }

  @Test(arguments: [Action.callback, .ticket])
  func `a decision that somebody looks up is the line that was logged, octet for octet`(_ action: Action)
    throws
  {
    let recent = RecentDecisions(lanes: 1)
    let policy = try Fixture.policy("- { name: opening-hours, kind: addresses, allow: [192.0.2.0/24] }")
    let verdicts = policy.decide(
      Facts(action: .access, callerID: "a", address: nil, phone: nil, instant: Instant(seconds: 0)),
      states: FetchedStates()
    ).verdicts
    let (short, long) = (try record(), try wholeRecord(action))
    var lines: [[UInt8]] = []
    for number in 0..<1000 {
      var record = number.isMultiple(of: 3) ? short : long
      if !number.isMultiple(of: 5) {
        record.caller = Caller(authenticated: "app-\(number % 70)", subject: "ann").audited
      }
      record.verdicts = number.isMultiple(of: 7) ? .none : verdicts
      record.reason = number.isMultiple(of: 2) ? nil : "\u{1}\u{2}\u{3} \(number)"
      if number.isMultiple(of: 4) { record.tokenSHA256 = String(repeating: "a", count: number % 64) }
      var line: [UInt8] = []
      let repeated = record.append(
        to: &line, time: UnixTime(seconds: 1_795_219_199), nanoseconds: Int64(number) * 1_000_000)
      recent.append(line.span, repeated, lane: 0)
      lines.append(line)
    }
    #expect(recent.after(0).entries.map(\.line) == lines.suffix(200))
    #expect(recent.decisions(of: "r-1").map(\.line) == lines)
  }

  @Test func `members without a value are left out`() throws {
    let names = try line(record()).1.object?.members.map(\.name)
    #expect(
      names == [
        "log", "time", "request_id", "action", "address", "decision", "verdicts", "cache", "duration_ms",
      ])
  }

  @Test(arguments: [
    ("+14155550123", "+*********23"), ("tel:+1-415-555-0123", "tel:+*-***-***-**23"),
    ("14155550123", "*********23"), ("phone|+14155550123", "phone|+*********23"), ("ann", "ann"),
  ])
  func `a subject that is a phone number is masked`(subject: String, shown: String) throws {
    var record = try record()
    record.caller = Caller(authenticated: "app-users", subject: subject).audited
    #expect(try line(record).1["subject"]?.string == shown)
  }

  @Test(arguments: ["line\nbreak", "quote\"", "\u{1B}[31mred", "null\u{0}", "\u{2028}"])
  func `no value can forge a line or move a terminal's cursor`(subject: String) throws {
    var record = try record()
    record.caller = Caller(authenticated: "app-users", subject: subject).audited
    let (text, value) = try line(record)
    #expect(value["subject"]?.string == subject)
    #expect(text.dropLast().utf8.allSatisfy { $0 >= 0x20 })
  }

  @Test(arguments: [
    (Duration.zero, "0.000"), (.nanoseconds(999), "0.000"), (.microseconds(12), "0.012"),
    (.milliseconds(9_999), "9999.000"), (.seconds(12_345), "12345000.000"),
  ])
  func `a duration is written in milliseconds`(duration: Duration, text: String) throws {
    #expect(try line(record(), duration: duration).0.contains(#""duration_ms":\#(text)"#))
  }
}

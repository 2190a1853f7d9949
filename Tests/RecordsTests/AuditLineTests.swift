// Compares audit lines with those of a slower writer that is easier to read.

import Gate
import HTTP
import JSON
import Platform
import TestSupport
import Testing
import Trust

@testable import API
@testable import HTTPServer
@testable import Records

@Suite struct AuditLineTests {
  /// An audit line, member by member.
  private func reference(_ record: AuditRecord, time: UnixTime, duration: Duration) -> String {
    func quoted(_ text: String) -> String {
      var octets: [UInt8] = []
      JSONText.append(text, to: &octets)
      return String(decoding: octets, as: UTF8.self)
    }
    var members = [
      #""log":"audit""#, #""time":"\#(time.rfc3339)""#, #""request_id":"\#(record.requestID)""#,
      #""action":"\#(record.action.rawValue)""#,
    ]
    func add(_ name: String, _ value: String?) {
      if let value { members.append("\"\(name)\":\(quoted(value))") }
    }
    add("trigger", record.trigger?.rawValue)
    add("via", record.via?.rawValue)
    add("caller", record.caller?.id)
    add("subject", record.caller?.subject)
    add("installation", record.caller?.installation ?? record.installation)
    add("app", record.app)
    if let attestation = record.attestation {
      let reason = attestation.result.reason.map { #","reason":"\#($0)""# } ?? ""
      members.append(
        #""attestation":{"type":"\#(attestation.type.rawValue)","result":"\#(attestation.result.word)"\#(reason)}"#
      )
    }
    if let proof = record.proof {
      let reason = proof.reason.map { #","reason":"\#($0)""# } ?? ""
      members.append(#""proof":{"result":"\#(proof.word)"\#(reason)}"#)
    }
    add("address", record.address?.description)
    add("decision", record.outcome?.rawValue)
    add("code", record.code?.rawValue)
    add("rule", record.rule)
    add("reason", record.reason)
    let verdicts = record.verdicts.map { #"{"rule":"\#($0.rule)","verdict":"\#($0.verdict.word)"}"# }
    members.append(#""verdicts":[\#(verdicts.joined(separator: ","))]"#)
    add("cache", record.cache.rawValue)
    if let status = record.upstreamStatus { members.append(#""upstream_status":\#(status)"#) }
    let microseconds = max(0, duration.nanosecondsClamped / 1000)
    let fraction = String(String(1000 + microseconds % 1000).dropFirst())
    members.append(#""duration_ms":\#(microseconds / 1000).\#(fraction)"#)
    add("token_sha256", record.tokenSHA256)
    add("contact", record.contact)
    add(record.action == .ticket ? "ticket" : "callback", record.callback)
    add("conversation", record.conversation)
    if let consent = record.consent {
      let parts = [("text", consent.text), ("at", consent.at.rfc3339), ("digest", consent.digest)]
      members.append(
        "\"consent\":{" + parts.map { "\"\($0.0)\":\(quoted($0.1))" }.joined(separator: ",") + "}")
    }
    if let cancelled = record.cancelled { members.append(#""cancelled":\#(cancelled)"#) }
    if record.isReplay { members.append(#""replay":true"#) }
    add("operator", record.by?.name)
    add("by", record.by?.by.rawValue)
    add("trace_id", record.trace?.traceID)
    return "{\(members.joined(separator: ","))}\n"
  }

  /// Decisions with every verdict of a rule, with and without the built-in rules.
  private func verdicts() throws -> [RuleVerdicts] {
    let near = try AddressesRule(allow: ["192.0.2.0/24"])
    let far = try AddressesRule(allow: ["198.51.100.0/24"])
    let rules = [
      try Rule(name: "a", kind: .addresses(near)),
      try Rule(name: "of-tickets", actions: [.ticket], kind: .addresses(near)),
      try Rule(name: "audit.only", mode: .audit, kind: .addresses(far)),
      try Rule(name: String(repeating: "n", count: 64), actions: [.callback], kind: .addresses(far)),
      try Rule(name: "last", kind: .addresses(near)),
    ]
    func verdicts(_ action: Action, _ rules: [Rule], phone: String? = nil, _ brakes: Brakes) throws
      -> RuleVerdicts
    {
      let facts = Facts(
        action: action, callerID: "a", address: IPAddress("192.0.2.1"), phone: try phone.map { try E164($0) },
        instant: Instant(seconds: 0))
      return try Policy(rules: rules, brakes: brakes).decide(facts, states: FetchedStates()).verdicts
    }
    return [
      .none, try verdicts(.access, rules, Brakes()),
      try verdicts(.callback, rules, phone: "+4915112345678", Brakes()),
      try verdicts(.callback, Array(rules.prefix(3)), phone: "+4915112345678", Brakes()),
      try verdicts(.callback, [], phone: "+4915112345678", Brakes()),
      try verdicts(.callback, [], phone: "+4915112345678", .off), try Policy(rules: rules).skipped,
    ]
  }

  @Test func `every line is that of the slow writer, octet by octet`() throws {
    var random = SeededGenerator(31)
    let verdicts = try verdicts()
    let texts = [
      "", "a", "shop", "12345678", "a \"quoted\" text", "back\\slash", "line\nfeed\u{0}\u{7F}",
      "é€😀\u{9B}\u{2028}",
      String(repeating: "x", count: 200), String(repeating: "\u{1}", count: 300),
    ]
    let times = [0, 951_782_400, 1_709_251_199, 4_107_542_400, 1_795_219_199] as [Int64]
    let durations =
      [
        .zero, .nanoseconds(-5), .nanoseconds(999), .microseconds(1), .microseconds(999_999), .seconds(61),
        .seconds(9_000_000_000),
      ] as [Duration]
    let addresses = ["0.0.0.0", "203.0.113.9", "255.255.255.255", "::", "2001:db8::1:0:0:9"].map {
      IPAddress($0)
    }
    func text() -> String? { random.chance(50) ? random.one(of: texts) : nil }
    for _ in 0..<5000 {
      let id = random.chance(50) ? RequestID(String(repeating: "r", count: 1 + random.below(128))) : nil
      var record = AuditRecord(
        action: random.one(of: AuditedAction.allCases), requestID: id ?? RequestID(),
        address: random.one(of: addresses + [nil]))
      record.trigger = random.chance(20) ? .appointment : nil
      record.via = random.chance(20) ? .gms : nil
      record.caller =
        random.chance(80)
        ? AuditedCaller(id: random.one(of: texts), subject: random.one(of: texts), installation: text()) : nil
      record.installation = text()
      record.app = text()
      record.attestation =
        random.chance(30)
        ? AuditedAttestation(
          type: random.one(of: AttestationType.allCases), result: random.one(of: AttestationResult.every))
        : nil
      record.proof =
        random.chance(30)
        ? random.one(of: ProofResult.others + ProofFault.allCases.map(ProofResult.failed)) : nil
      record.outcome = random.one(of: [.allow, .deny, .error, nil])
      record.code = random.chance(50) ? random.one(of: Problem.Code.allCases) : nil
      record.rule = text()
      record.reason = text()
      record.verdicts = random.one(of: verdicts)
      record.cache = random.one(of: [.hit, .miss, .none])
      record.upstreamStatus = random.chance(50) ? 100 + random.below(500) : nil
      record.tokenSHA256 = random.chance(50) ? String(repeating: "0a", count: 32) : nil
      record.contact = text()
      record.callback = text()
      record.conversation = text()
      record.consent =
        random.chance(30)
        ? StoredConsent(
          GivenConsent(text: random.one(of: texts), at: Instant(seconds: random.one(of: times))),
          to: ConsentText(name: random.one(of: texts), digest: "0123456789abcdef01"))
        : nil
      record.cancelled = random.chance(50) ? random.one(of: [0, 9, 10, 12_345, .max]) : nil
      record.isReplay = random.chance(50)
      record.by =
        random.chance(50)
        ? Operator.Identity(random.one(of: texts), by: random.one(of: [.token, .jwt, .local])) : nil
      record.trace =
        random.chance(50)
        ? TraceContext(Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8)) : nil
      let time = UnixTime(seconds: random.one(of: times), nanoseconds: Int32(random.below(1_000_000_000)))
      let duration = random.one(of: durations)
      var line = Array("before".utf8)
      record.append(to: &line, time: time, nanoseconds: duration.nanosecondsClamped)
      #expect(
        String(decoding: line, as: UTF8.self) == "before" + reference(record, time: time, duration: duration))
    }
  }
}

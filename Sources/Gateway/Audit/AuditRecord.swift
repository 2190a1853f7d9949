// One line for each request that asked for a token or a callback: who, what, and what was decided.

internal import Gate
internal import HTTP
internal import HTTPServer
internal import JSON
internal import Platform

/// What is written down of one decision. Never holds a token, a credential or a full phone number.
struct AuditRecord: Sendable {
  enum Outcome: String, Sendable { case allow, deny, error }
  enum CacheUse: String, Sendable { case hit, miss, none }

  var action: Action
  var requestID: RequestID
  var address: IPAddress
  var caller: String?
  var subject: String?
  var app: String?
  /// Nil where nothing was asked for that is allowed or denied, and nothing was vended.
  var outcome: Outcome? = .allow
  var code: Problem.Code?
  var rule: String?
  /// What a remote policy gave as its reason.
  var reason: String?
  var verdicts = RuleVerdicts.none
  var cache: CacheUse = .none
  /// The status Talkdesk answered with, where this request asked it.
  var upstreamStatus: Int?
  /// SHA-256 of the vended token, lower-case hex: finds the token's use in Talkdesk's records without holding it.
  var tokenSHA256: String?
  /// The masked phone number.
  var contact: String?
  /// The trace the client sent.
  var trace: TraceContext?

  init(action: Action, requestID: RequestID, address: IPAddress) {
    self.action = action
    self.requestID = requestID
    self.address = address
  }

  /// A subject as it may stand in a log: some identity providers name people by their phone number.
  private static func shown(_ subject: String) -> String {
    let number = subject.hasPrefix("tel:") ? String(subject.dropFirst(4)) : subject
    do throws(E164Error) {
      return try E164(number).masked
    } catch {
      return subject
    }
  }

  /// Appends the record as one JSON line.
  /// - Parameters:
  ///   - time: When the decision was taken.
  ///   - duration: From the whole request to the answer.
  func append(to output: inout [UInt8], time: UnixTime, duration: Duration) {
    output.append(contentsOf: #"{"log":"audit","time":""#.utf8)
    time.appendRFC3339(to: &output)
    output.append(contentsOf: #"","request_id":""#.utf8)
    requestID.append(to: &output)
    output.append(contentsOf: #"","action":""#.utf8)
    output.append(contentsOf: action.rawValue.utf8)
    output.append(UInt8(ascii: "\""))
    Self.member(#","caller":"#, caller, to: &output)
    Self.member(#","subject":"#, subject.map(Self.shown), to: &output)
    Self.member(#","app":"#, app, to: &output)
    output.append(contentsOf: #","address":""#.utf8)
    output.append(contentsOf: address.description.utf8)
    output.append(UInt8(ascii: "\""))
    if let outcome {
      output.append(contentsOf: #","decision":""#.utf8)
      output.append(contentsOf: outcome.rawValue.utf8)
      output.append(UInt8(ascii: "\""))
    }
    Self.member(#","code":"#, code?.rawValue, to: &output)
    Self.member(#","rule":"#, rule, to: &output)
    Self.member(#","reason":"#, reason, to: &output)
    output.append(contentsOf: #","verdicts":["#.utf8)
    for (index, verdict) in verdicts.enumerated() {
      output.append(contentsOf: (index == 0 ? #"{"rule":""# : #",{"rule":""#).utf8)
      // The names of rules hold nothing to escape (Rule.init).
      output.append(contentsOf: verdict.rule.utf8)
      output.append(contentsOf: #"","verdict":""#.utf8)
      output.append(contentsOf: verdict.verdict.word.utf8)
      output.append(contentsOf: #""}"#.utf8)
    }
    output.append(contentsOf: #"],"cache":""#.utf8)
    output.append(contentsOf: cache.rawValue.utf8)
    output.append(UInt8(ascii: "\""))
    if let upstreamStatus {
      output.append(contentsOf: #","upstream_status":"#.utf8)
      output.append(threeDigits: Int64(upstreamStatus))
    }
    output.append(contentsOf: #","duration_ms":"#.utf8)
    output.append(milliseconds: duration)
    if let tokenSHA256 {
      // Hexadecimal digits: nothing to escape.
      output.append(contentsOf: #","token_sha256":""#.utf8)
      output.append(contentsOf: tokenSHA256.utf8)
      output.append(UInt8(ascii: "\""))
    }
    Self.member(#","contact":"#, contact, to: &output)
    if let trace {
      output.append(contentsOf: #","trace_id":""#.utf8)
      trace.appendTraceID(to: &output)
      output.append(UInt8(ascii: "\""))
    }
    output.append(contentsOf: [UInt8(ascii: "}"), UInt8(ascii: "\n")])
  }

  private static func member(_ name: StaticString, _ value: String?, to output: inout [UInt8]) {
    guard let value else { return }
    name.withUTF8Buffer { unsafe output.append(contentsOf: $0) }
    JSONText.append(value, to: &output)
  }
}

// The audit record of one request for a token or a callback: the caller, the action and the decision.

package import API
package import Gate
package import HTTP
package import HTTPServer
import JSON
package import Platform

/// Who asked, as an audit line names them.
package struct AuditedCaller: Hashable, Sendable {
  /// The id of the configured caller, or `anonymous`.
  package let id: String
  /// The subject that the credential names, without telephone numbers.
  package let subject: String
  /// The `client_id` of an installation.
  package let installation: String?

  package init(id: String, subject: String, installation: String? = nil) {
    self.id = id
    self.subject = subject
    self.installation = installation
  }
}

/// The audit record of one decision. It never holds a token, a credential or a full phone number.
package struct AuditRecord: Sendable {
  package enum Outcome: String, Sendable { case allow, deny, error }
  package enum CacheUse: String, Sendable { case hit, miss, none }
  /// The cause of a decision without a request.
  package enum Trigger: String, Sendable { case appointment }

  var action: AuditedAction
  /// Nil for a request.
  package var trigger: Trigger?
  package var requestID: RequestID
  /// Nil if it is not known: for an appointment whose content cannot be opened.
  package var address: IPAddress?
  package var caller: AuditedCaller?
  /// The `client_id` of the installation that the request concerns, if the caller is none.
  package var installation: String?
  package var app: String?
  /// Nil for a request that needs no decision and gets no token.
  package var outcome: Outcome? = .allow
  package var code: Problem.Code?
  package var rule: String?
  /// Why, in words for operators: a remote policy's reason, or why the app was refused.
  package var reason: String?
  package var verdicts = RuleVerdicts.none
  package var cache: CacheUse = .none
  /// The status of Talkdesk's response, if this request got one.
  package var upstreamStatus: Int?
  /// SHA-256 of the vended token, lower-case hex: finds the token's use in Talkdesk's records without holding it.
  package var tokenSHA256: String?
  /// The masked phone number.
  package var contact: String?
  /// The id of the callback's or ticket's record, as in the response.
  package var callback: String?
  /// How many appointments a revocation has ended.
  package var cancelled: Int?
  /// Whether the response repeats that of the first request with the same `Idempotency-Key`.
  package var isReplay = false
  /// The trace the client sent.
  package var trace: TraceContext?

  /// The reason of a request whose client closed the connection while it waited.
  package static let clientLeft = "the client closed the connection before the response"

  package init(action: AuditedAction, requestID: RequestID, address: IPAddress?) {
    self.action = action
    self.requestID = requestID
    self.address = address
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
    Self.member(#","trigger":"#, trigger?.rawValue, to: &output)
    Self.member(#","caller":"#, caller?.id, to: &output)
    Self.member(#","subject":"#, caller?.subject, to: &output)
    Self.member(#","installation":"#, caller?.installation ?? installation, to: &output)
    Self.member(#","app":"#, app, to: &output)
    Self.member(#","address":"#, address?.description, to: &output)
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
    Self.member(action == .ticket ? #","ticket":"# : #","callback":"#, callback, to: &output)
    if let cancelled { output.append(contentsOf: #","cancelled":\#(cancelled)"#.utf8) }
    if isReplay { output.append(contentsOf: #","replay":true"#.utf8) }
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

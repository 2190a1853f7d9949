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
  /// The interface of a request that is not this server's own.
  package enum Via: String, Sendable { case gms }

  var action: AuditedAction
  /// Nil for a request.
  package var trigger: Trigger?
  /// Nil for this server's own interface.
  package var via: Via?
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

  // For the list of present problems; not in the line.

  /// After how many seconds a request passes again that a rule has refused.
  package var retryAfter: Int?
  /// The chat desk that a request for a session token or a ticket asks.
  package var desk: String?
  /// Whether a callback was not sent because there was no token for it.
  package var lacksToken = false

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
    Self.append(#"{"log":"audit","time":""#, to: &output)
    time.appendRFC3339(to: &output)
    Self.append(#"","request_id":""#, to: &output)
    requestID.append(to: &output)
    Self.append(#"","action":""#, to: &output)
    output.append(contentsOf: action.rawValue.utf8)
    output.append(UInt8(ascii: "\""))
    Self.member(#","trigger":"#, trigger?.rawValue, to: &output)
    Self.member(#","via":"#, via?.rawValue, to: &output)
    Self.member(#","caller":"#, caller?.id, to: &output)
    Self.member(#","subject":"#, caller?.subject, to: &output)
    Self.member(#","installation":"#, caller?.installation ?? installation, to: &output)
    Self.member(#","app":"#, app, to: &output)
    if let address {
      Self.append(#","address":""#, to: &output)
      // Digits, letters, points and colons: nothing to escape.
      address.append(to: &output)
      output.append(UInt8(ascii: "\""))
    }
    if let outcome {
      Self.append(#","decision":""#, to: &output)
      output.append(contentsOf: outcome.rawValue.utf8)
      output.append(UInt8(ascii: "\""))
    }
    Self.member(#","code":"#, code?.rawValue, to: &output)
    Self.member(#","rule":"#, rule, to: &output)
    Self.member(#","reason":"#, reason, to: &output)
    Self.append(#","verdicts":["#, to: &output)
    for (index, verdict) in verdicts.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      Self.append(#"{"rule":""#, to: &output)
      // The names of rules hold nothing to escape (Rule.init).
      output.append(contentsOf: verdict.rule.utf8)
      Self.append(#"","verdict":""#, to: &output)
      output.append(contentsOf: verdict.verdict.word.utf8)
      Self.append(#""}"#, to: &output)
    }
    Self.append(#"],"cache":""#, to: &output)
    output.append(contentsOf: cache.rawValue.utf8)
    output.append(UInt8(ascii: "\""))
    if let upstreamStatus {
      Self.append(#","upstream_status":"#, to: &output)
      output.append(threeDigits: Int64(upstreamStatus))
    }
    Self.append(#","duration_ms":"#, to: &output)
    output.append(milliseconds: duration)
    if let tokenSHA256 {
      // Hexadecimal digits: nothing to escape.
      Self.append(#","token_sha256":""#, to: &output)
      output.append(contentsOf: tokenSHA256.utf8)
      output.append(UInt8(ascii: "\""))
    }
    Self.member(#","contact":"#, contact, to: &output)
    Self.member(action == .ticket ? #","ticket":"# : #","callback":"#, callback, to: &output)
    if let cancelled { output.append(contentsOf: #","cancelled":\#(cancelled)"#.utf8) }
    if isReplay { Self.append(#","replay":true"#, to: &output) }
    if let trace {
      Self.append(#","trace_id":""#, to: &output)
      trace.appendTraceID(to: &output)
      output.append(UInt8(ascii: "\""))
    }
    output.append(UInt8(ascii: "}"))
    output.append(UInt8(ascii: "\n"))
  }

  /// Appends text of the program itself, without making a String of it.
  @inline(__always) private static func append(_ text: StaticString, to output: inout [UInt8]) {
    text.withUTF8Buffer { unsafe output.append(contentsOf: $0) }
  }

  private static func member(_ name: StaticString, _ value: String?, to output: inout [UInt8]) {
    guard let value else { return }
    append(name, to: &output)
    JSONText.append(value, to: &output)
  }
}

// The audit record of one decision or of a call's outcome: the action, the caller and the result.

package import API
package import Gate
package import HTTP
package import HTTPServer
import JSON
package import Platform
import Texts
package import Trust

/// The audit record of one decision, for example on a request for a token, a callback or a change by an
/// operator, or of the outcome of a call. The record never contains a token, a credential or a full phone
/// number.
package struct AuditRecord: Sendable {
  package enum Outcome: String, Sendable { case allow, deny, error }
  package enum CacheUse: String, Sendable { case hit, miss, none }
  /// The cause of a decision without a request.
  package enum Trigger: String, Sendable { case appointment }
  /// The API that a request used instead of this server's own.
  package enum Via: String, Sendable { case gms, mcp }

  var action: AuditedAction
  /// The trigger; nil for a request and for the outcome of a call.
  package var trigger: Trigger?
  /// The API that the request used; nil for this server's own.
  package var via: Via?
  package var requestID: RequestID
  /// The client's address; nil for an appointment whose content cannot be opened, and for a call outcome from
  /// a report that the server downloaded.
  package var address: IPAddress?
  package var caller: AuditedCaller?
  /// The `client_id` of the installation that the request concerns, when the caller is not an installation.
  package var installation: String?
  package var app: String?
  /// The checked attestation; nil if none was checked.
  package var attestation: AuditedAttestation?
  /// The result of the DPoP proof; nil if the caller has no key and could not have one.
  package var proof: ProofResult?
  /// The decision; nil for the outcome of a call and for an `OPTIONS` request, which need none.
  package var outcome: Outcome? = .allow
  package var code: Problem.Code?
  package var rule: String?
  /// The reason, in words for operators: for example a remote policy's reason, or why the server made no call
  /// for an appointment.
  package var reason: String?
  package var verdicts = RuleVerdicts.none
  package var cache: CacheUse = .none
  /// The status of Talkdesk's or Sendbird's response to this request; nil if there was none.
  package var upstreamStatus: Int?
  /// The SHA-256 hash of the vended token in lower-case hex. With it, operators find the token's use in
  /// Talkdesk's records, and the audit log never contains the token.
  package var tokenSHA256: String?
  /// The masked phone number.
  package var contact: String?
  /// The id of the callback's or ticket's record, as in the response.
  package var callback: String?
  /// The id that an AI agent gave its conversation.
  package var conversation: String?
  /// The customer's consent. This line remains as evidence of it.
  package var consent: StoredConsent?
  /// The number of appointments that ended because their installation was revoked or replaced.
  package var cancelled: Int?
  /// Whether the request repeats an earlier one, so that nothing was done: it has the same `Idempotency-Key`,
  /// or comes from the same conversation of an AI agent, for the same number and time.
  package var isReplay = false
  /// The operator of a request to the admin interface.
  package var by: Operator.Identity?
  /// The trace the client sent.
  package var trace: TraceContext?

  // For the list of present problems and metrics; not in the line.

  /// The result of the last rule `own_number`; nil if none was evaluated, or if it allowed a proof without
  /// verifying it.
  package var ownership: NumberResult?

  /// Seconds until a request that a rule has refused would pass.
  package var retryAfter: Int?
  /// The chat desk that a request for a session token or a ticket goes to.
  package var desk: String?
  /// Whether a callback was not sent because there was no token for it.
  package var lacksToken = false

  /// The `reason` if the client closed the connection while its request waited.
  package static let clientLeft = "the client closed the connection before the response"

  package init(
    action: AuditedAction, requestID: RequestID, address: IPAddress?, trace: TraceContext? = nil
  ) {
    self.action = action
    self.requestID = requestID
    self.address = address
    self.trace = trace
  }

  /// Upper bound in bytes of a line's names, fixed words, numbers and punctuation together.
  private static let fixedOctets = 832

  /// Upper bound in bytes of the line, with texts escaped.
  private var mostOctets: Int {
    var most = Self.fixedOctets + RequestID.mostOctets + IPAddress.mostOctets + verdicts.mostOctets
    if let caller { most += caller.members.count }
    if let tokenSHA256 { most += tokenSHA256.utf8.count }
    if let installation { most += JSONText.mostOctets(installation) }
    if let app { most += JSONText.mostOctets(app) }
    if let rule { most += JSONText.mostOctets(rule) }
    if let reason { most += JSONText.mostOctets(reason) }
    if let contact { most += JSONText.mostOctets(contact) }
    if let callback { most += JSONText.mostOctets(callback) }
    if let conversation { most += JSONText.mostOctets(conversation) }
    if let consent { most += JSONText.mostOctets(consent.text) + consent.digest.utf8.count }
    if let by { most += JSONText.mostOctets(by.name) }
    return most
  }

  /// Appends the record as one JSON line.
  /// - Parameters:
  ///   - time: When the decision was made.
  ///   - nanoseconds: From the arrival of the whole request to the response.
  /// - Returns: The parts that other lines are likely to repeat.
  @discardableResult
  func append(to output: inout [UInt8], time: UnixTime, nanoseconds: Int64) -> RepeatedParts {
    var repeated = RepeatedParts()
    // Reserved at once: a line has some sixty parts.
    output.append(upTo: mostOctets) { append(to: &$0, time, nanoseconds, &repeated) }
    return repeated
  }

  private func append(
    to output: inout OutputSpan<UInt8>, _ time: UnixTime, _ nanoseconds: Int64,
    _ repeated: inout RepeatedParts
  ) {
    let line = output.count
    output.append(literal: #"{"log":"audit","time":""#)
    time.appendRFC3339(to: &output)
    output.append(literal: #"","request_id":""#)
    requestID.append(to: &output)
    // Decisions are found by the octets of the id, with the quotation mark after it.
    let callerStart = output.count - line + 1
    output.append(literal: #"","action":""#)
    output.append(utf8: action.rawValue)
    output.append(literal: "\"")
    if let trigger { Self.append(word: trigger.rawValue, #","trigger":""#, to: &output) }
    if let via { Self.append(word: via.rawValue, #","via":""#, to: &output) }
    if let caller { output.append(octets: caller.members) }
    if let installation, caller?.installation == nil {
      Self.append(installation, #","installation":"#, to: &output)
    }
    if let app { Self.append(app, #","app":"#, to: &output) }
    if let attestation {
      // Words of this program: nothing to escape.
      Self.append(word: attestation.type.rawValue, #","attestation":{"type":""#, to: &output)
      Self.append(word: attestation.result.word, #","result":""#, to: &output)
      if let reason = attestation.result.reason { Self.append(word: reason, #","reason":""#, to: &output) }
      output.append(literal: "}")
    }
    if let proof {
      Self.append(word: proof.word, #","proof":{"result":""#, to: &output)
      if let reason = proof.reason { Self.append(word: reason, #","reason":""#, to: &output) }
      output.append(literal: "}")
    }
    repeated.caller = callerStart..<output.count - line
    if let address {
      output.append(literal: #","address":""#)
      // Digits, letters, points and colons: nothing to escape.
      address.append(to: &output)
      output.append(literal: "\"")
    }
    var verdictsStart = output.count - line
    switch outcome {
    case .allow: output.append(literal: #","decision":"allow""#)
    case .deny: output.append(literal: #","decision":"deny""#)
    case .error: output.append(literal: #","decision":"error""#)
    case nil: break
    }
    if let code { Self.append(word: code.rawValue, #","code":""#, to: &output) }
    if let rule { Self.append(rule, #","rule":"#, to: &output) }
    if let reason {
      Self.append(reason, #","reason":"#, to: &output)
      verdictsStart = output.count - line
    }
    output.append(literal: #","verdicts":["#)
    verdicts.appendObjects(to: &output)
    switch cache {
    case .hit: output.append(literal: #"],"cache":"hit""#)
    case .miss: output.append(literal: #"],"cache":"miss""#)
    case .none: output.append(literal: #"],"cache":"none""#)
    }
    if let upstreamStatus {
      output.append(literal: #","upstream_status":"#)
      output.append(threeDigits: Int64(upstreamStatus))
    }
    output.append(literal: #","duration_ms":"#)
    repeated.verdicts = verdictsStart..<output.count - line
    output.append(millisecondsOf: nanoseconds)
    if let tokenSHA256 {
      let start = output.count - line
      // Hexadecimal digits: nothing to escape.
      Self.append(word: tokenSHA256, #","token_sha256":""#, to: &output)
      repeated.token = start..<output.count - line
    }
    if let contact { Self.append(contact, #","contact":"#, to: &output) }
    if let callback {
      Self.append(callback, action == .ticket ? #","ticket":"# : #","callback":"#, to: &output)
    }
    if let conversation { Self.append(conversation, #","conversation":"#, to: &output) }
    if let consent {
      Self.append(consent.text, #","consent":{"text":"#, to: &output)
      Self.append(word: consent.at.rfc3339, #","at":""#, to: &output)
      Self.append(word: consent.digest, #","digest":""#, to: &output)
      output.append(literal: "}")
    }
    if let cancelled {
      output.append(literal: #","cancelled":"#)
      output.append(decimal: UInt64(cancelled))
    }
    if isReplay { output.append(literal: #","replay":true"#) }
    if let by {
      Self.append(by.name, #","operator":"#, to: &output)
      Self.append(word: by.by.rawValue, #","by":""#, to: &output)
    }
    if let trace {
      output.append(literal: #","trace_id":""#)
      trace.appendTraceID(to: &output)
      output.append(literal: "\"")
    }
    output.append(literal: "}\n")
  }

  /// Appends a member whose value has nothing to escape. Its name ends in the quotation mark before the
  /// value.
  @inline(__always) private static func append(
    word: String, _ name: StaticString, to output: inout OutputSpan<UInt8>
  ) {
    output.append(literal: name)
    output.append(utf8: word)
    output.append(UInt8(ascii: "\""))
  }

  @inline(__always) private static func append(
    _ value: String, _ name: StaticString, to output: inout OutputSpan<UInt8>
  ) {
    output.append(literal: name)
    JSONText.append(value, to: &output)
  }
}

// The refusals and failures that clients can see, as problem documents (RFC 9457), each with its own code.

package import Gate
public import HTTP
package import HTTPServer
import JSON

/// The reason why a request was refused or failed, as a problem document.
public struct Problem: Error, Sendable {
  /// The code that clients decide on. The raw value is the word in the document.
  public enum Code: String, CaseIterable, Sendable {
    case malformedRequest = "malformed_request"
    case invalidJSON = "invalid_json"
    case unauthenticated
    case invalidToken = "invalid_token"
    case invalidClient = "invalid_client"
    case invalidProof = "invalid_proof"
    case attestationRequired = "attestation_required"
    case attestationFailed = "attestation_failed"
    case closed
    case denied
    case numberNotAllowed = "number_not_allowed"
    case noAgents = "no_agents"
    case numberNotProven = "number_not_proven"
    case consentRequired = "consent_required"
    case stopped
    case notFound = "not_found"
    case unknownApp = "unknown_app"
    case methodNotAllowed = "method_not_allowed"
    case requestTimeout = "request_timeout"
    case tooMany = "too_many"
    case taken
    case requestExpired = "request_expired"
    case alreadyDelivered = "already_delivered"
    case claimExpired = "claim_expired"
    case challengeExpired = "challenge_expired"
    case noDevice = "no_device"
    case duplicate
    case inProgress = "in_progress"
    case slotFull = "slot_full"
    case tooLate = "too_late"
    case contentTooLarge = "content_too_large"
    case targetTooLong = "target_too_long"
    case unsupportedMediaType = "unsupported_media_type"
    case invalidRequest = "invalid_request"
    case idempotencyMismatch = "idempotency_mismatch"
    case slowDown = "slow_down"
    case rateLimited = "rate_limited"
    case quotaExhausted = "quota_exhausted"
    case upstreamRateLimited = "upstream_rate_limited"
    case fieldsTooLarge = "fields_too_large"
    case `internal`
    case upstreamRefused = "upstream_refused"
    case upstreamFailed = "upstream_failed"
    case upstreamUnavailable = "upstream_unavailable"
    case storeUnavailable = "store_unavailable"
    case attestationUnavailable = "attestation_unavailable"
    case auditUnavailable = "audit_unavailable"
    case overloaded
    case upstreamTimeout = "upstream_timeout"
    case outcomeUnknown = "outcome_unknown"
  }

  /// A mistake in one member of a request.
  public struct FieldProblem: Hashable, Sendable {
    /// The member's name or path, as in `context.fields[2].value`.
    public var name: String
    /// The mistake and the fix.
    public var description: String
    /// The time at the end of the description; nil if it has none.
    package private(set) var limit: TimeLimit?

    package init(name: String, description: String) {
      self.name = name
      self.description = description
    }

    /// Creates a mistake whose description ends with a time.
    package init(name: String, limit words: String, _ time: Instant) {
      self.init(name: name, description: "\(words) \(time.rfc3339).")
      limit = TimeLimit(words: words, time: time)
    }
  }

  /// A description that ends with a time, for interfaces that write times in another format.
  package struct TimeLimit: Hashable, Sendable {
    package let words: String
    package let time: Instant
  }

  /// The code that clients decide on.
  public var code: Code
  /// What happened and what the caller can do, in sentences. The detail never contains a secret, a token or
  /// words of another service.
  public var detail: String
  /// The mistakes in members of the request, each with the member's name.
  public var fields: [FieldProblem] = []
  /// The rule that refused; nil if none did.
  public var rule: String?
  /// The seconds until a retry makes sense; nil if that is not known, or if a retry does not help.
  public var retryAfter: Int?
  /// When the server next accepts requests, RFC 3339.
  public var nextOpen: String?
  /// The id of the callback or ticket that the problem is about; nil if it is about none.
  public var id: String?
  /// A time that can be booked instead.
  package struct Offer: Hashable, Sendable {
    /// The time, RFC 3339.
    package let time: String
    /// The number of free places.
    package let free: Int

    package init(time: String, free: Int) {
      self.time = time
      self.free = free
    }
  }

  /// Times that can be booked instead. The document names them only for a full slot.
  package var alternatives: [Offer]?
  /// Whether a duplicate is a second appointment for one number.
  package var isOfAppointment = false
  /// Whether the first callback of a duplicate was requested in the same conversation of an AI agent.
  package var isOfConversation = false
  /// The time of the first appointment, for other interfaces. This server's own API names the record by its
  /// id.
  package var appointmentTime: Instant?
  /// The rule's own name, for operators. Callers may get another one in `rule`.
  package var ownRule: String?
  /// The accepted types of attestation, or ways to prove a number.
  public var accepts: [String] = []
  /// The consent texts that the server accepts.
  public var texts: [String] = []
  /// The verification code of the callback `id`, because the phone may still ring.
  package var verificationCode: String?
  /// Whether the client has disconnected, so that no one reads the response. The status is then 499, as in
  /// nginx: not a failure of this server.
  package var isUnread = false
  /// Further fields of the response, such as `WWW-Authenticate`, `Allow` and `RateLimit`.
  public var responseFields: Fields = [:]

  public init(_ code: Code, _ detail: String, retryAfter: Int? = nil) {
    self.code = code
    self.detail = detail
    self.retryAfter = retryAfter
  }

  /// The problem as a document.
  ///
  /// - Parameter instance: The request's id; nil to leave it out.
  package func content(instance: String?) -> [UInt8] {
    var document: JSONObject = [
      "type": .string("urn:callgate:problem:\(code.rawValue)"),
      "title": .string(code.title),
      "status": .number(JSONNumber(Int64(code.status.code))),
      "detail": .string(detail),
    ]
    if let instance { document["instance"] = .string(instance) }
    document["code"] = .string(code.rawValue)
    document["message"] = .string(code.title)
    if !fields.isEmpty {
      document["fields"] = .array(
        fields.map { .object(["name": .string($0.name), "description": .string($0.description)]) })
    }
    if let rule { document["rule"] = .string(rule) }
    if let retryAfter { document["retry_after"] = .number(JSONNumber(Int64(retryAfter))) }
    if let nextOpen { document["next_open"] = .string(nextOpen) }
    if let id { document["id"] = .string(id) }
    if code == .slotFull, let alternatives {
      document["alternatives"] = .array(alternatives.map { .string($0.time) })
    }
    if !accepts.isEmpty { document["accepts"] = .array(accepts.map { .string($0) }) }
    if !texts.isEmpty { document["texts"] = .array(texts.map { .string($0) }) }
    if let verificationCode { document["verification_code"] = .string(verificationCode) }
    return document.serialized()
  }

  /// The header fields of every response with a problem.
  package static let headFields: Fields = [
    "Content-Type": "application/problem+json", "Cache-Control": "no-store",
  ]

  /// The problem as a response.
  package func response(requestID: RequestID) -> Response {
    var head = Self.headFields
    if let retryAfter { head.append("Retry-After", String(retryAfter)) }
    for line in responseFields.lines { head.append(line.name, line.value) }
    let status = isUnread ? Status(499, "Client Closed Request") : code.status
    return Response(status: status, fields: head, content: content(instance: requestID.description))
  }
}

extension Problem {
  /// The problem if the audit log cannot be written, so that nothing was done.
  package static var noAudit: Problem {
    Problem(
      .auditUnavailable, "The server cannot write its audit log, so it did nothing.", tryAgainAfter: 1)
  }
}

extension Problem.Code {
  /// The HTTP status of the code.
  package var status: Status {
    switch self {
    case .malformedRequest, .invalidJSON: .badRequest
    case .unauthenticated, .invalidToken, .invalidClient, .invalidProof, .attestationRequired: .unauthorized
    case .closed, .denied, .numberNotAllowed, .noAgents, .stopped, .attestationFailed,
      .numberNotProven, .consentRequired:
      .forbidden
    case .notFound, .unknownApp: .notFound
    case .methodNotAllowed: .methodNotAllowed
    case .requestTimeout: .requestTimeout
    case .tooMany, .taken, .noDevice, .duplicate, .inProgress, .slotFull, .tooLate: .conflict
    case .requestExpired, .alreadyDelivered, .claimExpired, .challengeExpired: .gone
    case .contentTooLarge: .contentTooLarge
    case .targetTooLong: .uriTooLong
    case .unsupportedMediaType: .unsupportedMediaType
    case .invalidRequest, .idempotencyMismatch: .unprocessableContent
    case .slowDown, .rateLimited, .quotaExhausted, .upstreamRateLimited: .tooManyRequests
    case .fieldsTooLarge: .requestHeaderFieldsTooLarge
    case .internal: .internalServerError
    case .upstreamRefused, .upstreamFailed: .badGateway
    case .upstreamUnavailable, .storeUnavailable, .attestationUnavailable, .auditUnavailable, .overloaded:
      .serviceUnavailable
    case .upstreamTimeout, .outcomeUnknown: .gatewayTimeout
    }
  }

  /// The title of the code: the same short text for every occurrence (RFC 9457 §3.1.3).
  package var title: String {
    switch self {
    case .malformedRequest: "The request is not well-formed HTTP/1.1"
    case .invalidJSON: "The body is not valid JSON"
    case .unauthenticated: "Credentials are missing or wrong"
    case .invalidToken: "The token or key is not valid"
    case .invalidClient: "The installation cannot be authenticated"
    case .invalidProof: "The DPoP proof is missing or invalid"
    case .attestationRequired: "App attestation required"
    case .attestationFailed: "The app attestation is invalid"
    case .closed: "Closed now"
    case .denied: "Not allowed"
    case .numberNotAllowed: "This phone number cannot be called"
    case .noAgents: "No agent is available"
    case .numberNotProven: "This phone number is not proven to be the caller's"
    case .consentRequired: "The customer's consent is missing or not valid"
    case .stopped: "Stopped by the operator"
    case .notFound: "Not found"
    case .unknownApp: "Unknown app"
    case .methodNotAllowed: "Method not allowed"
    case .requestTimeout: "The request did not arrive in time"
    case .tooMany: "No more of these are possible"
    case .taken: "This id is already in use"
    case .requestExpired: "The enrollment request has expired"
    case .alreadyDelivered: "The secret has already been delivered"
    case .claimExpired: "The claim has expired or was already used"
    case .challengeExpired: "The challenge has expired or was already used"
    case .noDevice: "No device is registered"
    case .duplicate: "Duplicate request"
    case .inProgress: "The first request with this key is still running"
    case .slotFull: "This time is fully booked"
    case .tooLate: "This callback can no longer be changed"
    case .contentTooLarge: "The body is too large"
    case .targetTooLong: "The URL is too long"
    case .unsupportedMediaType: "The content type is not supported"
    case .invalidRequest: "The request is not valid"
    case .idempotencyMismatch: "This key was used with a different request"
    case .slowDown: "The app polled too soon"
    case .rateLimited: "Too many requests"
    case .quotaExhausted: "The quota is used up"
    case .upstreamRateLimited: "An upstream service is limiting requests"
    case .fieldsTooLarge: "The headers are too large"
    case .internal: "Internal server error"
    case .upstreamRefused: "An upstream service rejected this server's request"
    case .upstreamFailed: "An upstream service returned an unexpected response"
    case .upstreamUnavailable: "An upstream service is unavailable"
    case .storeUnavailable: "The database is unavailable"
    case .attestationUnavailable: "The attestation cannot be checked right now"
    case .auditUnavailable: "The audit log is unavailable"
    case .overloaded: "The server is too busy"
    case .upstreamTimeout: "An upstream service did not respond in time"
    case .outcomeUnknown: "The outcome of the call request is unknown"
    }
  }
}

// One example of each problem document, for the API documentation.

import Gate
import HTTP
import HTTPServer
import JSON

extension Problem.Code {
  /// An example of a problem with this code.
  var example: JSONValue {
    guard let id = RequestID("3f6a0c1d9b7e4f528a6c0e1d2b3a4f5c") else { preconditionFailure("a sane id") }
    do throws(JSONError) {
      return try JSONValue(parsing: exampleProblem.response(requestID: id).content)
    } catch {
      preconditionFailure("a problem is JSON: \(error)")
    }
  }

  /// A problem with this code.
  package var exampleProblem: Problem {
    switch self {
    case .malformedRequest: return Problem(RequestFailure.malformed)
    case .requestTimeout: return Problem(RequestFailure.timedOut)
    case .contentTooLarge: return Problem(RequestFailure.contentTooLarge)
    case .targetTooLong: return Problem(RequestFailure.targetTooLong)
    case .fieldsTooLarge: return Problem(RequestFailure.fieldsTooLarge)
    case .overloaded: return Problem(RequestFailure.overloaded)
    case .internal: return Problem(RequestFailure.unanswered)
    case .notFound: return .noEndpoint
    case .methodNotAllowed: return .methodNotAllowed("GET, HEAD, OPTIONS")
    case .stopped: return .stopped
    case .invalidJSON: return Problem(self, "The body is not valid JSON: the text ends too early at byte 17.")
    case .unauthenticated: return Problem(self, "The user name or password is wrong.")
    case .invalidToken: return Problem(self, "No configured caller has this key or token.")
    case .closed:
      let opening = "2026-11-23T14:00:00Z"
      var problem = Problem(DenialCode.closed, nextOpen: opening, after: 82_555)
      problem.rule = "opening-hours"
      problem.nextOpen = opening
      return problem
    case .denied:
      var problem = Problem(DenialCode.denied)
      problem.rule = "paying"
      return problem
    case .numberNotAllowed:
      var problem = Problem(DenialCode.numberNotAllowed)
      problem.rule = "default-numbers"
      return problem
    case .noAgents:
      var problem = Problem(DenialCode.noAgents, after: 60)
      problem.rule = "agents"
      return problem
    case .numberNotProven:
      return Problem(Denial(code: .numberNotProven, rule: "own-number", options: ["claim", "proof"]))
    case .consentRequired:
      return Problem(Denial(code: .consentRequired, rule: "agreed", options: ["v3"]))
    case .unknownApp: return .noApp
    case .invalidClient:
      return Problem(
        self, "Unknown installation, or wrong secret or request_id. Enroll again.")
    case .invalidProof:
      return Problem(
        self,
        "Sign a new proof with your key and send it in the header DPoP. Put the nonce from DPoP-Nonce into it."
      )
    case .attestationRequired:
      var problem = Problem(self, "Send an App Check token in the header X-Firebase-AppCheck.")
      problem.accepts = ["app_check"]
      return problem
    case .attestationFailed: return .attestationFailed
    case .attestationUnavailable:
      return Problem(
        self, "The server cannot check the attestation right now.", tryAgainAfter: 10)
    case .tooMany:
      return Problem(self, "This user has reached the installation limit of this app. Revoke one first.")
    case .taken:
      return Problem(self, "Another installation already uses this client_id. Generate a new UUID.")
    case .requestExpired: return Problem(self, "This request has expired. Start again without request_id.")
    case .alreadyDelivered:
      return Problem(
        self, "The secret for this request has already been delivered. Start again without request_id.")
    case .challengeExpired:
      return Problem(
        self, "Request a new challenge and attest again. A challenge works once, for 300 seconds.")
    case .claimExpired:
      return Problem(self, "This claim is unknown, expired or already used. Request a new token.")
    case .noDevice:
      return Problem(self, "Register the device with PUT /installations/self/push first.")
    case .slowDown: return Problem(self, "The app polled too soon.", tryAgainAfter: 3)
    case .duplicate: return .duplicate(of: "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87")
    case .inProgress: return .inProgress
    case .slotFull:
      return .slotFull(["2026-11-23T15:15:00Z", "2026-11-23T15:45:00Z"].map { .init(time: $0, free: 1) })
    case .tooLate: return .tooLate
    case .unsupportedMediaType: return Problem(self, "Send JSON with Content-Type: application/json.")
    case .invalidRequest:
      return .invalid([
        .init(
          name: "contact_phone_number", description: "Leave out spaces, dashes and brackets: +14155550123."),
        .init(name: "context.fields[2].value", description: "Give at most 255 characters."),
      ])
    case .idempotencyMismatch: return .idempotencyMismatch
    case .rateLimited:
      var problem = Problem(DenialCode.rateLimited, after: 2)
      problem.rule = "per-caller"
      return problem
    case .quotaExhausted:
      var problem = Problem(DenialCode.quotaExhausted, after: 3_600)
      problem.rule = "daily"
      return problem
    case .upstreamRateLimited: return .upstreamRateLimited(5)
    case .upstreamRefused:
      return Problem(
        self,
        "Talkdesk ID rejected this server's credential or scope. Contact the operator of this server."
      )
    case .upstreamFailed: return Problem(self, "The server cannot use Talkdesk ID's response.")
    case .upstreamUnavailable:
      return Problem(self, "Talkdesk ID is unavailable.", tryAgainAfter: 2)
    case .storeUnavailable:
      return Problem(DenialCode.storeUnavailable, after: 1)
    case .auditUnavailable: return .noAudit
    case .upstreamTimeout: return Problem(self, "Talkdesk ID did not respond in time.")
    case .outcomeUnknown: return .outcomeUnknown
    }
  }
}

// One example of each problem document, for the API documentation.

import HTTP
import HTTPServer
import JSON

extension Problem.Code {
  /// What a refusal with this code looks like.
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
    case .invalidJSON: return Problem(self, "The content is no JSON: the text ends too early at byte 17.")
    case .unauthenticated: return Problem(self, "The user name or the password is wrong.")
    case .invalidToken: return Problem(self, "No configured caller has this key or token.")
    case .closed:
      var problem = Problem(self, "It opens again at 2026-11-23T14:00:00Z.", retryAfter: 82_555)
      problem.rule = "opening-hours"
      problem.nextOpen = "2026-11-23T14:00:00Z"
      return problem
    case .denied:
      var problem = Problem(self, "A rule of this server does not allow this request.")
      problem.rule = "paying"
      return problem
    case .numberNotAllowed:
      var problem = Problem(self, "Callbacks are not made to numbers of this kind.")
      problem.rule = "default-numbers"
      return problem
    case .unknownApp: return Problem(self, "This server has no app of this name.")
    case .duplicate:
      var problem = Problem(self, "This number was asked for a moment ago; the callback under id stands.")
      problem.id = "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87"
      return problem
    case .inProgress:
      return Problem(
        self, "Wait for its answer, or ask again a little later with the same key.", retryAfter: 1)
    case .unsupportedMediaType: return Problem(self, "Send JSON, as Content-Type: application/json.")
    case .invalidRequest:
      return .invalid([
        .init(
          name: "contact_phone_number", description: "Leave out spaces, dashes and brackets: +14155550123."),
        .init(name: "context.fields[2].value", description: "Give at most 255 characters."),
      ])
    case .idempotencyMismatch: return Problem(self, "Take a new key for another callback.")
    case .rateLimited:
      var problem = Problem(
        self, "Requests come faster than they are allowed to; wait as Retry-After says.", retryAfter: 2)
      problem.rule = "per-caller"
      return problem
    case .quotaExhausted:
      var problem = Problem(
        self, "All requests of this period are used up; wait as Retry-After says.", retryAfter: 3_600)
      problem.rule = "daily"
      return problem
    case .upstreamRateLimited:
      return Problem(
        self, "Talkdesk limits callbacks at the moment; wait as Retry-After says.", retryAfter: 5)
    case .upstreamRefused:
      return Problem(
        self, "Talkdesk ID does not accept this server's credential or scope; its operator must look at it.")
    case .upstreamFailed: return Problem(self, "Talkdesk ID's reply cannot be used.")
    case .upstreamUnavailable:
      return Problem(self, "Talkdesk ID is not available; try again later.", retryAfter: 2)
    case .storeUnavailable:
      return Problem(
        self, "Usage cannot be checked right now. Retry after the time in Retry-After.", retryAfter: 1)
    case .upstreamTimeout: return Problem(self, "Talkdesk ID did not answer in time.")
    case .outcomeUnknown:
      return Problem(
        self,
        "Talkdesk was asked and did not answer; the call may come. Asking again with another key could ring twice."
      )
    }
  }
}

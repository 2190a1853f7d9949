// The errors of GMS: which of its exceptions a problem is to its clients.

import API
import Gate
import HTTP
import HTTPServer
import JSON
import Platform
import Records
import Store
import Texts

/// The classes of exceptions that GMS clients know.
enum GMSException: String {
  case number = "Number"
  case availability = "Availability"
  case notFound = "NotFound"
  case resource = "Resource"
  case serviceUnavailable = "ServiceUnavailable"

  /// The members of requests that name times.
  private static let times = [
    "at", "_desired_time", "_new_desired_time", "start", "end", "from", "to", "start-ms", "end-ms",
    "number-of-days", "max-time-slots", "timezone", "report-busy",
  ]

  /// The class of a problem; nil where the problem document is the response.
  init?(_ problem: Problem) {
    guard !problem.isUnread, ![401, 413, 414, 415, 431].contains(problem.code.status.code) else { return nil }
    let names = problem.fields.map(\.name)
    switch problem.code {
    case .numberNotAllowed: self = .number
    case .invalidRequest where names.contains("contact_phone_number"): self = .number
    case .invalidRequest where names.contains(where: Self.times.contains(exactly:)): self = .availability
    case .closed, .slotFull, .noAgents: self = .availability
    case .notFound, .tooLate: self = .notFound
    case .invalidRequest, .invalidJSON, .malformedRequest, .unknownApp, .denied, .idempotencyMismatch:
      self = .resource
    default: self = .serviceUnavailable
    }
  }
}

/// Writes problems as GMS clients read them.
struct GMSErrors: Sendable {
  /// How long the same number is a duplicate; zero for never.
  let window: Duration
  /// How long after its request a record may begin.
  let timeout: Duration
  let clock: any TimeSource

  /// The wait where no time is known, in seconds.
  private static let usualWait = 3600

  var form: ResponseForm { ResponseForm(via: .gms) { response($0, $1) } }

  private func response(_ problem: Problem, _ requestID: RequestID) -> Response {
    guard let exception = GMSException(problem) else { return problem.response(requestID: requestID) }
    let status: Status = exception == .serviceUnavailable ? .serviceUnavailable : .badRequest
    var document: JSONObject = [
      "message": .string(message(problem)),
      "exception": .string(
        "com.genesyslab.gsg.services.callback.exceptions.CallbackException\(exception.rawValue)"),
      "code": .number(JSONNumber(Int64(40_000 + problem.code.status.code))),
      "phrase": .string(status.reason),
    ]
    if exception == .availability, let offers = problem.alternatives {
      var times = JSONObject()
      for offer in offers {
        guard let time = Instant(rfc3339: offer.time) else { continue }
        times.append(time.gms, .number(JSONNumber(Int64(offer.free))))
      }
      document["availability"] = .object(times)
    }
    var fields: Fields = ["Content-Type": "application/json", "Cache-Control": "no-store"]
    if exception == .serviceUnavailable { fields.append("Retry-After", String(wait(problem))) }
    for line in problem.responseFields.lines { fields.append(line.name, line.value) }
    return Response(status: status, fields: fields, content: document.serialized())
  }

  private func message(_ problem: Problem) -> String {
    if problem.code == .duplicate { return "A call to this number was requested a moment ago. It stands." }
    guard !problem.fields.isEmpty else { return problem.detail }
    return problem.fields.map { field in
      let name =
        switch field.name {
        case "contact_phone_number": "_customer_number"
        case "at": "_desired_time"
        default: field.name
        }
      return "\(name): \(field.description)"
    }.joined(separator: " ")
  }

  /// A repetition before the end of the window could be taken for a second callback, or ring twice after it.
  private func wait(_ problem: Problem) -> Int {
    switch problem.code {
    case .duplicate, .inProgress, .outcomeUnknown, .upstreamFailed: break
    default: return problem.retryAfter ?? Self.usualWait
    }
    guard window > .zero else { return problem.retryAfter ?? Self.usualWait }
    // An id begins with the time of its record.
    let age = problem.id.flatMap { CallbackID($0) }.map { Instant(clock.unixTime) - $0.time } ?? .zero
    let left = window - max(age - timeout, .zero)
    let wait = left > .zero ? left.wholeSecondsRoundedUp : Self.usualWait
    // An appointment that was moved has begun its window again, and its id does not say when.
    let least = problem.code == .duplicate ? min(Self.usualWait, window.wholeSecondsRoundedUp) : 0
    return max(wait, least, problem.retryAfter ?? 0)
  }
}

extension Problem {
  /// A value that is wrong.
  static func invalid(_ name: String, _ description: String) -> Problem {
    .invalid([.init(name: name, description: description)])
  }
}

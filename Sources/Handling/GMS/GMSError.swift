// Converts problems to the exceptions of GMS, which its clients know.

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
}

/// A problem as a GMS client reads it. GMS apps show the message to customers, so it has its own text.
struct GMSFailure {
  /// The time at which the same request can succeed.
  enum Repetition {
    case never
    /// After the problem's own wait, or else after an hour.
    case later
    /// The phone may still ring for this request or an earlier one, so a repetition must not come before the
    /// end of the window.
    case afterWindow
  }

  let exception: GMSException
  /// The text for customers.
  let message: String
  let repetition: Repetition

  private init(_ exception: GMSException, _ message: String, _ repetition: Repetition = .never) {
    self.exception = exception
    self.message = message
    self.repetition = repetition
  }

  private static func unavailable(_ message: String, _ repetition: Repetition = .later) -> GMSFailure {
    GMSFailure(.serviceUnavailable, message, repetition)
  }

  /// Nil if the problem document itself is the response.
  ///
  /// - Parameter times: Formats the times in messages.
  init?(_ problem: Problem, _ times: GMSLocalTimes) {
    guard !problem.isUnread else { return nil }
    switch problem.code {
    // 401, 405, 408, 413, 414, 415 and 431.
    case .unauthenticated, .invalidToken, .invalidClient, .invalidProof, .attestationRequired,
      .methodNotAllowed, .requestTimeout, .contentTooLarge, .targetTooLong, .unsupportedMediaType,
      .fieldsTooLarge:
      return nil
    case .numberNotAllowed: self.init(.number, "We cannot call this phone number.")
    case .numberNotProven:
      self.init(.number, "We call only numbers that are confirmed to be yours. Confirm this number first.")
    case .consentRequired: self.init(.number, "We call only customers who agreed to it. Please agree first.")
    case .closed:
      let opening = problem.nextOpen.flatMap { Instant(rfc3339: $0) }
      self.init(
        .availability,
        "We are closed at this time." + (opening.map { " We open again on \(times.text($0))." } ?? ""))
    case .slotFull:
      self.init(
        .availability,
        problem.alternatives?.isEmpty == true
          ? "This time and all other times are fully booked."
          : "This time is fully booked. Choose another time.")
    case .invalidRequest:
      self.init(Self.exception(of: problem.fields), Self.message(problem, times) ?? problem.detail)
    case .invalidJSON, .malformedRequest: self.init(.resource, problem.detail)
    case .idempotencyMismatch: self.init(.resource, "This key was used with a different request.")
    case .unknownApp: self.init(.resource, "This server has no service with this name.")
    case .denied: self.init(.resource, Self.message(problem, times) ?? "This request is not allowed.")
    case .attestationFailed: self.init(.resource, "This request does not come from the genuine app.")
    case .notFound: self.init(.notFound, "There is no callback with this id.")
    case .tooLate: self.init(.notFound, "This callback can no longer be changed or canceled.")
    // No endpoint for GMS clients returns these codes: they concern devices, enrollments, claims and
    // challenges. They are here only so that each code has a class.
    case .noDevice, .taken, .requestExpired, .alreadyDelivered, .claimExpired, .challengeExpired:
      self.init(.notFound, problem.code.title)
    case .tooMany: self = .unavailable(problem.code.title)
    case .duplicate where problem.isOfAppointment:
      let time = problem.appointmentTime.map { " on \(times.text($0))" } ?? ""
      self = .unavailable(
        "You already have a callback for this number\(time). Change it or cancel it.", .never)
    case .duplicate:
      self = .unavailable(
        "A callback to this number has already been requested.", .afterWindow)
    case .inProgress: self = .unavailable("The same request is still running.", .afterWindow)
    case .outcomeUnknown, .upstreamFailed:
      self = .unavailable("We cannot tell whether the call was requested.", .afterWindow)
    case .stopped: self = .unavailable("Callbacks are switched off at the moment.")
    case .noAgents: self = .unavailable("No agent is available right now.")
    case .rateLimited, .slowDown: self = .unavailable("Too many requests.")
    case .quotaExhausted: self = .unavailable("The limit for this period has been reached.")
    case .upstreamRateLimited, .upstreamRefused, .upstreamUnavailable, .upstreamTimeout, .internal:
      self = .unavailable("We cannot request calls at the moment.")
    case .attestationUnavailable: self = .unavailable("We cannot check the app at the moment.")
    case .storeUnavailable, .auditUnavailable:
      self = .unavailable("We could not confirm that this was saved.")
    case .overloaded: self = .unavailable("The server is too busy.")
    }
  }

  // MARK: Members

  private static let numbers = ["contact_phone_number", "_customer_number"]
  /// The members of requests that name times. The descriptions of their mistakes mention the time, so the
  /// message needs no label.
  private static let moments = ["at", "_desired_time", "_new_desired_time", "from", "to"]
  private static let spans = [
    "start", "end", "start-ms", "end-ms", "number-of-days", "max-time-slots", "timezone", "report-busy",
  ]
  private static let others = ["operand", "_media_type"]

  private static func exception(of fields: [Problem.FieldProblem]) -> GMSException {
    func hasOne(of names: [String]) -> Bool { fields.contains { names.contains(exactly: $0.name) } }
    return hasOne(of: numbers) ? .number : hasOne(of: moments + spans) ? .availability : .resource
  }

  /// The mistakes in the members, as text for customers; nil if no member is named.
  private static func message(_ problem: Problem, _ times: GMSLocalTimes) -> String? {
    guard !problem.fields.isEmpty else { return nil }
    return problem.fields.map { field in
      // Clients do not choose this number.
      if field.name.hasSameBytes(as: "talkdesk_phone_number") {
        return "This service has no phone number to call from."
      }
      let words = field.limit.map { "\($0.words) \(times.text($0.time))." } ?? field.description
      return label(field.name).map { "\($0): \(words)" } ?? words
    }.joined(separator: " ")
  }

  /// The name by which a client knows a member; nil for a member that needs no label, and for one that only
  /// this server's own API has.
  private static func label(_ name: String) -> String? {
    if numbers.contains(exactly: name) { return "Phone number" }
    if spans.contains(exactly: name) || others.contains(exactly: name) { return name }
    let context = "context."
    guard name.utf8.starts(with: context.utf8), !name.utf8.starts(with: "context.fields".utf8) else {
      return nil
    }
    let label = String(decoding: name.utf8.dropFirst(context.utf8.count), as: UTF8.self)
    return label.isEmpty ? nil : label
  }
}

/// Writes times as customers read them.
struct GMSLocalTimes: Sendable {
  /// The zone of the company's opening hours; nil for UTC.
  let zone: Zone?

  /// `2026-11-29 at 05:00` in the zone, and `2026-11-29 at 05:00 UTC` without one. Seconds are shown unless
  /// they are zero.
  func text(_ time: Instant) -> String {
    let local = zone?.localSeconds(at: time.seconds)
    let clock = Array(Instant(seconds: local ?? time.seconds).gmsLocal.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: clock[range], as: UTF8.self) }
    let isWhole = time.seconds % 60 == 0
    return "\(part(0..<10)) at \(part(11..<(isWhole ? 16 : 19)))" + (local == nil ? " UTC" : "")
  }
}

extension Policy {
  /// The zone of the first rule about opening hours; nil without one.
  var zoneOfHours: Zone? {
    for rule in rules {
      if case .hours(let schedule) = rule.kind { return schedule.zone }
    }
    return nil
  }
}

/// Writes problems as GMS clients read them.
struct GMSErrors: Sendable {
  /// How long a second callback to the same number counts as a duplicate; zero for never.
  let window: Duration
  /// How long after its request a record may be saved.
  let timeout: Duration
  let clock: any TimeSource
  let times: GMSLocalTimes

  /// The wait if no time is known, in seconds.
  private static let usualWait = 3600

  var form: ResponseForm { ResponseForm(via: .gms) { response($0, $1) } }

  private func response(_ problem: Problem, _ requestID: RequestID) -> Response {
    guard let failure = GMSFailure(problem, times) else { return problem.response(requestID: requestID) }
    let status: Status = failure.exception == .serviceUnavailable ? .serviceUnavailable : .badRequest
    let wait = wait(problem, failure.repetition)
    var message = failure.message
    if let wait {
      let start = failure.repetition == .afterWindow ? "If the phone does not ring, try" : "Try"
      message += " \(start) again in \(Problem.words(wait))."
    }
    var document: JSONObject = [
      "message": .string(message),
      "exception": .string(
        "com.genesyslab.gsg.services.callback.exceptions.CallbackException\(failure.exception.rawValue)"),
      "code": .number(JSONNumber(Int64(40_000 + problem.code.status.code))),
      "phrase": .string(status.reason),
    ]
    if failure.exception == .availability, let offers = problem.alternatives {
      var times = JSONObject()
      for offer in offers {
        guard let time = Instant(rfc3339: offer.time) else { continue }
        times.append(time.gms, .number(JSONNumber(Int64(offer.free))))
      }
      document["availability"] = .object(times)
    }
    var fields: Fields = ["Content-Type": "application/json", "Cache-Control": "no-store"]
    if let wait { fields.append("Retry-After", String(wait)) }
    for line in problem.responseFields.lines { fields.append(line.name, line.value) }
    return Response(status: status, fields: fields, content: document.serialized())
  }

  /// The seconds until the request can be repeated; nil if a repetition does not help. Before the end of the
  /// window, a repetition could count as a second callback or make the phone ring twice.
  private func wait(_ problem: Problem, _ repetition: GMSFailure.Repetition) -> Int? {
    switch repetition {
    case .never: return nil
    case .later: return problem.retryAfter ?? Self.usualWait
    case .afterWindow: break
    }
    guard window > .zero else { return problem.retryAfter ?? Self.usualWait }
    // An id begins with the time of its request.
    let age = problem.id.flatMap { CallbackID($0) }.map { Instant(clock.unixTime) - $0.time } ?? .zero
    let left = window - max(age - timeout, .zero)
    let wait = left > .zero ? left.wholeSecondsRoundedUp : Self.usualWait
    return max(wait, problem.retryAfter ?? 0)
  }
}

extension Problem {
  /// The problem of a member with a wrong value.
  static func invalid(_ name: String, _ description: String) -> Problem {
    .invalid([.init(name: name, description: description)])
  }
}

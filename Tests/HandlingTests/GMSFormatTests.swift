// Tests of the format for clients of Genesys Mobile Services: times, records, names and errors.

import API
import Foundation
import Gate
import HTTP
import HTTPServer
import JSON
import Platform
import Sealing
import Store
import TestSupport
import Testing

@testable import Handling

@Suite struct GMSTimeTests {
  @Test(arguments: [
    "2026-11-23T10:00:00.000Z", "2026-11-23T10:00:00Z", "2026-11-23T11:00:00.000+0100",
    "2026-11-23T11:00:00+01:00", "2026-11-23T05:00:00.000-0500", "2026-11-23 10:00:00.000Z",
    "2026-11-23 11:00:00+0100",
  ]) func `a time is read with or without milliseconds, and with any offset`(_ text: String) {
    #expect(Instant(gms: text)?.gms == "2026-11-23T10:00:00.000Z")
  }

  @Test(arguments: [
    "", "now", "2026-11-23", "2026-11-23T10:00:00", "2026-13-01T00:00:00.000Z", "+0100", "Z",
    "2026-11-23  10:00:00Z",
    "2026-11-23T10:00:00 Z",
  ])
  func `anything else is no time`(_ text: String) { #expect(Instant(gms: text) == nil) }

  @Test func `a time of day in a zone has no letter`() {
    #expect(Instant(seconds: 0).gmsLocal == "1970-01-01T00:00:00.000")
  }
}

@Suite struct GMSRecordTests {
  private static func record(_ status: StoredCallback.Status, _ code: Problem.Code? = nil) -> JSONObject {
    GMSRecord(
      name: "NAME", service: "support", number: "+14155550123", desired: Instant(seconds: 0),
      expiration: Instant(seconds: 60), status: status, code: code,
      context: [("first_name", "Ann"), ("url", "https://evil.example"), ("_id", "x")]
    ).document
  }

  @Test func `every value is a text, and no property hides a member of the record`() {
    let document = Self.record(.scheduled)
    #expect(document.members.someAndAll { $0.value.string != nil })
    #expect(Set(document.members.map(\.name)).count == document.members.count)
    #expect(document["url"]?.string == "/1/service/callback/support/NAME")
    #expect(document["_url"]?.string == document["url"]?.string)
    #expect(document["_id"]?.string == "NAME" && document["first_name"]?.string == "Ann")
    #expect(document["_desired_time"]?.string == "1970-01-01T00:00:00.000Z")
    #expect(document["_expiration_time"]?.string == "1970-01-01T00:01:00.000Z")
  }

  @Test(
    arguments: [
      (StoredCallback.Status.scheduled, nil, "SCHEDULED", nil), (.pending, nil, "PROCESSING", nil),
      (.accepted, nil, "COMPLETED", nil), (.unknown, .outcomeUnknown, "COMPLETED", nil),
      (.cancelled, nil, "COMPLETED", "CANCELLED"), (.expired, nil, "COMPLETED", "FAIL_TIMEOUT_TTL"),
      (.failed, .upstreamUnavailable, "COMPLETED", "FAIL_QUEUEING"),
      (.failed, .closed, "COMPLETED", "FAIL_ERROR"),
      (.failed, .stopped, "COMPLETED", "FAIL_ERROR"),
    ] as [(StoredCallback.Status, Problem.Code?, String, String?)])
  func `a status has a state and a reason`(
    _ status: StoredCallback.Status, _ code: Problem.Code?, _ state: String, _ reason: String?
  ) {
    let document = Self.record(status, code)
    #expect(document["_callback_state"]?.string == state)
    #expect(document["_callback_reason"]?.string == reason)
  }
}

@Suite struct GMSNamesTests {
  @Test func `a name has 32 characters, depends on the key, and is found with the previous one`() throws {
    let (old, new) = (try StoreKey.generate(), try StoreKey.generate())
    let id = CallbackID(at: Instant(seconds: 1_800_000_000))
    let before = GMSNames(keys: StoreKeys(current: old))
    let after = GMSNames(keys: StoreKeys(current: new, previous: old))
    let name = before.name(of: id)
    #expect(name.utf8.count == 32)
    #expect(name.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x32...0x37).contains($0) })
    #expect(name == before.name(of: id) && name != after.name(of: id))
    #expect(name != before.name(of: CallbackID(at: Instant(seconds: 1_800_000_000))))
    let number = try E164("+14155550123")
    #expect(before.numbers("app", "ann", number).count == 1)
    #expect(after.numbers("app", "ann", number).contains(before.numbers("app", "ann", number)[0]))
    #expect(before.numbers("app", "ann", number) != before.numbers("app", "bob", number))
    #expect(before.numbers("ap", "pann", number) != before.numbers("app", "ann", number))
  }
}

@Suite struct GMSErrorTests {
  private static let time = ManualTime()

  /// A response as a client reads it.
  private struct Shown {
    let response: Response
    let document: JSONObject

    var exception: String? {
      document["exception"]?.string?.split(separator: ".CallbackException").last.map { String($0) }
    }
    var message: String { document["message"]?.string ?? "" }
    var wait: Int? { response.fields.lines.first { $0.name == "Retry-After" }.flatMap { Int($0.value) } }
  }

  private static func shown(
    _ problem: Problem, window: Duration = .seconds(60), zone: String? = nil
  ) throws -> Shown {
    let errors = GMSErrors(
      window: window, timeout: .seconds(10), clock: time,
      times: GMSLocalTimes(zone: try zone.map { try Zone(named: $0) }))
    let response = errors.form.problem(problem, try #require(RequestID("r-1")))
    return Shown(
      response: response, document: try #require(try JSONValue(parsing: response.content).object))
  }

  /// Each code's form in a response: an exception class, or nil for a problem document.
  private static let places: [(exception: String?, codes: [Problem.Code])] = [
    (
      nil,
      [
        .unauthenticated, .invalidToken, .invalidClient, .invalidProof, .attestationRequired,
        .methodNotAllowed, .requestTimeout, .contentTooLarge, .targetTooLong, .unsupportedMediaType,
        .fieldsTooLarge,
      ]
    ), ("Number", [.numberNotAllowed, .numberNotProven, .consentRequired]),
    ("Availability", [.closed, .slotFull]),
    (
      "NotFound",
      [
        .notFound, .tooLate, .noDevice, .taken, .requestExpired, .alreadyDelivered, .claimExpired,
        .challengeExpired,
      ]
    ),
    (
      "Resource",
      [
        .denied, .attestationFailed, .invalidRequest, .invalidJSON, .unknownApp, .malformedRequest,
        .idempotencyMismatch,
      ]
    ),
    (
      "ServiceUnavailable",
      [
        .stopped, .noAgents, .rateLimited, .slowDown, .quotaExhausted, .tooMany, .duplicate, .inProgress,
        .upstreamRateLimited, .upstreamRefused, .upstreamFailed, .upstreamUnavailable, .upstreamTimeout,
        .outcomeUnknown, .storeUnavailable, .auditUnavailable, .attestationUnavailable, .overloaded,
        .internal,
      ]
    ),
  ]

  @Test func `every code of a problem has its place`() throws {
    #expect(Set(Self.places.flatMap(\.codes)) == Set(Problem.Code.allCases))
    for (exception, codes) in Self.places {
      for code in codes {
        let shown = try Self.shown(Problem(code, "Words."))
        #expect(shown.exception == exception, "\(code)")
        guard let exception else {
          #expect(shown.response.status == code.status && shown.document["code"]?.string == code.rawValue)
          continue
        }
        let status = exception == "ServiceUnavailable" ? 503 : 400
        #expect(shown.response.status.code == status, "\(code)")
        #expect(shown.document["code"]?.int == 40_000 + Int64(code.status.code))
        #expect(!shown.message.isEmpty && shown.document["phrase"]?.string != nil)
        #expect((shown.wait ?? 0 > 0) == (status == 503), "\(code)")
      }
    }
  }

  @Test func `docs name the exception of each code that clients meet`() throws {
    let rows = try String(contentsOf: Checkout.root.appending(path: "docs/build/genesys.md"), encoding: .utf8)
      .split(
        separator: "\n")
    for (exception, codes) in Self.places {
      guard let exception else { continue }
      let row = try #require(rows.first { $0.hasPrefix("| `\(exception)` |") })
      for code in codes where !Self.neverMet.contains(code) {
        #expect(row.contains("`\(code.rawValue)`"), "\(code)")
      }
    }
  }

  /// Codes that GMS clients never get: those of installations, codes and claims, and those of a connection
  /// whose request has no endpoint yet.
  private static let neverMet: [Problem.Code] = [
    .requestExpired, .alreadyDelivered, .claimExpired, .challengeExpired, .slowDown, .tooMany,
    .malformedRequest,
  ]

  @Test func `a wait that is known is the one that clients read, in the header and in words`() throws {
    let noAgents = try Self.shown(Problem(.noAgents, "Words.", retryAfter: 60))
    #expect(noAgents.wait == 60 && noAgents.message.contains("60 seconds"))
    #expect(try Self.shown(Problem(.rateLimited, "Words.", retryAfter: 1)).message.contains("1 second."))
    #expect(
      try Self.shown(Problem(.quotaExhausted, "Words.", retryAfter: 3541)).message.contains("60 minutes"))
  }

  @Test func `no text names a member, header or value that only the server's own interface has`() throws {
    for code in Problem.Code.allCases {
      let shown = try Self.shown(code.exampleProblem)
      guard shown.exception != nil else { continue }
      for word in [
        "Retry-After", "Idempotency-Key", "DPoP", "X-Firebase", "alternatives", "See ",
        "contact_phone_number",
        "context", "fields", "request_id", "client_id", "T14:00", "app of this name",
      ] {
        #expect(!shown.message.contains(word), "\(code): \(shown.message)")
      }
    }
  }

  @Test func `a fault is named in the client's words, and decides the exception`() throws {
    for (name, exception, shown) in [
      ("contact_phone_number", "Number", "Phone number: Wrong."),
      ("_customer_number", "Number", "Phone number: Wrong."),
      ("at", "Availability", "Wrong."), ("_new_desired_time", "Availability", "Wrong."),
      ("start", "Availability", "start: Wrong."), ("context.first_name", "Resource", "first_name: Wrong."),
      ("context.fields", "Resource", "Wrong."), ("context.", "Resource", "Wrong."),
      ("talkdesk_phone_number", "Resource", "This service has no phone number to call from."),
      ("Idempotency-Key", "Resource", "Wrong."),
    ] {
      let found = try Self.shown(.invalid(name, "Wrong."))
      #expect(found.exception == exception && found.message == shown, "\(name)")
    }
  }

  @Test func `times are those of the company's clocks, or say that they are UTC`() throws {
    var closed = Problem(.closed, "Words.")
    closed.nextOpen = "2026-11-29T05:00:00Z"
    #expect(try Self.shown(closed).message.contains("2026-11-29 at 05:00 UTC"))
    #expect(try Self.shown(closed, zone: "America/New_York").message.contains("2026-11-29 at 00:00."))
    let early = Problem.invalid([
      .init(name: "at", limit: "The first is", Instant(seconds: 1_795_219_199))
    ])
    #expect(early.fields[0].description == "The first is 2026-11-20T23:59:59Z.")
    #expect(try Self.shown(early).message == "The first is 2026-11-20 at 23:59:59 UTC.")
    #expect(
      try Self.shown(early, zone: "Asia/Kolkata").message == "The first is 2026-11-21 at 05:29:59.")
  }

  @Test func `times are those of the first rule about opening hours`() throws {
    let day = [try OpeningWindow("00:00-24:00")]
    func rule(_ name: String, _ zone: String) throws -> Rule {
      try Rule(
        name: name, actions: [.callback],
        kind: .hours(Schedule(zone: Zone(named: zone), weekly: Array(repeating: day, count: 7))))
    }
    let policy = try Policy(rules: [rule("a", "Europe/Paris"), rule("b", "UTC")])
    #expect(policy.zoneOfHours?.name == "Europe/Paris")
    #expect(try Policy(rules: []).zoneOfHours == nil)
  }

  @Test func `a second appointment says so, with the time of the first, and no wait helps`() throws {
    var problem = Problem(.duplicate, "See id.")
    problem.isOfAppointment = true
    let unknown = try Self.shown(problem)
    #expect(unknown.exception == "ServiceUnavailable" && unknown.response.status.code == 503)
    #expect(unknown.wait == nil && unknown.document["code"]?.int == 40_409)
    problem.appointmentTime = Instant(rfc3339: "2026-11-29T05:00:00Z")
    let known = try Self.shown(problem, zone: "Europe/Berlin")
    #expect(known.wait == nil && known.message.contains("2026-11-29 at 06:00"))
  }

  @Test func `a duplicate waits for the rest of its window`() throws {
    var problem = Problem(.duplicate, "See id for the first.")
    problem.id = CallbackID(at: Instant(Self.time.unixTime).advanced(by: .seconds(-1000))).description
    let wait = try #require(try Self.shown(problem, window: .seconds(7200)).wait)
    #expect(wait >= 7200 - 1000 && wait <= 7200)
    #expect(try Self.shown(problem, window: .zero).wait == 3600)
  }
}

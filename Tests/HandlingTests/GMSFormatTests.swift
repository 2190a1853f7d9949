// Tests of what clients of Genesys Mobile Services read: times, records, names and errors.

import API
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
    "2026-11-23T11:00:00+01:00", "2026-11-23T05:00:00.000-0500",
  ]) func `a time is read with or without milliseconds, and with any offset`(_ text: String) {
    #expect(Instant(gms: text)?.gms == "2026-11-23T10:00:00.000Z")
  }

  @Test(arguments: ["", "now", "2026-11-23", "2026-11-23T10:00:00", "2026-13-01T00:00:00.000Z", "+0100", "Z"])
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
    #expect(document.members.allSatisfy { $0.value.string != nil })
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

  private static func shown(_ problem: Problem, window: Duration = .seconds(60)) throws -> (
    Response, JSONObject
  ) {
    let errors = GMSErrors(window: window, timeout: .seconds(10), clock: time)
    let response = errors.form.problem(problem, try #require(RequestID("r-1")))
    let document = try JSONValue(parsing: response.content)
    return (response, try #require(document.object))
  }

  @Test(arguments: [
    (Problem.Code.numberNotAllowed, "Number", 400), (.closed, "Availability", 400),
    (.slotFull, "Availability", 400),
    (.notFound, "NotFound", 400), (.tooLate, "NotFound", 400), (.unknownApp, "Resource", 400),
    (.denied, "Resource", 400), (.invalidJSON, "Resource", 400), (.idempotencyMismatch, "Resource", 400),
    (.rateLimited, "ServiceUnavailable", 503), (.quotaExhausted, "ServiceUnavailable", 503),
    (.duplicate, "ServiceUnavailable", 503), (.stopped, "ServiceUnavailable", 503),
    (.upstreamUnavailable, "ServiceUnavailable", 503), (.storeUnavailable, "ServiceUnavailable", 503),
    (.outcomeUnknown, "ServiceUnavailable", 503), (.internal, "ServiceUnavailable", 503),
  ]) func `a problem is one of the exceptions that clients know`(
    _ code: Problem.Code, _ exception: String, _ status: Int
  ) throws {
    let (response, document) = try Self.shown(Problem(code, "Words."))
    #expect(response.status.code == status)
    #expect(document["exception"]?.string?.hasSuffix(".CallbackException\(exception)") == true)
    #expect(document["code"]?.int == 40_000 + Int64(code.status.code))
    #expect(document["message"]?.string != nil && document["phrase"]?.string != nil)
    let wait = response.fields.lines.first { $0.name == "Retry-After" }.flatMap { Int($0.value) }
    #expect((wait ?? 0 > 0) == (status == 503))
  }

  @Test(arguments: [
    Problem.Code.unauthenticated, .contentTooLarge, .targetTooLong, .unsupportedMediaType, .fieldsTooLarge,
  ]) func `other problems stay problem documents`(_ code: Problem.Code) throws {
    let (response, document) = try Self.shown(Problem(code, "Words."))
    #expect(response.status == code.status && document["code"]?.string == code.rawValue)
  }

  @Test func `a fault is named by the client's own member, and decides the exception`() throws {
    for (name, exception, shown) in [
      ("contact_phone_number", "Number", "_customer_number: Wrong."),
      ("at", "Availability", "_desired_time: Wrong."),
      ("start", "Availability", "start: Wrong."), ("first_name", "Resource", "first_name: Wrong."),
    ] {
      let (_, document) = try Self.shown(.invalid(name, "Wrong."))
      #expect(document["exception"]?.string?.hasSuffix(exception) == true)
      #expect(document["message"]?.string == shown)
    }
  }

  @Test func `a duplicate waits for the rest of its window, and its words name no member that is missing`()
    throws
  {
    var problem = Problem(.duplicate, "See id for the first.")
    problem.id = CallbackID(at: Instant(Self.time.unixTime).advanced(by: .seconds(-1000))).description
    let (response, document) = try Self.shown(problem, window: .seconds(7200))
    #expect(document["message"]?.string?.contains(" id ") == false)
    let wait = try #require(
      response.fields.lines.first { $0.name == "Retry-After" }.flatMap { Int($0.value) })
    #expect(wait >= 7200 - 1000 && wait <= 7200)
    #expect(
      try Self.shown(problem, window: .zero).0.fields.lines.contains {
        $0.name == "Retry-After" && $0.value == "3600"
      })
  }
}

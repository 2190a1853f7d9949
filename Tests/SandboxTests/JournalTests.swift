// Tests of the emulator's journal of requests.

import JSON
import Platform
import Testing

@testable import Sandbox

@Suite struct JournalTests {
  static func callback(_ outcome: Outcome, _ number: String) -> CallbackRecord {
    let text = #"{"talkdesk_phone_number":"+18005550199","contact_phone_number":"\#(number)"}"#
    // A body that the test wrote itself parses.
    let body = try? CallbackBody(parsing: Array(text.utf8), phoneNumbers: nil)
    return CallbackRecord(
      time: UnixTime(seconds: 0), outcome: outcome, status: outcome == .accepted ? 201 : nil, body: body,
      tokenScope: "callback:write", host: "127.0.0.1", traceparent: "00-1-2-03", traceID: "tid")
  }

  static func exchange(userAgent: String? = nil) -> ExchangeRecord {
    ExchangeRecord(
      time: UnixTime(seconds: 0), outcome: .accepted, status: 200,
      client: .init(method: .privateKeyJWT, keyID: "key-1", jwtID: "one"), requestedScope: "a b",
      grantedScope: "a b", userAgent: userAgent)
  }

  @Test func `what was acted on rings, answered or not, and nothing else does`() {
    var journal = Journal()
    for outcome in [Outcome.accepted, .droppedAfter, .droppedBefore, .fault, .refused] {
      journal.record(Self.callback(outcome, "+14155550100"))
    }
    journal.record(Self.callback(.accepted, "+14155550101"))
    let json = journal.callbacksJSON
    #expect(json["rings"] == ["+14155550100": 2, "+14155550101": 1])
    #expect(json["count"] == 3)
    #expect(json["arrivals"] == 6)
    #expect(json["callbacks"]?.array?.map { $0["outcome"] } == ["accepted", "dropped_after", "accepted"])
    #expect(json["refused"]?.array?.map { $0["outcome"] } == ["dropped_before", "fault", "refused"])
  }

  @Test func `a callback is shown whole`() {
    #expect(
      Self.callback(.accepted, "+14155550100").json == [
        "time": "1970-01-01T00:00:00.000Z", "outcome": "accepted", "status": 201,
        "contact_phone_number": "+14155550100", "talkdesk_phone_number": "+18005550199",
        "token_scope": "callback:write", "host": "127.0.0.1", "traceparent": "00-1-2-03",
        "platform_tid": "tid",
      ])
  }

  @Test func `an exchange is shown whole`() {
    #expect(
      Self.exchange(userAgent: "callgate").json == [
        "time": "1970-01-01T00:00:00.000Z", "outcome": "accepted", "status": 200,
        "client_authentication": "private_key_jwt", "kid": "key-1", "jti": "one", "scope": "a b",
        "granted_scope": "a b", "user_agent": "callgate",
      ])
  }

  @Test func `what clients send is cut to 200 characters`() {
    let json = Self.exchange(userAgent: String(repeating: "x", count: 201)).json
    #expect(json["user_agent"]?.string?.count == 200)
  }

  @Test func `the last thousand are kept and all are counted`() {
    var journal = Journal()
    for _ in 0..<1001 {
      journal.record(Self.exchange())
      journal.record(Self.callback(.accepted, "+14155550100"))
    }
    #expect(journal.exchangesJSON["exchanges"]?.array?.count == 1000)
    #expect(journal.exchangesJSON["count"] == 1001)
    #expect(journal.callbacksJSON["callbacks"]?.array?.count == 1000)
    #expect(journal.callbacksJSON["rings"]?["+14155550100"] == 1001)
  }

  @Test func `a hundred thousand numbers are counted apart`() {
    var journal = Journal()
    for number in 0..<100_001 { journal.record(Self.callback(.accepted, "+1415\(1_000_000 + number)")) }
    journal.record(Self.callback(.accepted, "+14151000000"))
    let json = journal.callbacksJSON
    #expect(json["rings"]?.object?.count == 100_000)
    #expect(json["rings"]?["+14151000000"] == 2)
    #expect(json["count"] == 100_002)
  }
}

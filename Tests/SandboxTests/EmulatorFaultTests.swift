// Tests of every kind of fault that the emulator can show, over HTTP.

import HTTP
import JOSE
import JSON
import TestSupport
import Testing

@testable import Sandbox

/// Every kind of fault over real loopback HTTP.
@Suite(.serialized) struct EmulatorFaultTests {
  @Test func `a status is answered in place of acting, so many times`() async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"token","status":503,"times":2,"retry_after":7}"#)
      for _ in 0..<2 {
        let answer = try #require(try await emulator.askToken())
        #expect(answer.status == 503)
        #expect(answer.fields["Retry-After"] == "7")
        #expect(try answer.json["error"] == "temporarily_unavailable")
      }
      #expect(try await emulator.askToken()?.status == 200)
      let entries = try #require(try await emulator.journal("exchanges")["exchanges"]?.array)
      #expect(entries.map { $0["outcome"] } == ["fault", "fault", "accepted"])
    }
  }

  @Test func `a faulty status at the Callback API rings no phone`() async throws {
    try await RunningEmulator.run { emulator in
      let token = try await emulator.token()
      for status in [400, 401, 403, 415, 422, 429, 500, 503] {
        try await emulator.fault(#"{"endpoint":"callback","status":\#(status)}"#)
        let answer = try #require(try await emulator.askCallback(token))
        #expect(answer.status == status)
        #expect(try answer.json["code"]?.string != nil)
        #expect(answer.fields["platform-tid"] != nil)
      }
      let journal = try await emulator.journal("callbacks")
      #expect(journal["count"] == 0)
      #expect(journal["arrivals"] == 8)
    }
  }

  @Test func `faults of one endpoint leave the other alone`() async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"callback","status":500}"#)
      let token = try await emulator.token()
      #expect(try await emulator.askCallback(token)?.status == 500)
      #expect(try await emulator.askCallback(token)?.status == 201)
    }
  }

  @Test func `a body goes out verbatim, with success or without`() async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"token","body":"<html>gateway</html>"}"#)
      let page = try #require(try await emulator.askToken())
      #expect(page.status == 200)
      #expect(page.content == "<html>gateway</html>")
      #expect(page.fields["Content-Type"] == "text/html; charset=utf-8")

      try await emulator.fault(#"{"endpoint":"token","status":400,"body":{"error":"invalid_grant"}}"#)
      let refused = try #require(try await emulator.askToken())
      #expect(refused.status == 400)
      #expect(refused.content == #"{"error":"invalid_grant"}"#)

      try await emulator.fault(#"{"endpoint":"callback","status":202,"body":""}"#)
      try await emulator.fault(#"{"endpoint":"callback","status":204}"#)
      let token = try await emulator.token()
      for status in [202, 204] {
        let empty = try #require(try await emulator.askCallback(token))
        #expect(empty.status == status)
        #expect(empty.content.isEmpty)
      }
      #expect(try await emulator.journal("callbacks")["rings"] == ["+14155550100": 2])
    }
  }

  @Test func `drop before closes unanswered and nothing happens`() async throws {
    try await RunningEmulator.run { emulator in
      let token = try await emulator.token()
      try await emulator.fault(#"{"endpoint":"callback","drop":"before"}"#)
      #expect(try await emulator.askCallback(token) == nil)
      let journal = try await emulator.journal("callbacks")
      #expect(journal["count"] == 0)
      #expect(journal["rings"] == [:])
      #expect(journal["arrivals"] == 1)
      #expect(journal["refused"]?.array?.first?["outcome"] == "dropped_before")

      let assertion = try emulator.assertion()
      try await emulator.fault(#"{"endpoint":"token","drop":"before"}"#)
      #expect(try await emulator.askToken(assertion: assertion) == nil)
      // Nothing was done, so not even the assertion is used up.
      #expect(try await emulator.askToken(assertion: assertion)?.status == 200)
    }
  }

  @Test func `drop during closes in the middle of an answer, and everything happens`() async throws {
    try await RunningEmulator.run { emulator in
      let token = try await emulator.token()
      try await emulator.fault(#"{"endpoint":"callback","drop":"during","body":"0123456789"}"#)
      let part = try #require(try await emulator.askCallback(token))
      #expect(part.content == "01234" && part.fields["Content-Length"] == "10")
      let journal = try await emulator.journal("callbacks")
      #expect(journal["rings"] == ["+14155550100": 1])
      #expect(journal["callbacks"]?.array?.first?["outcome"] == "dropped_during")
      #expect(journal["callbacks"]?.array?.first?["status"] == 201)

      try await emulator.fault(#"{"endpoint":"callback","drop":"during","status":500}"#)
      #expect(try await emulator.askCallback(token)?.status == 500)
      #expect(try await emulator.journal("callbacks")["refused"]?.array?.first?["outcome"] == "fault")

      let assertion = try emulator.assertion()
      try await emulator.fault(#"{"endpoint":"token","drop":"during"}"#)
      #expect(try await emulator.askToken(assertion: assertion)?.content.hasSuffix("}") == false)
      #expect(try await emulator.askToken(assertion: assertion)?.status == 401)
      #expect(
        try await emulator.journal("exchanges")["exchanges"]?.array?.map { $0["outcome"] }
          == ["accepted", "dropped_during", "refused"])
    }
  }

  @Test func `drop after closes unanswered and everything happens`() async throws {
    try await RunningEmulator.run { emulator in
      let token = try await emulator.token()
      try await emulator.fault(#"{"endpoint":"callback","drop":"after"}"#)
      #expect(try await emulator.askCallback(token) == nil)
      let journal = try await emulator.journal("callbacks")
      #expect(journal["count"] == 1)
      #expect(journal["arrivals"] == 1)
      #expect(journal["rings"] == ["+14155550100": 1])
      #expect(journal["callbacks"]?.array?.first?["outcome"] == "dropped_after")
      #expect(journal["callbacks"]?.array?.first?["status"] == .null)

      let assertion = try emulator.assertion()
      try await emulator.fault(#"{"endpoint":"token","drop":"after"}"#)
      #expect(try await emulator.askToken(assertion: assertion) == nil)
      #expect(try await emulator.askToken(assertion: assertion)?.status == 401)
    }
  }

  @Test func `a delay holds a response back while others are served`() async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"token","delay_ms":5000}"#)
      try await emulator.fault(#"{"endpoint":"token","delay_ms":9000,"status":429}"#)
      try await emulator.fault(#"{"endpoint":"callback","delay_ms":1000,"drop":"after"}"#)
      async let late = emulator.askToken()
      try await emulator.clock.untilSleepers(1)
      async let later = emulator.askToken()
      try await emulator.clock.untilSleepers(2)
      let token = try await emulator.token()
      async let dropped = emulator.askCallback(token)
      try await emulator.clock.untilSleepers(3)
      // The delayed requests were processed on arrival.
      #expect(try await emulator.journal("exchanges")["count"] == 3)
      #expect(try await emulator.journal("callbacks")["count"] == 1)

      emulator.clock.advance(by: .milliseconds(999))
      #expect(emulator.clock.sleeperCount == 3)
      emulator.clock.advance(by: .milliseconds(1))
      #expect(try await dropped == nil)
      emulator.clock.advance(by: .milliseconds(4000))
      #expect(try await late?.status == 200)
      #expect(emulator.clock.sleeperCount == 1)
      emulator.clock.advance(by: .milliseconds(4000))
      #expect(try await later?.status == 429)
    }
  }

  @Test func `a lifetime replaces the reply's and the token's own`() async throws {
    try await RunningEmulator.run { emulator in
      for seconds: Int64 in [20, 0, -5] {
        try await emulator.fault(#"{"endpoint":"token","expires_in":\#(seconds)}"#)
        let json = try #require(try await emulator.askToken()).json
        #expect(json["expires_in"] == .number(JSONNumber(seconds)))
        let token = try JWS.Compact(parsing: Array((json["access_token"]?.string ?? "").utf8))
        #expect(try JSONValue(parsing: token.payload)["exp"] == .number(JSONNumber(emulator.now + seconds)))
      }
    }
  }

  @Test func `a lifetime that is not a number is returned unchanged, and null is left out`() async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"token","expires_in":"600"}"#)
      #expect(try await emulator.askToken()?.json["expires_in"] == "600")
      try await emulator.fault(#"{"endpoint":"token","expires_in":null}"#)
      let json = try #require(try await emulator.askToken()).json
      #expect(json.object?.members.map(\.name) == ["access_token", "token_type", "scope"])
      #expect(try await emulator.askCallback(json["access_token"]?.string ?? "")?.status == 201)
    }
  }

  @Test func `a fault does not hide what the request did wrong`() async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"token","body":"x","retry_after":1}"#)
      let answer = try #require(try await emulator.askToken(assertion: "a.b.c"))
      #expect(answer.status == 401)
      #expect(answer.fields["Retry-After"] == "1")
      #expect(try answer.json["error"] == "invalid_client")
    }
  }

  @Test func `forgotten faults do nothing`() async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"token","status":503,"times":5}"#)
      #expect(try await emulator.journal("faults")["count"] == 1)
      #expect(try await emulator.http.send("DELETE", "/_sandbox/faults")?.status == 204)
      #expect(try await emulator.journal("faults") == ["faults": [], "count": 0])
      #expect(try await emulator.askToken()?.status == 200)
    }
  }

  @Test func `an invalid fault is 422 and has no effect`() async throws {
    try await RunningEmulator.run { emulator in
      let answer = try #require(
        try await emulator.http.send(
          "POST", "/_sandbox/faults", content: #"{"endpoint":"token","sttus":503}"#))
      #expect(answer.status == 422)
      #expect(answer.fields["Content-Type"] == "application/problem+json")
      #expect(try answer.json["instance"]?.string == answer.fields["X-Request-Id"])
      #expect(try await emulator.askToken()?.status == 200)
    }
  }
}

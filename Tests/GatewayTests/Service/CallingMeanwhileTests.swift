// Tests of callbacks while something changes: a kill switch, a second tap or a refused token.

import Foundation
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway
@testable import RoomSupport

/// Callbacks over loopback, while something changes.
@Suite(.serialized, .timeLimit(.minutes(5))) struct CallingMeanwhileTests {
  private static let operators = ["CALLGATE_ADMIN_TOKEN": "canary-operator-token"]

  private func stop(_ fixture: CallingFixture) async throws {
    let answer = try await fixture.service.ask(
      .post, "/admin/stop", ["Authorization": "Bearer canary-operator-token"],
      content: Array(#"{"scope":"all","action":"callback"}"#.utf8))
    #expect(answer.status == 200)
  }

  private func arrivals(_ count: Int64, _ fixture: CallingFixture) async throws {
    try await eventually { try await fixture.journal().arrivals >= count }
    #expect(try await fixture.journal().arrivals == count)
  }

  @Test func `the kill switch stops what waits for its turn, and gives back what that had taken`()
    async throws
  {
    let fixture = try CallingFixture(
      yaml: """
        callbacks: { concurrency: 1, timeout: 60s }
        rules: [{ name: few, kind: quota, key: caller, limit: 3, per: month }]
        """, environment: Self.operators)
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 15_000, "times": 3])
    async let first = fixture.call("+14155550110")
    try await arrivals(1, fixture)
    async let second = fixture.call("+14155550111", key: "k")
    async let third = fixture.call("+14155550112")
    try await eventually { fixture.service.load == (1, 2) }
    try await stop(fixture)
    try await fixture.release()
    #expect(try await first.summary == "201")
    #expect(try await second.summary == "403 stopped")
    #expect(try await third.summary == "403 stopped")
    #expect(try await fixture.journal().arrivals == 1)
    let availability = try await fixture.look("/availability")
    #expect(availability.json?["remaining"]?["few"] == 2)
    _ = try await fixture.end()
  }

  @Test func `the kill switch stops the second try after a 401`() async throws {
    let fixture = try CallingFixture(environment: Self.operators)
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "status": 401])
    try await fixture.fault(["endpoint": "token", "delay_ms": 9000])
    async let answer = fixture.call()
    try await arrivals(1, fixture)
    try await stop(fixture)
    try await fixture.release()
    let stopped = try await answer
    #expect(stopped.summary == "403 stopped")
    #expect(
      try await fixture.look("/callbacks/\(stopped.id ?? "")").json?["reason"]?.string == "stopped")
    #expect(try await fixture.journal().arrivals == 1)
    _ = try await fixture.end()
  }

  @Test func `of two taps on a button the second is a duplicate while the first waits for its token`()
    async throws
  {
    let fixture = try CallingFixture(
      yaml: "rules: [{ name: once, kind: quota, key: caller, limit: 1, per: month }]")
    try await fixture.fault(["endpoint": "token", "delay_ms": 500])
    let answers = try await withThrowingTaskGroup(of: CallingFixture.Answer.self) { group in
      for _ in 0..<2 { group.addTask { try await fixture.call() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(answers.map(\.summary)) == ["201", "409 duplicate"])
    #expect(Set(answers.map(\.id)).count == 1)
    _ = try await fixture.end()
  }

  @Test func `a validation with a key that is in use gets 409`() async throws {
    let fixture = try CallingFixture()
    try await fixture.fault(["endpoint": "token", "delay_ms": 9000])
    async let first = fixture.call(key: "k")
    try await eventually { fixture.service.load.running == 1 }
    let validate = "/callbacks?validate"
    #expect(try await fixture.call(path: validate, key: "k").summary == "409 in_progress")
    #expect(
      try await fixture.call("+14155550111", path: validate, key: "k").summary == "422 idempotency_mismatch")
    #expect(try await fixture.call("+14155550111", path: validate, key: "other").summary == "200")
    try await fixture.release()
    #expect(try await first.summary == "201")
    _ = try await fixture.end()
  }

  @Test func `a repetition that comes as the first one ends gets its answer, and no rule is asked`()
    async throws
  {
    let fixture = try CallingFixture(
      yaml: "rules: [{ name: once, kind: quota, key: phone, limit: 1, per: month }]")
    for round in 0..<40 {
      let answers = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<6 {
          group.addTask { try await fixture.call("+141555501\(10 + round)", key: "k\(round)").summary }
        }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(answers.isSubset(of: ["201", "409 in_progress"]) && answers.contains("201"))
    }
    _ = try await fixture.end()
  }

  @Test func `one 401 each for many callbacks is one more try for each of them`() async throws {
    let fixture = try CallingFixture()
    for number in 10..<22 {
      try await fixture.fault(["endpoint": "callback", "status": 401])
      #expect(try await fixture.call("+141555501\(number)").summary == "201")
    }
    _ = try await fixture.end()
  }

  @Test func `callbacks ask for callback:write where the account's scope is for something else`() async throws
  {
    let fixture = try CallingFixture(environment: ["TD_SCOPE": "visual-sessions:execute"])
    #expect(try await fixture.look("/access").status == 200)
    #expect(try await fixture.call().summary == "201")
    let exchanges = try await fixture.service.tellTalkdesk(.get, "/_sandbox/exchanges")
    #expect(
      exchanges["exchanges"]?.array?.map { $0["scope"]?.string } == [
        "visual-sessions:execute", "callback:write",
      ])
    _ = try await fixture.end()
  }

  @Test func `one token serves apps and callbacks where the account's scope allows both`() async throws {
    let fixture = try CallingFixture(environment: ["TD_SCOPE": "visual-sessions:execute callback:write"])
    #expect(try await fixture.look("/access").status == 200)
    #expect(try await fixture.call().summary == "201")
    #expect(try await fixture.service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 1)
    _ = try await fixture.end()
  }

  @Test func `a number that Talkdesk repeats in its refusal reaches neither the log nor the client`()
    async throws
  {
    let fixture = try CallingFixture(environment: ["CALLGATE_LOG_LEVEL": "debug"])
    try await fixture.fault([
      "endpoint": "callback", "status": 422,
      "body": [
        "code": .string(customerNumber), "message": .string("number \(customerNumber) bad"),
        "fields": [
          ["name": .string(customerNumber), "description": .string("\(customerNumber) is no number")],
          ["name": "b", "description": "(415) 555-0100 neither"],
        ],
      ],
    ])
    let answer = try await fixture.call()
    #expect(answer.names == ["_*********00", "b"])
    let lines = try await fixture.service.end().map { String(decoding: $0.serialized(), as: UTF8.self) }
    #expect(lines.contains { $0.contains("number +*********00 bad") })
    #expect(lines.contains { $0.contains("(***) ***-**00 neither") })
    #expect(!lines.contains { $0.contains("4155550100") || $0.contains("555-0100") })
  }

  @Test func `another user of the caller may ask for the same number, and sees no record but its own`()
    async throws
  {
    let secret = "canary-secret-of-32-octets-at-least"
    let secretFile = FileManager.default.temporaryDirectory.appending(path: "callgate-\(UUID().uuidString)")
    try secret.write(to: secretFile, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: secretFile) }
    let fixture = try CallingFixture(
      yaml: """
        callers:
          - { id: users, jwt: { issuer: "https://id.example", audience: callgate, hs256_secret_file: "\(secretFile.path)" } }
        """)
    func user(_ name: String) throws -> Fields {
      let claims: JSONObject = [
        "iss": "https://id.example", "aud": "callgate", "sub": .string(name),
        "exp": .number(JSONNumber(SystemClock().unixTime.seconds + 600)),
      ]
      let key = try SymmetricKey(Secret(secret), algorithm: .HS256)
      return [
        "Authorization": "Bearer "
          + JWS.sign(header: ["alg": "HS256"], payload: claims.serialized(), with: key)
      ]
    }
    let first = try await fixture.call(fields: user("ann"))
    #expect(first.summary == "201")
    let own = try await fixture.call(fields: user("ann"))
    #expect(own.summary == "409 duplicate" && own.id == first.id)
    let other = try await fixture.call(fields: user("bob"))
    #expect(other.summary == "201" && other.id != first.id)
    #expect(try await fixture.look("/callbacks/\(first.id ?? "")", user("bob")).status == 404)
    _ = try await fixture.end()
  }

  @Test func `an ending server finishes what a client has left behind`() async throws {
    let fixture = try CallingFixture(yaml: "limits: { drain_timeout: 20s }")
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 6000])
    await #expect(throws: TransportError.self) {
      try await fixture.service.ask(
        .post, "/callbacks", CallingFixture.credentials.adding("Content-Type", "application/json"),
        content: Array(#"{"contact_phone_number":"\#(customerNumber)"}"#.utf8), timeout: .seconds(3))
    }
    try await arrivals(1, fixture)
    await fixture.service.drain()
    let line = try await fixture.service.line("Talkdesk accepted a callback")
    #expect(line["outcome"]?.string == "accepted")
    _ = try await fixture.end()
  }
}

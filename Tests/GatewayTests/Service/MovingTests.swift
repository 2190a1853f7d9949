// Tests of callbacks in progress while a reload changes the Talkdesk account.

import HTTP
import JSON
import Platform
import Sandbox
import TestSupport
import Testing

@testable import Gateway

/// Reloads that change the Talkdesk account, or leave it alone, while callbacks are in progress.
@Suite(.serialized, .timeLimit(.minutes(5))) struct MovingTests {
  private static let yaml = """
    callbacks: { concurrency: 1 }
    rules: [{ name: few, kind: quota, key: caller, limit: 3, per: month }]
    """

  /// Number of callback requests that another Talkdesk received.
  private func arrivals(_ other: LocalTalkdesk, _ fixture: CallingFixture) async throws -> Int64? {
    let answer = try await fixture.service.ask(.get, at: other.server.baseURL + "/_sandbox/callbacks")
    return try JSONValue(parsing: answer.content)["arrivals"]?.int
  }

  @Test func `no callback of the old account is sent with a token of the new one`() async throws {
    let fixture = try CallingFixture(yaml: Self.yaml)
    let other = try LocalTalkdesk.start()
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 15_000])
    async let first = fixture.call("+14155550110")
    try await eventually { try await fixture.journal().arrivals == 1 }
    async let second = fixture.call("+14155550111", key: "k")
    try await eventually { fixture.service.load == (1, 1) }
    fixture.service.move(to: other)
    #expect(await fixture.service.reload())
    try await fixture.release()
    // The first callback was sent before, and completes at the old Talkdesk.
    #expect(try await first.summary == "201")
    let refused = try await second
    #expect(refused.summary == "503 upstream_unavailable")
    #expect(refused.fields["Retry-After"] == "1")
    #expect(try await fixture.journal().arrivals == 1)
    #expect(try await arrivals(other, fixture) == 0)
    #expect(try await fixture.look("/availability").json?["remaining"]?["few"] == 2)
    // Number and key are free again.
    #expect(try await fixture.call("+14155550111", key: "k").summary == "201")
    #expect(try await arrivals(other, fixture) == 1)
    #expect(try await fixture.journal().arrivals == 1)
    await other.server.stop()
    _ = try await fixture.end()
  }

  @Test func `nor is its second try after a 401`() async throws {
    let fixture = try CallingFixture(yaml: Self.yaml)
    let other = try LocalTalkdesk.start()
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "status": 401, "delay_ms": 9000])
    async let answer = fixture.call()
    try await eventually { try await fixture.journal().arrivals == 1 }
    fixture.service.move(to: other)
    #expect(await fixture.service.reload())
    try await fixture.release()
    #expect(try await answer.summary == "503 upstream_unavailable")
    #expect(try await fixture.journal().arrivals == 1)
    #expect(try await arrivals(other, fixture) == 0)
    #expect(try await fixture.look("/availability").json?["remaining"]?["few"] == 3)
    await other.server.stop()
    _ = try await fixture.end()
  }

  @Test func `callbacks that wait are made after a reload that leaves the account as it is`() async throws {
    let fixture = try CallingFixture(yaml: Self.yaml)
    #expect(try await fixture.look("/access?probe").status == 204)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 15_000])
    async let first = fixture.call("+14155550110")
    try await eventually { try await fixture.journal().arrivals == 1 }
    async let second = fixture.call("+14155550111")
    try await eventually { fixture.service.load == (1, 1) }
    fixture.service.rewrite(Self.yaml + "\ntokens: { min_remaining: 60s }\n")
    #expect(await fixture.service.reload())
    try await fixture.release()
    #expect(try await first.summary == "201")
    #expect(try await second.summary == "201")
    _ = try await fixture.end()
  }

  @Test func `a pause and a cool-down that Talkdesk asked for last over a reload, and end with the account`()
    async throws
  {
    let fixture = try CallingFixture(yaml: Self.yaml)
    let other = try LocalTalkdesk.start()
    try await fixture.fault(["endpoint": "callback", "status": 429, "retry_after": 600])
    #expect(try await fixture.call().summary == "429 upstream_rate_limited")
    fixture.service.rewrite(Self.yaml + "\ntokens: { min_remaining: 60s }\n")
    #expect(await fixture.service.reload())
    #expect(try await fixture.call().summary == "429 upstream_rate_limited")
    #expect(try await fixture.journal().arrivals == 1)
    fixture.service.move(to: other)
    #expect(await fixture.service.reload())
    #expect(try await fixture.call().summary == "201")
    await other.server.stop()
    _ = try await fixture.end()
  }

  @Test func `a cool-down of Talkdesk ID lasts over a reload, and ends with the account`() async throws {
    let fixture = try CallingFixture()
    let other = try LocalTalkdesk.start()
    try await fixture.fault(["endpoint": "token", "status": 429, "retry_after": 60])
    #expect(try await fixture.look("/access").summary == "503 upstream_unavailable")
    #expect(await fixture.service.reload())
    #expect(try await fixture.look("/access").summary == "503 upstream_unavailable")
    #expect(try await fixture.service.tellTalkdesk(.get, "/_sandbox/exchanges")["count"]?.int == 1)
    fixture.service.move(to: other)
    #expect(await fixture.service.reload())
    #expect(try await fixture.look("/access").status == 200)
    await other.server.stop()
    _ = try await fixture.end()
  }
}

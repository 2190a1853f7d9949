// Tests of tokens that wait for Talkdesk ID while a stop, a revocation or a reload comes.

import Foundation
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway

@Suite(.serialized, .timeLimit(.minutes(3))) struct WaitingTokenTests {
  private static let secret = "canary-secret-of-32-octets-at-least"

  /// What happens while the token is on its way.
  enum Event: String, CaseIterable, Sendable {
    case nothing, stop, stopOfApp, revocation, closing, removedApp, sameAgain
  }

  private static func yaml(app: String = "shop", keys: String = "off", more: String = "") -> String {
    """
    callers:
      - { id: users, jwt: { issuer: "https://id.example", audience: callgate, hs256_secret_variable: USERS_SECRET } }
    apps:
      \(app): { installations: { authorize: [user], key: "\(keys)" } }
    rules:
      - { name: few, kind: quota, key: global, limit: 5, per: month }
    \(more)
    """
  }

  private static let closed =
    #"  - { name: closed, kind: hours, timezone: UTC, open: { "2030-01-01": "00:00-01:00" }, on: [access] }"#

  private static func fixture(keys: String = "off") throws -> CallingFixture {
    try CallingFixture(
      yaml: yaml(keys: keys),
      environment: [
        "USERS_SECRET": secret, "CALLGATE_ADMIN_TOKEN": "canary-operators-token",
        "CALLGATE_STORE_KEY": Base64.encode([UInt8](repeating: 7, count: 32)),
      ])
  }

  private func enrol(_ fixture: CallingFixture) async throws -> (id: String, fields: Fields) {
    let now = SystemClock().unixTime.seconds
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann", "iat": .number(JSONNumber(now)),
      "exp": .number(JSONNumber(now + 600)),
    ]
    let key = try SymmetricKey(Secret(Self.secret), algorithm: .HS256)
    let token = JWS.sign(header: ["alg": "HS256"], payload: claims.serialized(), with: key)
    let id = UUID().uuidString.lowercased()
    let answer = try await fixture.call(
      path: "/fetch-code", body: #"{"client_id":"\#(id)","client_app":"Shop"}"#,
      fields: ["Authorization": "Bearer \(token)"])
    let secret = try #require(answer.json?["client_secret"]?.string)
    return (id, ["Authorization": "Basic " + Base64.encode(Array("\(id):\(secret)".utf8))])
  }

  private func operate(_ path: String, _ body: String, _ fixture: CallingFixture) async throws {
    let answer = try await fixture.send(.post, path, body, fields: CallingFixture.operators)
    #expect([200, 204].contains(answer.status), "\(answer.summary)")
  }

  @Test func `the proof of a request that is judged again counts once`() async throws {
    let fixture = try Self.fixture(keys: "optional")
    let phone = try await enrol(fixture)
    func keyless() async throws -> Int {
      let page = try await fixture.look("/metrics", CallingFixture.operators)
      let line = try #require(
        String(decoding: page.content, as: UTF8.self).split(separator: "\n").first {
          $0.hasPrefix(#"callgate_proofs_total{result="keyless""#)
        })
      return try #require(line.split(separator: " ").last.flatMap { Int($0) })
    }
    let before = try await keyless()
    try await fixture.fault(["endpoint": "token", "delay_ms": 1000, "times": 1])
    async let waiting = fixture.look("/access?app=shop", phone.fields)
    try await eventually { fixture.service.connections.waiting == 1 }
    #expect(await fixture.service.reload())
    #expect(try await waiting.status == 200)
    #expect(try await keyless() == before + 1)
    let lines = try await fixture.end().filter { $0["action"]?.string == "access" }
    #expect(lines.count == 1 && lines.first?["proof"]?["result"]?.string == "keyless")
  }

  @Test(arguments: Event.allCases)
  func `a token that waited leaves only if nothing forbids it at the end of the wait`(_ event: Event)
    async throws
  {
    let fixture = try Self.fixture()
    let phone = try await enrol(fixture)
    try await fixture.fault(["endpoint": "token", "delay_ms": 9000, "times": 1])
    async let waiting = fixture.look("/access?app=shop", phone.fields)
    // The stop must come once Talkdesk ID has the request: before that, there would be no delay to interrupt.
    try await eventually { fixture.service.connections.waiting == 1 && fixture.service.delays.isDelaying }
    switch event {
    case .nothing: break
    case .stop: try await operate("/admin/stop", #"{"scope":"all","action":"all"}"#, fixture)
    case .stopOfApp:
      try await operate("/admin/stop", #"{"scope":"app","id":"shop","action":"access"}"#, fixture)
    case .revocation:
      try await operate("/admin/installations/revoke", #"{"client_id":"\#(phone.id)"}"#, fixture)
    case .closing:
      fixture.service.rewrite(Self.yaml(more: Self.closed))
      #expect(await fixture.service.reload())
    case .removedApp:
      fixture.service.rewrite(Self.yaml(app: "other"))
      #expect(await fixture.service.reload())
    case .sameAgain: #expect(await fixture.service.reload())
    }
    try await fixture.release()
    let answer = try await waiting
    let expected =
      switch event {
      case .nothing, .sameAgain: "200"
      case .stop, .stopOfApp: "403 stopped"
      case .revocation, .removedApp: "401 unauthenticated"
      case .closing: "403 closed"
      }
    #expect(answer.summary == expected)
    if event == .stop { try await operate("/admin/resume", #"{"scope":"all","action":"all"}"#, fixture) }
    let left = try await fixture.look("/availability").json?["remaining"]?["few"]
    #expect(left == (answer.status == 200 ? 4 : 5))
    // The request has one audit line, with its response.
    let lines = try await fixture.end().filter { $0["action"]?.string == "access" }
    #expect(lines.count == 1)
    #expect((lines.first?["token_sha256"] != nil) == (answer.status == 200))
    #expect(lines.first?["code"]?.string == answer.code)
  }
}

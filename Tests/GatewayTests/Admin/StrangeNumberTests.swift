// Tests that no number in a request body crashes the process or causes a server error.

import HTTP
import JOSE
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct StrangeNumberTests {
  private static let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass",
    "CALLGATE_ADMIN_TOKEN": "canary-operators-token",
    "CALLGATE_STORE_KEY": Base64.encode([UInt8](repeating: 7, count: 32)),
  ]

  /// A body for each endpoint, with every member that the endpoint accepts.
  private static let bodies: [(path: String, body: String, isAdmin: Bool)] = [
    (
      "/calls/callback",
      #"{"contact_phone_number":"+14155550100","talkdesk_phone_number":"+18005550199","context":{"fields":[{"name":"n","display_name":"d","tooltip_text":"t","data_type":"text","value":"v"}]},"at":"2026-11-22T10:00:00Z"}"#,
      false
    ),
    ("/tickets", #"{"title":"t","text":"x","fields":{"a":"b"}}"#, false),
    (
      "/fetch-code",
      #"{"client_id":"c","client_app":"a","client_detail":"d","client_secret":"s","request_id":"r"}"#, false
    ),
    ("/codes/verify", #"{"client_id":"c","code":"123456"}"#, false),
    ("/access/claim", #"{"id":"i"}"#, false),
    (
      "/admin/explain",
      #"{"action":"access","app":"default","caller":"app","subject":"s","address":"1.2.3.4","to":"+14155550100","from":"+18005550199","at":"2026-11-22T10:00:00Z","book":"2026-11-23T10:00:00Z","claims":{"n":1},"fields":{"f":["v"]},"counts":{"few":1,"daily":1},"installation":true}"#,
      true
    ),
    ("/admin/stop", #"{"action":"access","app":"default","caller":"app","for":"5m","reason":"r"}"#, true),
    ("/admin/resume", #"{"action":"access","app":"default","caller":"app"}"#, true),
    ("/admin/installations/find", #"{"user_code":"BCDF-GHJK"}"#, true),
    ("/admin/installations/revoke", #"{"client_id":"c"}"#, true),
  ]

  @Test(arguments: bodies.indices)
  func `every number in a body is read or refused`(index: Int) async throws {
    let (path, body, isAdmin) = Self.bodies[index]
    let service = try RunningService(
      environment: Self.environment,
      yaml: """
        rules:
          - { name: few, kind: rate, key: caller, limit: 100000, per: 1m }
          - { name: daily, kind: quota, key: caller, limit: 100000, per: day }
        apps: { shop: { installations: { authorize: [operator] } } }
        """)
    let credentials =
      isAdmin ? "Bearer canary-operators-token" : "Basic " + Base64.encode(Array("app:canary-pass".utf8))
    for content in try StrangeNumbers.documents(like: body) {
      let answer = try await service.ask(
        .post, path, ["Authorization": credentials, "Content-Type": "application/json"],
        content: Array(content.utf8))
      #expect(answer.status != 500)
    }
    #expect(try await service.ask(.get, "/livez").status == 200)
    _ = try await service.end()
  }
}

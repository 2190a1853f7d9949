// Tests of callbacks that installations request: the code that they carry, and what happens when the
// installation ends.

import Foundation
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway
@testable import RoomSupport

@Suite(.timeLimit(.minutes(3))) struct InstallationCallsTests {
  private static let secret = "canary-secret-of-32-octets-at-least"

  /// A server with an app whose installations get codes, and a caller with a password.
  private static func fixture(
    codes: Bool = true, callbacks: String = "dedupe_window: 0s", rules: String = "[]"
  ) throws
    -> CallingFixture
  {
    try CallingFixture(
      yaml: """
        callers:
          - { id: users, jwt: { issuer: "https://id.example", audience: callgate, hs256_secret_variable: USERS_SECRET } }
        apps:
          shop: { installations: { authorize: [user] }, callbacks: { verification_code: \(codes) } }
        callbacks: { \(callbacks) }
        rules: \(rules)
        """,
      environment: [
        "USERS_SECRET": secret, "CALLGATE_ADMIN_TOKEN": "canary-operators-token",
        "CALLGATE_STORE_KEY": Base64.encode([UInt8](repeating: 7, count: 32)),
      ])
  }

  private static func user(_ name: String) throws -> Fields {
    let now = SystemClock().unixTime.seconds
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": .string(name), "iat": .number(JSONNumber(now)),
      "exp": .number(JSONNumber(now + 600)),
    ]
    let key = try SymmetricKey(Secret(secret), algorithm: .HS256)
    let token = JWS.sign(header: ["alg": "HS256"], payload: claims.serialized(), with: key)
    return ["Authorization": "Bearer \(token)"]
  }

  /// Enrolls an installation of a user. Returns its ID, and the fields that it sends from then on.
  private static func enrol(_ user: String, _ fixture: CallingFixture) async throws -> (
    id: String, fields: Fields
  ) {
    let id = UUID().uuidString.lowercased()
    let answer = try await fixture.call(
      path: "/fetch-code", body: #"{"client_id":"\#(id)","client_app":"Shop"}"#, fields: self.user(user))
    let secret = try #require(answer.json?["client_secret"]?.string)
    return (id, ["Authorization": "Basic " + Base64.encode(Array("\(id):\(secret)".utf8))])
  }

  private static func context(_ callback: JSONValue) -> [String: String] {
    var fields: [String: String] = [:]
    for field in callback["context"]?["fields"]?.array ?? [] {
      if let name = field["name"]?.string { fields[name] = field["value"]?.string }
    }
    return fields
  }

  @Test func `the maker of a callback and the agent see the same code, and nobody else sees it`() async throws
  {
    let fixture = try Self.fixture()
    let phone = try await Self.enrol("ann", fixture)
    let first = try await fixture.call(key: "k", fields: phone.fields)
    let code = try #require(first.json?["verification_code"]?.string)
    #expect(first.status == 201 && code.wholeMatch(of: /[0-9]{6}/) != nil)
    let again = try await fixture.call(key: "k", fields: phone.fields)
    #expect(again.status == 201 && again.json == first.json)
    // A validation does not advance the counter, and each callback has another code.
    let checked = try await fixture.call(path: "/calls/callback?validate", fields: phone.fields)
    #expect(checked.json == ["valid": true])
    let second = try await fixture.call(fields: phone.fields)
    #expect(second.status == 201 && second.json?["verification_code"]?.string != code)

    let journal = try await fixture.journal()
    #expect(journal.arrivals == 2)
    let seen = journal.callbacks.map(Self.context)
    #expect(seen.contains { $0["verification_code"] == code })
    #expect(seen.someAndAll { $0["installation"] == phone.id && $0["issue"] == "help" })
    let fields = journal.callbacks[0]["context"]?["fields"]?.array ?? []
    #expect(fields.map { $0["name"]?.string } == ["issue", "verification_code", "installation"])
    #expect(
      fields.last?["display_name"] == "Installation" && fields[1]["display_name"] == "Verification code")

    // The installation and its user own the record.
    let path = "/callbacks/\(first.id ?? "")"
    for maker in [phone.fields, try Self.user("ann")] {
      #expect(try await fixture.look(path, maker).json?["verification_code"]?.string == code)
    }
    for other in [CallingFixture.credentials, try Self.user("bob")] {
      #expect(try await fixture.look(path, other).summary == "404 not_found")
    }
    let lines = try await fixture.service.end().map { String(decoding: $0.serialized(), as: UTF8.self) }
    #expect(!lines.contains { $0.contains("\"\(code)\"") || $0.contains("verification_code") })
  }

  @Test(arguments: [true, false])
  func `installations are counted in metrics where an app has them`(_ hasThem: Bool) async throws {
    let service = try RunningService(
      environment: [
        "CALLGATE_ADMIN_TOKEN": "canary-operators",
        "CALLGATE_STORE_KEY": Base64.encode([UInt8](repeating: 7, count: 32)),
      ],
      yaml: """
        allow_anonymous: true
        apps: { shop: { \(hasThem ? "installations: { authorize: [operator] }" : "") } }
        """)
    try await eventually { service.hasCountedInstallations }
    let page = String(
      decoding: try await service.ask(.get, "/metrics", ["Authorization": "Bearer canary-operators"]).content,
      as: UTF8.self)
    #expect(page.contains("callgate_requests_waiting"))
    #expect(page.contains(#"callgate_installations{state="active"} 0"#) == hasThem)
    _ = try await service.end()
  }

  @Test func `while it is on, no caller of the app sends these fields, and only installations get a code`()
    async throws
  {
    let fixture = try Self.fixture()
    let phone = try await Self.enrol("ann", fixture)
    let short = body(context: #"{"verification_code":"755224","installation":"x","Verification_Code":"y"}"#)
    let long = body(context: #"{"fields":[{"name":"a","value":"b"},{"name":"installation","value":"x"}]}"#)
    for (path, fields) in [
      ("/calls/callback", phone.fields), ("/calls/callback?app=shop", CallingFixture.credentials),
      ("/calls/callback?app=shop&validate", try Self.user("ann")),
    ] {
      let answer = try await fixture.call(path: path, body: short, fields: fields)
      #expect(answer.summary == "422 invalid_request")
      #expect(
        answer.names == ["context.verification_code", "context.installation", "context.Verification_Code"])
      #expect(
        try await fixture.call(path: path, body: long, fields: fields).names == ["context.fields[1].name"])
    }
    for fields in [CallingFixture.credentials, try Self.user("ann")] {
      let answer = try await fixture.call(path: "/calls/callback?app=shop", fields: fields)
      #expect(answer.status == 201 && answer.json?["verification_code"] == nil)
    }
    let seen = try await fixture.journal().callbacks.map(Self.context)
    #expect(seen.count == 2 && seen.allSatisfy { $0 == ["issue": "help"] })
    _ = try await fixture.end()
  }

  @Test func `where it is off the names are ordinary ones, and 20 fields of one's own are as many as ever`()
    async throws
  {
    let off = try Self.fixture(codes: false)
    let phone = try await Self.enrol("ann", off)
    let answer = try await off.call(
      body: body(context: #"{"verification_code":"755224"}"#), fields: phone.fields)
    #expect(answer.status == 201 && answer.json?["verification_code"] == nil)
    #expect(try await off.journal().callbacks.map(Self.context) == [["verification_code": "755224"]])
    _ = try await off.end()

    let on = try Self.fixture()
    let other = try await Self.enrol("ann", on)
    let most = (0..<20).map { #""f\#($0)":"x""# }.joined(separator: ",")
    #expect(try await on.call(body: body(context: "{\(most)}"), fields: other.fields).status == 201)
    #expect(try await on.journal().callbacks.map { Self.context($0).count } == [22])
    _ = try await on.end()
  }

  @Test func `a response that never came tells the code too, at once and to a repetition`() async throws {
    let fixture = try Self.fixture()
    let phone = try await Self.enrol("ann", fixture)
    try await fixture.fault(["endpoint": "callback", "drop": "after"])
    let first = try await fixture.call(key: "k", fields: phone.fields)
    #expect(first.summary == "504 outcome_unknown")
    let code = try #require(first.json?["verification_code"]?.string)
    let again = try await fixture.call(key: "k", fields: phone.fields)
    #expect(again.summary == "504 outcome_unknown" && again.json?["verification_code"]?.string == code)
    let record = try await fixture.look("/callbacks/\(first.id ?? "")", phone.fields)
    #expect(record.json?["status"] == "unknown" && record.json?["verification_code"]?.string == code)
    _ = try await fixture.end()
  }

  @Test func `a callback that waits in the line is not sent once its installation is revoked`() async throws {
    // One callback a day, which a callback that is not sent must give back.
    let fixture = try Self.fixture(
      callbacks: "concurrency: 1", rules: "[{ name: daily, kind: quota, key: subject, limit: 1, per: day }]")
    let phone = try await Self.enrol("ann", fixture)
    try await fixture.fault(["endpoint": "callback", "delay_ms": 15_000])
    async let slow = fixture.call("+14155550101", path: "/calls/callback?app=shop")
    try await eventually { fixture.service.load.running > 0 }
    async let waiting = fixture.call(key: "k", fields: phone.fields)
    try await eventually { fixture.service.load.waiting > 0 }
    // A second tap waits for the first, and needs its code when the installation is gone.
    async let second = fixture.call(fields: phone.fields)
    try await eventually { fixture.service.connections.waiting >= 3 }
    let revoked = try await fixture.call(
      path: "/admin/installations/revoke", body: #"{"client_id":"\#(phone.id)"}"#,
      fields: CallingFixture.operators)
    #expect(revoked.status == 204)
    try await fixture.release()
    let answer = try await waiting
    #expect(answer.summary == "401 unauthenticated")
    #expect(answer.fields["WWW-Authenticate"] == #"Basic realm="callgate", charset="UTF-8""#)
    #expect(try await second.summary == "401 unauthenticated")
    #expect(try await slow.status == 201)
    #expect(try await fixture.journal().arrivals == 1)
    #expect(fixture.service.load == (0, 0))
    let user = try await fixture.call(
      path: "/calls/callback?app=shop", key: "k", fields: try Self.user("ann"))
    #expect(user.status == 201, "number, key and quota are free again")
    #expect(
      try await fixture.call(path: "/calls/callback?app=shop", fields: try Self.user("ann")).status != 201)
    let audit = try await fixture.end()
    #expect(audit.filter { $0["code"] == "unauthenticated" && $0["action"] == "callback" }.count == 2)
  }
}

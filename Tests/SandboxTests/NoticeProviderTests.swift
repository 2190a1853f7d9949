// Tests of the emulated push providers, over HTTP.

import HTTP
import JOSE
import JSON
import TestSupport
import Testing

@testable import Sandbox

@Suite(.serialized) struct NoticeProviderTests {
  /// The gateway's side of both providers.
  private struct Sender {
    let emulator: RunningEmulator
    let providers: NoticeProviders
    let account: JSONObject

    init(_ emulator: RunningEmulator) throws {
      self.emulator = emulator
      providers = emulator.sandbox.emulator.openProviders()
      account = [
        "client_email": .string(providers.clientEmail), "private_key_id": .string(providers.keyID),
        "token_uri": .string(providers.tokenURL),
      ]
    }

    /// A service account's assertion. `claims` replaces members; nil removes one.
    func assertion(
      claims changed: [String: JSONValue?] = [:], header: JSONObject? = nil, key: PrivateKey? = nil
    ) throws -> String {
      let key = try key ?? providers.signer.get().key
      var claims: JSONObject = [
        "iss": account["client_email"] ?? .null, "aud": account["token_uri"] ?? .null,
        "scope": .string(FCMTokenEndpoint.scope), "iat": .number(JSONNumber(emulator.now)),
        "exp": .number(JSONNumber(emulator.now + 3600)),
      ]
      for (name, value) in changed { claims[name] = value }
      let header =
        header ?? ["alg": "RS256", "kid": account["private_key_id"] ?? .null, "typ": "JWT"]
      return try JWS.sign(
        header: header, payload: claims.serialized(), with: Signer(key: key, algorithm: .RS256))
    }

    func askToken(_ assertion: String, grant: String = "jwt-bearer") async throws -> LoopbackClient.Answer {
      try #require(
        try await emulator.http.send(
          "POST", "/fcm/token", fields: [("Content-Type", "application/x-www-form-urlencoded")],
          content: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A\(grant)&assertion=\(assertion)"))
    }

    func token() async throws -> String {
      try #require(try await askToken(assertion()).json["access_token"]?.string)
    }

    func send(
      _ message: JSONValue = Sender.message(), token: String, project: String = FCMAccount.projectID
    ) async throws -> LoopbackClient.Answer? {
      try await emulator.http.send(
        "POST", "/v1/projects/\(project)/messages:send",
        fields: [("Authorization", "Bearer " + token), ("Content-Type", "application/json")],
        content: String(decoding: JSONValue.object(["message": message]).serialized(), as: UTF8.self))
    }

    static func message(_ changed: [String: JSONValue?] = [:]) -> JSONValue {
      var message: JSONObject = [
        "token": "device-token-1234", "data": ["message": "{}"], "notification": ["body": "A"],
        "android": ["priority": "high", "ttl": "60s"],
      ]
      for (name, value) in changed { message[name] = value }
      return .object(message)
    }

    /// Sends a webhook.
    func hook(
      _ content: String = #"{"deviceId":"device-5678","message":"{}"}"#, at seconds: Int64 = 0,
      signing signed: String? = nil, without missing: String? = nil
    ) async throws -> LoopbackClient.Answer? {
      let time = emulator.now + seconds
      let secret = try #require(Base64.decode(String(providers.hookSecret.exposedString().dropFirst(6))))
      let code = HMAC.code(Array("id-1.\(time).\(signed ?? content)".utf8), key: secret, .sha256)
      let fields = [
        ("Content-Type", "application/json"), ("webhook-id", "id-1"), ("webhook-timestamp", "\(time)"),
        ("webhook-signature", "v1,AAAA v1,\(Base64.encode(code))"),
      ]
      return try await emulator.http.send(
        "POST", "/_sandbox/hook", fields: fields.filter { $0.0 != missing }, content: content)
    }
  }

  private static func run(_ body: (Sender) async throws -> Void) async throws {
    try await RunningEmulator.run { try await body(Sender($0)) }
  }

  // MARK: FCM

  @Test func `a service account gets a token and sends a notice, which the journal shows`() async throws {
    try await Self.run { sender in
      let answer = try await sender.askToken(sender.assertion())
      #expect(answer.status == 200)
      #expect(try answer.json["token_type"] == "Bearer")
      #expect(try answer.json["expires_in"] == 3599)
      let token = try #require(try answer.json["access_token"]?.string)
      let sent = try #require(try await sender.send(token: token))
      #expect(sent.status == 200)
      #expect(try sent.json["name"]?.string?.hasPrefix("projects/callgate-sandbox/messages/") == true)
      _ = try await sender.hook()
      let journal = try await sender.emulator.journal("notices")
      #expect(journal["count"] == 2)
      // The newest is the first. The device is masked.
      let entries = try #require(journal["notices"]?.array)
      #expect(entries.map { $0["provider"] } == ["http", "fcm"])
      #expect(entries.map { $0["device"] } == ["…5678", "…1234"])
      #expect(entries[1]["message"] == "{}" && entries[1]["outcome"] == "accepted")
      #expect(try await sender.emulator.http.send("DELETE", "/_sandbox/notices")?.status == 204)
      #expect(try await sender.emulator.journal("notices") == ["notices": [], "count": 0])
    }
  }

  @Test func `an assertion that Google would refuse gets no token`() async throws {
    try await Self.run { sender in
      let now = sender.emulator.now
      for (claims, error) in [
        (["iss": "other"], "invalid_grant"), (["aud": "https://x.example"], "invalid_grant"),
        (["iat": nil], "invalid_grant"), (["exp": .number(JSONNumber(now))], "invalid_grant"),
        (["exp": .number(JSONNumber(now + 3601))], "invalid_grant"),
        (["iat": .number(JSONNumber(now + 11))], "invalid_grant"), (["scope": "mail"], "invalid_scope"),
      ] as [([String: JSONValue?], String)] {
        let answer = try await sender.askToken(sender.assertion(claims: claims))
        #expect(answer.status == 400)
        #expect(try answer.json["error"] == .string(error), "\(claims)")
      }
      let other = try sender.assertion(key: .generate(for: .RS256, rsaBits: 2048))
      #expect(try await sender.askToken(other).status == 400)
      let unknown = try sender.assertion(header: ["alg": "RS256", "kid": "k", "typ": "JWT"])
      #expect(try await sender.askToken(unknown).status == 400)
      #expect(try await sender.askToken("no-jwt").json["error"] == "invalid_grant")
      let grant = try await sender.askToken(sender.assertion(), grant: "x")
      #expect(try grant.json["error"] == "unsupported_grant_type")
    }
  }

  @Test func `a message that FCM would refuse is refused, and names its member`() async throws {
    try await Self.run { sender in
      let token = try await sender.token()
      for (changed, field) in [
        (["token": nil], "message"), (["topic": "t"], "message"), (["token": ""], "message.token"),
        (["data": ["message": 1]], "message.data.message"),
        (["data": ["from": "x"]], "message.data.from"),
        (["data": ["message": .string(String(repeating: "a", count: 4090))]], "message.data"),
        (["data": nil], "message.data"), (["android": ["ttl": 60]], "message.android.ttl"),
        (["android": ["priority": "10"]], "message.android.priority"), (["other": 1], "message.other"),
      ] as [([String: JSONValue?], String)] {
        let answer = try #require(try await sender.send(Sender.message(changed), token: token))
        #expect(answer.status == 400)
        let details = try answer.json["error"]?["details"]?.array ?? []
        #expect(details.first?["errorCode"] == "INVALID_ARGUMENT")
        #expect(details.last?["fieldViolations"]?.array?.first?["field"] == .string(field), "\(changed)")
      }
      let largest = Sender.message(["data": ["message": .string(String(repeating: "a", count: 4089))]])
      #expect(try await sender.send(largest, token: token)?.status == 200)
      let stranger = try #require(try await sender.send(token: "x"))
      #expect(stranger.status == 401)
      #expect(try stranger.json["error"]?["status"] == "UNAUTHENTICATED")
      // A token from the emulated Talkdesk is not one of Google's.
      #expect(try await sender.send(token: sender.emulator.token())?.status == 401)
      #expect(try await sender.send(token: token, project: "other")?.status == 403)
      sender.emulator.clock.advance(by: .seconds(3601))
      #expect(try await sender.send(token: token)?.status == 401)
      let refused = try await sender.emulator.journal("notices")["notices"]?.array?.first
      #expect(refused?["outcome"] == "refused" && refused?["error"] != nil && refused?["message"] == nil)
    }
  }

  // MARK: Webhooks

  @Test func `a webhook is taken only signed, whole and in time`() async throws {
    try await Self.run { (sender: Sender) async throws in
      for seconds in [-300, 0, 300] as [Int64] { #expect(try await sender.hook(at: seconds)?.status == 200) }
      for seconds in [-301, 301] as [Int64] { #expect(try await sender.hook(at: seconds)?.status == 401) }
      #expect(try await sender.hook(signing: "other")?.status == 401)
      for missing in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        #expect(try await sender.hook(without: missing)?.status == 400)
      }
      #expect(try await sender.hook(without: "Content-Type")?.status == 415)
      for content in [
        "{", "[]", #"{"deviceId":"a"}"#, #"{"deviceId":"","message":"m"}"#,
        #"{"deviceId":"a","message":"m","more":1}"#, #"{"deviceId":"a","message":{}}"#,
      ] { #expect(try await sender.hook(content)?.status == 400, "\(content)") }
      #expect(try await sender.emulator.http.send("GET", "/_sandbox/hook")?.status == 405)
    }
  }

  // MARK: Faults

  @Test(arguments: [
    (400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"), (401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
    (403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), (404, "NOT_FOUND", "UNREGISTERED"),
    (429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), (500, "INTERNAL", "INTERNAL"),
    (503, "UNAVAILABLE", "UNAVAILABLE"),
  ])
  func `a fault of FCM has its words`(_ status: Int, _ name: String, _ code: String) async throws {
    try await Self.run { sender in
      let token = try await sender.token()
      try await sender.emulator.fault(#"{"endpoint":"fcm","status":\#(status),"retry_after":7}"#)
      let answer = try #require(try await sender.send(token: token))
      #expect(answer.status == status && answer.fields["Retry-After"] == "7")
      let error = try answer.json["error"]
      #expect(error?["status"] == .string(name))
      #expect(error?["details"]?.array?.first?["errorCode"] == .string(code))
      #expect(try await sender.send(token: token)?.status == 200)
    }
  }

  @Test func `faults of one provider do not affect others, and drops are told apart`() async throws {
    try await Self.run { sender in
      let token = try await sender.token()
      try await sender.emulator.fault(#"{"endpoint":"hook","status":410}"#)
      try await sender.emulator.fault(#"{"endpoint":"hook","drop":"after"}"#)
      try await sender.emulator.fault(#"{"endpoint":"hook","drop":"during"}"#)
      try await sender.emulator.fault(#"{"endpoint":"fcm","drop":"before"}"#)
      #expect(try await sender.send(token: token) == nil)
      let gone = try #require(try await sender.hook())
      #expect(gone.status == 410)
      #expect(try gone.json["error"] == "a requested fault")
      #expect(try await sender.hook() == nil)
      _ = try await sender.hook()
      #expect(try await sender.hook()?.status == 200)
      let entries = try await sender.emulator.journal("notices")["notices"]?.array ?? []
      #expect(
        entries.map { $0["outcome"] } == [
          "accepted", "dropped_during", "dropped_after", "fault", "dropped_before",
        ])
      #expect(entries.map { $0["message"] != nil } == [true, true, true, false, false])
    }
  }
}

// Tests of the emulator over HTTP, without faults.

import HTTP
import JOSE
import JSON
import TestSupport
import Testing

@testable import Sandbox

/// The emulator over real loopback HTTP.
@Suite(.serialized) struct EmulatorTests {
  @Test func `a client gets a token and makes a callback with it`() async throws {
    try await RunningEmulator.run { emulator in
      let answer = try #require(try await emulator.askToken())
      #expect(answer.status == 200)
      #expect(answer.fields["Content-Type"] == "application/json")
      #expect(answer.fields["Cache-Control"] == "no-store")
      #expect(answer.fields["platform-tid"] != nil)
      let json = try answer.json
      #expect(json.object?.members.map(\.name) == ["access_token", "token_type", "expires_in", "scope"])
      #expect(json["token_type"] == "Bearer")
      #expect(json["expires_in"] == 599)
      #expect(json["scope"] == "callback:write")

      let callback = try #require(try await emulator.askCallback(json["access_token"]?.string ?? ""))
      #expect(callback.status == 201)
      #expect(callback.content == "{}")
      #expect(callback.fields["platform-tid"] != nil)

      let callbacks = try await emulator.journal("callbacks")
      #expect(callbacks["count"] == 1)
      #expect(callbacks["rings"] == ["+14155550100": 1])
      let entry = try #require(callbacks["callbacks"]?.array?.first)
      #expect(entry["contact_phone_number"] == "+14155550100")
      #expect(entry["talkdesk_phone_number"] == "+18005550199")
      #expect(entry["context"]?["fields"]?.array?.first?["name"] == "issue")
      #expect(entry["token_scope"] == "callback:write")
      #expect(entry["traceparent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
      #expect(entry["host"] == .string("127.0.0.1:\(emulator.http.port)"))
      #expect(entry["outcome"] == "accepted")
      #expect(entry["status"] == 201)
    }
  }

  @Test func `the issued token verifies with the published keys`() async throws {
    try await RunningEmulator.run { emulator in
      let certificates = try #require(try await emulator.http.send("GET", "/oauth/certs"))
      #expect(certificates.status == 200)
      let key = try #require(certificates.json["keys"]?.array?.first)
      let token = try JWS.Compact(parsing: Array(try await emulator.token(scope: nil).utf8))
      #expect(token.verify(with: try PublicKey(jwk: key), algorithm: .ES256))
      let claims = try JSONValue(parsing: token.payload)
      #expect(claims["iss"] == .string("http://localhost:\(emulator.sandbox.port)"))
      #expect(claims["aud"] == .string(emulator.sandbox.baseURL))
      #expect(claims["cid"] == .string(TestClient.id))
      #expect(claims["exp"] == .number(JSONNumber(emulator.now + 600)))
      #expect(claims["scp"] == ["callback:write", "visual-sessions:execute"])
    }
  }

  @Test func `an assertion works once`() async throws {
    try await RunningEmulator.run { emulator in
      let assertion = try emulator.assertion()
      #expect(try await emulator.askToken(assertion: assertion)?.status == 200)
      let replay = try #require(try await emulator.askToken(assertion: assertion))
      #expect(replay.status == 401)
      #expect(try replay.json["error"] == "invalid_client")
    }
  }

  @Test func `the audience is the port that was bound`() async throws {
    try await RunningEmulator.run { emulator in
      let assertion = try emulator.client.assertion(now: emulator.now, audience: TestClient.tokenURL)
      #expect(try await emulator.askToken(assertion: assertion)?.status == 401)
    }
  }

  @Test func `refusals have Talkdesk's shapes`() async throws {
    try await RunningEmulator.run(scopes: ["visual-sessions:execute"]) { emulator in
      let scope = try #require(try await emulator.askToken(scope: "callback:write"))
      #expect(scope.status == 401)
      #expect(try scope.json.object?.members.map(\.name) == ["error", "error_description"])
      #expect(try scope.json["error"] == "invalid_scope")

      let forbidden = try #require(try await emulator.askCallback(emulator.token(scope: nil)))
      #expect(forbidden.status == 403)
      #expect(try forbidden.json.object?.members.map(\.name) == ["code", "message", "description"])
      #expect(forbidden.fields["platform-tid"] != nil)

      let unauthorized = try #require(try await emulator.askCallback("x"))
      #expect(unauthorized.status == 401)
      #expect(unauthorized.fields["WWW-Authenticate"] == "Bearer")

      let journal = try await emulator.journal("callbacks")
      #expect(journal["count"] == 0)
      #expect(journal["arrivals"] == 2)
      #expect(journal["rings"] == [:])
    }
  }

  @Test func `an invalid body is named field by field and does not ring`() async throws {
    try await RunningEmulator.run { emulator in
      let body = validCallback.replacing("+14155550100", with: "4155550100")
      let answer = try #require(try await emulator.askCallback(emulator.token(), body: body))
      #expect(answer.status == 422)
      #expect(
        try answer.json["fields"] == [
          ["name": "contact_phone_number", "description": "is not an E.164 number"]
        ])
      #expect(try await emulator.journal("callbacks")["rings"] == [:])
    }
  }

  @Test func `a token expires`() async throws {
    try await RunningEmulator.run { emulator in
      let token = try await emulator.token()
      emulator.clock.advance(by: .milliseconds(599_000))
      #expect(try await emulator.askCallback(token)?.status == 201)
      emulator.clock.advance(by: .milliseconds(1000))
      #expect(try await emulator.askCallback(token)?.status == 401)
    }
  }

  @Test func `a client secret is as good as a key where one is configured`() async throws {
    try await RunningEmulator.run(secret: "opensesame") { emulator in
      let ask = { (secret: String) in
        try await emulator.http.send(
          "POST", "/oauth/token",
          fields: [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Authorization", "Basic " + Base64.encode(Array("\(TestClient.id):\(secret)".utf8))),
          ], content: "grant_type=client_credentials&scope=callback%3Awrite")
      }
      #expect(try await ask("opensesame")?.status == 200)
      let refused = try #require(try await ask("sesame"))
      #expect(refused.status == 401)
      #expect(refused.fields["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
      let exchanges = try await emulator.journal("exchanges")
      #expect(
        exchanges["exchanges"]?.array?.map { $0["client_authentication"] } == [
          "client_secret_basic", "client_secret_basic",
        ])
      #expect(try await emulator.askToken()?.status == 200)
    }
  }

  @Test func `the journal lists token requests and contains no token`() async throws {
    try await RunningEmulator.run { emulator in
      let assertion = try emulator.assertion(jwtID: "jwt-1")
      let token = try #require(
        try await emulator.askToken(assertion: assertion)?.json["access_token"]?.string)
      _ = try await emulator.askToken(assertion: assertion)
      let text = try #require(try await emulator.http.send("GET", "/_sandbox/exchanges")).content
      for secret in token.split(separator: ".") + assertion.split(separator: ".") {
        #expect(!text.contains(secret))
      }
      let exchanges = try JSONValue(parsing: Array(text.utf8))
      #expect(exchanges["count"] == 2)
      let entries = try #require(exchanges["exchanges"]?.array)
      #expect(entries[0]["status"] == 200)
      #expect(entries[0]["kid"] == "key-1")
      #expect(entries[0]["jti"] == "jwt-1")
      #expect(entries[0]["scope"] == "callback:write")
      #expect(entries[0]["client_authentication"] == "private_key_jwt")
      #expect(entries[0]["user_agent"] == "test")
      #expect(entries[0]["time"] == "2027-01-15T08:00:00.000Z")
      #expect(entries[1]["status"] == 401)
      #expect(entries[1]["error"] == "invalid_client")

      #expect(try await emulator.http.send("DELETE", "/_sandbox/exchanges")?.status == 204)
      #expect(try await emulator.journal("exchanges") == ["exchanges": [], "count": 0])
    }
  }

  @Test(arguments: [
    ("GET", "/oauth/token", 405, "POST"), ("DELETE", "/calls/callback", 405, "POST"),
    ("POST", "/oauth/certs", 405, "GET, HEAD"), ("GET", "/token", 404, nil),
    ("POST", "/oauth/token/", 404, nil),
    ("POST", "/", 405, "GET, HEAD"), ("GET", "/", 200, nil), ("GET", "/_sandbox/demo.js", 200, nil),
    ("GET", "/_sandbox/demo.css", 200, nil), ("HEAD", "/", 200, nil),
  ])
  func `paths and methods`(method: String, path: String, status: Int, allow: String?) async throws {
    try await RunningEmulator.run { emulator in
      let answer = try #require(try await emulator.http.send(method, path))
      #expect(answer.status == status)
      #expect(answer.fields["Allow"] == allow)
      if method == "HEAD" { #expect(answer.content.isEmpty) }
    }
  }

  @Test(arguments: [
    (#"{"id":"{{call_id}}","type":"{{interaction.type}}"}"#, #"{"id":"c1","type":"out"bound"}"#),
    ("{{call_id}}{{call_id}} {{agent_id}} {{", "c1c1 {{agent_id}} {{"), ("{{call_id", "{{call_id"),
    ("", ""), ("{{}}{{{call_id}}}", "{{}}{{{call_id}}}"),
  ])
  func `a message of a trigger has the values of the call as they are`(message: String, text: String) {
    #expect(TriggerService.text(message, with: ["call_id": "c1", "type": #"out"bound"#]) == text)
  }

  @Test func `a trigger is registered with the right scope, a known name, a URL and a message`() async throws
  {
    try await RunningEmulator.run { emulator in
      func send(
        _ method: String, _ path: String, _ token: String, _ content: String = ""
      ) async throws -> LoopbackClient.Answer {
        try #require(
          try await emulator.http.send(
            method, "/webhooks/triggers/" + path, fields: [("Authorization", "Bearer " + token)],
            content: content))
      }

      let body = #"{"callbackurl":"http://127.0.0.1:1/","message":"{{call_id}}"}"#
      #expect(try await send("POST", "outboundCallEnds", try await emulator.token(), body).status == 403)
      let token = try await emulator.token(scope: "webhooks-trigger:write")
      #expect(try await send("POST", "callEnds", token, body).status == 404)
      for wrong in ["", "[]", #"{"callbackurl":"http://a/"}"#, #"{"callbackurl":"ftp://a/","message":""}"#] {
        #expect(try await send("POST", "outboundCallEnds", token, wrong).status == 400)
      }
      let made = try await send("POST", "outboundCallEnds", token, body)
      #expect(made.status == 201)
      let id = try #require(made.json["id"]?.string)
      #expect(try await send("GET", "outboundCallEnds", token).status == 405)
      #expect(try await send("DELETE", "inboundCallEnds/" + id, token).status == 404)
      #expect(try await send("DELETE", "outboundCallEnds/" + id, token).status == 204)
      #expect(try await send("DELETE", "outboundCallEnds/" + id, token).status == 404)
      for _ in 0..<100 { #expect(try await send("POST", "outboundCallEnds", token, body).status == 201) }
      #expect(try await send("POST", "outboundCallEnds", token, body).status == 429)
    }
  }
}

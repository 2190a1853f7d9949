// Runs an emulator with a registered client for one test.

import HTTP
import HTTPServer
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Sandbox

/// An emulator on a loopback port with a registered client, for one test.
struct RunningEmulator {
  let client: TestClient
  let clock = ManualTime()
  let sandbox: SandboxServer
  let http: LoopbackClient

  /// Runs a test against a new emulator and stops the emulator afterwards.
  static func run(
    secret: String? = nil, scopes: [String] = ["callback:write", "visual-sessions:execute"],
    facts: AccountFacts? = nil, _ body: (RunningEmulator) async throws -> Void
  ) async throws {
    let running = try RunningEmulator(secret: secret, scopes: scopes, facts: facts)
    do {
      try await body(running)
    } catch {
      await running.sandbox.stop()
      throw error
    }
    await running.sandbox.stop()
  }

  private init(secret: String?, scopes: [String], facts: AccountFacts?) throws {
    client = try TestClient()
    let emulator = try Emulator(
      client.configuration(secret: secret.map { .init($0) }, scopes: scopes, facts: facts), time: clock)
    sandbox = try SandboxServer(emulator)
    http = LoopbackClient(port: sandbox.port)
  }

  var now: Int64 { clock.unixTime.seconds }

  func assertion(jwtID: String = Identifier.random()) throws -> String {
    try client.assertion(now: now, audience: sandbox.baseURL + "/oauth/token", jwtID: jwtID)
  }

  /// Requests a token; nil if the connection was closed without a response.
  func askToken(scope: String? = "callback:write", assertion: String? = nil) async throws -> LoopbackClient
    .Answer?
  {
    let form = try TestClient.form(assertion: assertion ?? self.assertion(), scope: scope)
    return try await http.send(
      "POST", "/oauth/token",
      fields: [("Content-Type", "application/x-www-form-urlencoded"), ("User-Agent", "test")], content: form)
  }

  /// A valid token.
  func token(scope: String? = "callback:write") async throws -> String {
    let answer = try #require(try await askToken(scope: scope))
    return try #require(answer.json["access_token"]?.string)
  }

  /// Requests a callback; nil if the connection was closed without a response.
  func askCallback(_ token: String, body: String = validCallback) async throws -> LoopbackClient.Answer? {
    try await http.send(
      "POST", "/calls/callback",
      fields: [
        ("Authorization", "Bearer " + token), ("Content-Type", "application/json"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
      ], content: body)
  }

  /// Posts a fault and expects that it is accepted.
  func fault(_ json: String) async throws {
    let answer = try await http.send("POST", "/_sandbox/faults", content: json)
    #expect(answer?.status == 201, "\(answer?.content ?? "closed")")
  }

  /// The journal with this name.
  func journal(_ name: String) async throws -> JSONValue {
    try #require(try await http.send("GET", "/_sandbox/" + name)).json
  }
}

// Tests of how a sandbox starts and which environment variables it prints.

import JOSE
import JSON
import Platform
import Testing

@testable import Sandbox

@Suite(.serialized) struct LocalTalkdeskTests {
  private func stopping(
    _ talkdesk: LocalTalkdesk, _ body: (LocalTalkdesk) async throws -> Void
  ) async throws {
    do {
      try await body(talkdesk)
    } catch {
      await talkdesk.server.stop()
      throw error
    }
    await talkdesk.server.stop()
  }

  @Test func `the variables are all a gateway needs`() async throws {
    try await stopping(LocalTalkdesk.start()) { talkdesk in
      let names = talkdesk.variables.map(\.name)
      #expect(
        names == [
          "TD_ACCOUNT_NAME", "TD_CLIENT_ID", "TD_KEY_ID", "TD_KEY_ALGORITHM", "TD_PRIVATE_KEY",
          "TD_TOKEN_URL",
          "TD_API_URL",
        ])
      let values = Dictionary(
        uniqueKeysWithValues: talkdesk.variables.map { ($0.name, $0.value.exposedString()) })
      #expect(values["TD_TOKEN_URL"] == "http://127.0.0.1:\(talkdesk.server.port)/oauth/token")
      #expect(values["TD_API_URL"] == "http://127.0.0.1:\(talkdesk.server.port)")
      #expect(talkdesk.shellLines == names.map { "\($0)=\(values[$0] ?? "")" })
      for line in talkdesk.shellLines { #expect(line.wholeMatch(of: /[A-Z_]+=[A-Za-z0-9:\/.+=_-]+/) != nil) }

      // The variables are enough to get a token.
      let key = try PrivateKey(values["TD_PRIVATE_KEY"] ?? "")
      let algorithm = try #require(SignatureAlgorithm(rawValue: values["TD_KEY_ALGORITHM"] ?? ""))
      let now = SystemClock().unixTime.seconds
      let assertion = try JWS.sign(
        header: ["alg": .string(algorithm.rawValue), "kid": .string(values["TD_KEY_ID"] ?? "")],
        payload: JSONValue.object([
          "iss": .string(values["TD_CLIENT_ID"] ?? ""), "sub": .string(values["TD_CLIENT_ID"] ?? ""),
          "aud": .string(values["TD_TOKEN_URL"] ?? ""), "jti": .string(Identifier.random()),
          "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
        ]).serialized(), with: Signer(key: key, algorithm: algorithm))
      let answer = try await LoopbackClient(port: talkdesk.server.port).send(
        "POST", "/oauth/token", fields: [("Content-Type", "application/x-www-form-urlencoded")],
        content: TestClient.form(assertion: assertion))
      #expect(answer?.status == 200)
    }
  }

  @Test func `with a brought key no private one is printed`() async throws {
    let key = try PrivateKey.generate(for: .ES384)
    let talkdesk = try LocalTalkdesk.start(clientKey: Array(key.publicKey.pem().utf8))
    try await stopping(talkdesk) { talkdesk in
      #expect(!talkdesk.variables.map(\.name).contains("TD_PRIVATE_KEY"))
      #expect(talkdesk.shellLines.contains("TD_KEY_ALGORITHM=ES384"))
    }
  }

  @Test func `with a brought secret the client proves itself by it, and it is not printed`() async throws {
    let talkdesk = try LocalTalkdesk.start(clientSecret: Secret("canary-client-secret"))
    try await stopping(talkdesk) { talkdesk in
      #expect(
        talkdesk.variables.map(\.name) == ["TD_ACCOUNT_NAME", "TD_CLIENT_ID", "TD_TOKEN_URL", "TD_API_URL"])
      for (secret, status) in [("canary-client-secret", 200), ("canary-other-secret", 401)] {
        let pair = Base64.encode(Array("\(talkdesk.credential.clientID):\(secret)".utf8))
        let answer = try await LoopbackClient(port: talkdesk.server.port).send(
          "POST", "/oauth/token",
          fields: [
            ("Content-Type", "application/x-www-form-urlencoded"), ("Authorization", "Basic \(pair)"),
          ], content: "grant_type=client_credentials")
        #expect(answer?.status == status)
      }
    }
  }

  @Test func `a key that cannot be used is an error of the key`() {
    #expect {
      _ = try LocalTalkdesk.start(clientKey: Array("nonsense".utf8))
    } throws: { error in
      if case .key? = error as? LocalTalkdesk.StartError { true } else { false }
    }
  }

  @Test func `a port that is taken is an error of the system`() async throws {
    try await stopping(LocalTalkdesk.start()) { talkdesk in
      #expect {
        _ = try LocalTalkdesk.start(port: talkdesk.server.port)
      } throws: { error in
        if case .system? = error as? LocalTalkdesk.StartError { true } else { false }
      }
    }
  }
}

// Tests of the gateway's Talkdesk client against the emulator.

import HTTP
import JOSE
import JSON
import Platform
import Talkdesk
import Testing
import Tokens
import Upstream

@testable import Sandbox

/// The gateway's own Talkdesk client, over its own transport, against the emulator: whether each understands
/// the other.
@Suite(.serialized) struct GatewayClientTests {
  /// An emulator, and the gateway's client for it, on the system's clock.
  private struct Link {
    let server: SandboxServer
    let transport: CurlTransport
    let clients: [TestClient]

    static func run(
      _ algorithms: [SignatureAlgorithm] = [.ES256], registered: Int = 1, secret: String? = nil,
      _ body: (Link) async throws -> Void
    ) async throws {
      let clients = try algorithms.enumerated().map { index, algorithm in
        var client = try TestClient(algorithm)
        client.keyID = "key-\(index)"
        return client
      }
      let emulator = try Emulator(
        EmulatorConfiguration(
          clientID: TestClient.id, keys: clients.suffix(registered).map(\.registration),
          clientSecret: secret.map { Secret($0) }),
        time: SystemClock())
      let link = Link(server: try SandboxServer(emulator), transport: try CurlTransport(), clients: clients)
      let result: Result<Void, any Error>
      do { result = .success(try await body(link)) } catch { result = .failure(error) }
      await link.transport.shutdown()
      await link.server.stop()
      try result.get()
    }

    func talkdeskID(_ credentials: [ClientCredential]? = nil) throws -> TalkdeskID {
      let signed = try clients.map {
        ClientCredential.signedJWT(
          clientID: TestClient.id, keyID: $0.keyID, signer: try Signer(key: $0.key, algorithm: $0.algorithm))
      }
      return TalkdeskID(
        endpoints: TalkdeskEndpoints(
          tokenURL: server.baseURL + "/oauth/token", apiBase: server.baseURL),
        credentials: credentials ?? signed, transport: transport, time: SystemClock())
    }

    func exchange(scope: String = "callback:write", _ issuer: TalkdeskID) async throws -> AccessToken {
      try await issuer.exchange(scope: scope, deadline: SystemClock().now + .seconds(20))
    }

    func callback(_ token: AccessToken) async throws(TransportError) -> InboundResponse {
      try await transport.send(
        OutboundRequest(
          method: .post, url: server.baseURL + "/calls/callback",
          fields: [
            "Authorization": "Bearer " + token.secret.exposedString(), "Content-Type": "application/json",
          ], content: Array(validCallback.utf8), timeout: .seconds(20), reuse: .never))
    }

    func fault(_ text: String) async throws {
      let answer = try await LoopbackClient(port: server.port).send("POST", "/_sandbox/faults", content: text)
      #expect(answer?.status == 201)
    }
  }

  @Test(arguments: [SignatureAlgorithm.ES256, .ES384, .ES512, .PS256, .PS384, .PS512, .RS256])
  func `the gateway's assertions are taken and its tokens make calls`(algorithm: SignatureAlgorithm)
    async throws
  {
    try await Link.run([algorithm]) { link in
      let token = try await link.exchange(link.talkdeskID())
      #expect(token.scope == "callback:write")
      #expect(token.lifetime == .seconds(599))
      #expect(try await link.callback(token).status == 201)
      #expect(link.server.emulator.journal.callbacksJSON["rings"] == ["+14155550100": 1])
    }
  }

  @Test func `the gateway's client secret is taken`() async throws {
    try await Link.run(secret: "s:e cret+%") { link in
      let credential = ClientCredential.secret(clientID: TestClient.id, secret: Secret("s:e cret+%"))
      let token = try await link.exchange(link.talkdeskID([credential]))
      #expect(try await link.callback(token).status == 201)
    }
  }

  @Test func `a key that is not registered yet is refused and the next one serves`() async throws {
    try await Link.run([.ES256, .ES256], registered: 1) { link in
      _ = try await link.exchange(link.talkdeskID())
      let entries = try #require(
        link.server.emulator.journal.exchangesJSON["exchanges"]?.array)
      #expect(entries.map { $0["kid"] } == ["key-0", "key-1"])
      #expect(entries.map { $0["status"] } == [401, 200])
    }
  }

  @Test func `a scope that is not granted is a refusal to the gateway`() async throws {
    try await Link.run { link in
      await #expect {
        try await link.exchange(scope: "contacts:read", link.talkdeskID())
      } throws: { error in
        if case .refused(status: 401, code: "invalid_scope")? = error as? TokenExchangeError {
          true
        } else {
          false
        }
      }
    }
  }

  @Test func `a callback that rings and is not answered arrives once`() async throws {
    try await Link.run { link in
      let token = try await link.exchange(link.talkdeskID())
      #expect(try await link.callback(token).status == 201)
      try await link.fault(#"{"endpoint":"callback","drop":"after"}"#)
      await #expect {
        try await link.callback(token)
      } throws: { error in
        guard let error = error as? TransportError else { return false }
        return error.reason == .connectionLost && error.sent
      }
      let journal = link.server.emulator.journal.callbacksJSON
      #expect(journal["arrivals"] == 2)
      #expect(journal["rings"] == ["+14155550100": 2])
    }
  }
}

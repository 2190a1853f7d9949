// Tests of the gateway's Callback API client against every fault of the emulator.

import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import Talkdesk
import Testing
import Tokens
import Upstream

@testable import Sandbox

/// The gateway's Callback API client over its own transport, against every fault of the emulator: how each is
/// reported, and that a request never arrives twice.
@Suite(.serialized) struct CallbackClientTests {
  /// An emulator, the client under test and a token for it.
  private struct Link {
    let server: SandboxServer
    let transport: CurlTransport
    let token: AccessToken

    static func run(_ body: (Link) async throws -> Void) async throws {
      let client = try TestClient()
      let server = try SandboxServer(
        Emulator(
          EmulatorConfiguration(clientID: TestClient.id, keys: [client.registration]), time: SystemClock()))
      let transport = try CurlTransport()
      let result: Result<Void, any Error>
      do {
        let talkdeskID = TalkdeskID(
          endpoints: endpoints(server),
          credentials: [
            .signedJWT(
              clientID: TestClient.id, keyID: client.keyID,
              signer: try Signer(key: client.key, algorithm: client.algorithm))
          ], transport: transport, time: SystemClock())
        let token = try await talkdeskID.exchange(
          scope: "callback:write", deadline: SystemClock().now + .seconds(20))
        result = .success(try await body(Link(server: server, transport: transport, token: token)))
      } catch {
        result = .failure(error)
      }
      await transport.shutdown()
      await server.stop()
      try result.get()
    }

    static func endpoints(_ server: SandboxServer) -> TalkdeskEndpoints {
      TalkdeskEndpoints(tokenURL: server.baseURL + "/oauth/token", apiBase: server.baseURL)
    }

    func call(_ content: String = validCallback, timeout: Duration = .seconds(20)) async throws
      -> CallbackReport
    {
      await CallbackAPI(endpoints: Self.endpoints(server), transport: transport, time: SystemClock())
        .request(
          OutboundContent(Array(content.utf8)), token: token,
          traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", timeout: timeout)
    }

    func fault(_ text: String) async throws {
      let answer = try await LoopbackClient(port: server.port).send(
        "POST", "/_sandbox/faults", content: #"{"endpoint":"callback",\#(text)}"#)
      #expect(answer?.status == 201)
    }

    var arrivals: Int64? { server.emulator.journal.callbacksJSON["arrivals"]?.int }
    var rings: Int64? { server.emulator.journal.callbacksJSON["rings"]?["+14155550100"]?.int }
  }

  @Test func `a callback is made with host, trace and scope as they should be`() async throws {
    try await Link.run { link in
      let report = try await link.call()
      #expect(report.outcome.label == "accepted" && report.status == 201)
      let made = try #require(link.server.emulator.journal.callbacksJSON["callbacks"]?.array?.first)
      #expect(made["platform_tid"]?.string == report.platformTID)
      #expect(made["traceparent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
      #expect(made["host"] == .string("127.0.0.1:\(link.server.port)"))
      #expect(made["token_scope"] == "callback:write")
    }
  }

  @Test func `every response has its outcome, and each request arrives once`() async throws {
    let big = String(repeating: "x", count: 50_000)
    let table: [(fault: String, label: String, rings: Int64)] = [
      (#""status":200"#, "accepted", 1), (#""status":202,"body":"""#, "accepted", 1),
      (#""status":204"#, "accepted", 1), (#""body":"<html>fine</html>""#, "accepted", 1),
      (#""body":"\#(big)""#, "accepted", 1),
      (#""status":400"#, "rejected", 0), (#""status":415"#, "rejected", 0),
      (#""status":422,"body":"<html>""#, "rejected", 0), (#""status":401"#, "unauthorized", 0),
      (#""status":403"#, "forbidden", 0), (#""status":404"#, "refused", 0),
      (#""status":429,"retry_after":7"#, "rate_limited", 0), (#""status":503"#, "unavailable", 0),
      (#""status":500"#, "unknown", 0), (#""status":502,"body":"\#(big)""#, "unknown", 0),
      (#""status":302"#, "unknown", 0), (#""drop":"before""#, "unknown", 0),
      (#""drop":"after""#, "unknown", 1), (#""drop":"during""#, "accepted", 1),
      (#""drop":"during","status":503"#, "unavailable", 0), (#""drop":"during","status":500"#, "unknown", 0),
    ]
    try await Link.run { link in
      var arrivals: Int64 = 0
      var rings: Int64 = 0
      for row in table {
        try await link.fault(row.fault)
        let report = try await link.call()
        arrivals += 1
        rings += row.rings
        #expect(report.outcome.label == row.label, "\(row.fault.prefix(40))")
        #expect(link.arrivals == arrivals, "\(row.fault.prefix(40))")
        #expect((link.rings ?? 0) == rings, "\(row.fault.prefix(40))")
      }
      #expect(try await link.call().outcome.label == "accepted")
    }
  }

  @Test func `the second callback closed unanswered arrives once, again and again`() async throws {
    try await Link.run { link in
      for round in 1...25 {
        #expect(try await link.call().outcome.label == "accepted")
        try await link.fault(#""drop":"after""#)
        #expect(try await link.call().outcome.certainty == .unknown)
        #expect(link.arrivals == Int64(2 * round) && link.rings == Int64(2 * round))
      }
    }
  }

  @Test func `an answer that comes too late leaves the outcome unknown`() async throws {
    try await Link.run { link in
      try await link.fault(#""delay_ms":1500"#)
      let report = try await link.call(timeout: .milliseconds(300))
      #expect(report.outcome.label == "unknown" && report.outcome.certainty == .unknown)
      #expect(link.arrivals == 1)
    }
  }

  @Test func `Talkdesk's own words about a body come back as fields`() async throws {
    try await Link.run { link in
      let report = try await link.call(
        #"{"talkdesk_phone_number":"x","contact_phone_number":"+14155550100"}"#)
      guard case .rejected(422, let fields) = report.outcome else {
        Issue.record("\(report.outcome.label)")
        return
      }
      #expect(fields.map(\.name) == ["talkdesk_phone_number"])
      #expect(report.code == "invalid_body")
    }
  }

  @Test func `without a listener nothing was sent`() async throws {
    try await Link.run { link in
      // Port 1 of loopback: nothing listens on it, and only root could make it.
      let endpoints = TalkdeskEndpoints(account: "sandbox", apiBase: "http://127.0.0.1:1")
      let api = CallbackAPI(endpoints: endpoints, transport: link.transport, time: SystemClock())
      let report = await api.request(
        OutboundContent(Array(validCallback.utf8)), token: link.token, timeout: .seconds(20))
      #expect(report.outcome.label == "unreachable" && report.outcome.certainty == .notAccepted)
    }
  }
}

// Tests of which paths the sandbox answers itself and which it leaves to the gateway.

import HTTP
import HTTPServer
import JSON
import Platform
import Synchronization
import Testing

@testable import Sandbox

/// A handler in place of a gateway's.
private final class Gateway: RequestHandler {
  func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    exchange.respond(Response(status: .ok, content: Array("gateway".utf8)))
  }

  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    Response(status: .badRequest, content: Array("refused by the gateway".utf8))
  }
}

@Suite(.serialized) struct SandboxFrontTests {
  @Test func `the sandbox takes its own paths and leaves all others to the gateway`() async throws {
    try await RunningEmulator.run { emulator in
      let loops = try EventLoopGroup(count: 1)
      let clock = SandboxClock()
      let moves = Mutex<[Int64]>([])
      let link = GatewayLink(
        clock: clock, forgetTokens: {}, clockMoved: { seconds in moves.withLock { $0.append(seconds) } },
        pauses: { [] }, endPauses: {},
        approve: { request, exchange in exchange.respond(Response(status: .ok, content: request.content)) })
      let front = SandboxFront(emulator: emulator.sandbox.emulator, gateway: Gateway(), link: link)
      let server = Server(
        address: SocketAddress(IPAddress(v4: 0x7F00_0001), port: 0), loops: loops, handler: front)
      let http = LoopbackClient(port: try server.start().port)

      for path in ["/access", "/calls/callback", "/oauth/token", "/_sandbox", "/_sandboxes/faults", "//"] {
        #expect(try await http.send("GET", path)?.content == "gateway", "\(path)")
      }
      #expect(try await http.send("GET", "/?x")?.content.hasPrefix("<!doctype html>") == true)
      #expect(try await http.send("OPTIONS", "/")?.content == "gateway")
      #expect(try await http.send("GET", "/_sandbox/nothing")?.status == 404)
      #expect(try await http.send("GET", " /")?.content == "refused by the gateway")

      // A fault posted to the gateway's port reaches the emulator.
      let fault = try await http.send(
        "POST", "/_sandbox/faults", content: #"{"endpoint":"token","status":503}"#)
      #expect(fault?.status == 201)
      #expect(try await emulator.askToken()?.status == 503)
      #expect(try await http.send("GET", "/_sandbox/exchanges")?.json["count"] == 1)

      // The gateway's clock can only be moved through the gateway's port.
      let move = #"{"offset_seconds":3600,"everything":true}"#
      #expect(try await emulator.http.send("POST", "/_sandbox/clock", content: move)?.status == 404)
      #expect(moves.withLock { $0 }.isEmpty)
      #expect(try await http.send("POST", "/_sandbox/clock", content: move)?.status == 200)
      #expect(moves.withLock { $0 } == [3600])
      #expect(clock.offset == 3600)

      // Only the gateway knows installations. The emulator checks the origin of the request.
      let path = "/_sandbox/installations/approve"
      #expect(try await http.send("POST", path, content: "asked")?.content == "asked")
      #expect(try await http.send("GET", path)?.status == 405)
      for (name, value, status) in [
        ("Sec-Fetch-Site", "cross-site", 403), ("Sec-Fetch-Site", "same-origin", 200),
        ("Origin", "https://evil.example", 403), ("Origin", "null", 403),
        ("Origin", "http://127.0.0.1:\(http.port)", 200),
      ] {
        #expect(
          try await http.send("POST", path, fields: [(name, value)])?.status == status, "\(name): \(value)")
      }
      let evil = [("Origin", "https://evil.example")]
      #expect(try await http.send("GET", "/_sandbox/faults", fields: evil)?.status == 403)
      #expect(try await emulator.http.send("POST", path)?.status == 404)

      await server.shutdown(within: .seconds(1))
      loops.shutdown()
    }
  }
}

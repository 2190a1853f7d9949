// Tests of responses that handlers send in pieces.

import Glibc
import HTTP
import HTTPServer
import Platform
import Testing

@Suite struct PiecesTests {
  private static let deferred = "GET /defer HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func `pieces arrive as they are, and end with the connection`() async throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(Self.deferred)
    let responder = await server.handler.nextResponder()
    for piece in ["head", ", one", ", two"] { responder.send(Array(piece.utf8)) }
    responder.closeUnanswered()
    #expect(try client.readToEnd() == "head, one, two")
  }

  @Test func `a piece after the response is not sent into the next one`() async throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(Self.deferred + Self.deferred)
    let first = await server.handler.nextResponder()
    first.respond(Response(status: .ok, content: Array("first".utf8)))
    #expect(try client.answer().content == "first")
    let second = await server.handler.nextResponder()
    first.send(Array("a piece".utf8))
    second.respond(Response(status: .ok, content: Array("second".utf8), closesConnection: true))
    let rest = try client.readToEnd()
    #expect(rest.hasPrefix("HTTP/1.1 200 ") && rest.hasSuffix("second"), "\(rest)")
  }

  /// Sends a piece past a gate.
  private final class Gated: RequestHandler {
    func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
      exchange.gate = ResponseGate(ask: { $0(true) }, refusal: { _ in Response(status: .serviceUnavailable) })
      exchange.deferred().send([0x61])
    }

    func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
      Response(status: .badRequest)
    }
  }

  @Test func `a piece past a gate ends the process`() async {
    await #expect(processExitsWith: .failure) {
      // Only the precondition may end it with a failure.
      do {
        let loops = try EventLoopGroup(count: 1)
        let address = SocketAddress(IPAddress(v4: 0x7F00_0001), port: 0)
        let server = Server(address: address, loops: loops, handler: Gated())
        let client = try Client(try server.start())
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try await Task.sleep(for: .seconds(5))
      } catch {}
      exit(0)
    }
  }
}

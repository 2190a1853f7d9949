// Tests of handlers that close a connection without a complete response.

import HTTP
import HTTPServer
import Platform
import Testing

/// A handler that closes the connection before or during the response: at once, or from another thread.
private final class Closes: RequestHandler {
  let later: Bool

  init(later: Bool) { self.later = later }

  func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    if request.equals(request.path, "/half") {
      let response = Response(status: .ok, content: Array("answered".utf8))
      guard later else { return exchange.respondCutOff(response) }
      let responder = exchange.deferred()
      Task { responder.respondCutOff(response) }
      return
    }
    guard request.equals(request.path, "/close") else {
      return exchange.respond(Response(status: .ok, content: Array("answered".utf8)))
    }
    guard later else {
      exchange.closeUnanswered()
      // Only the first call counts.
      return exchange.respond(Response(status: .ok))
    }
    let responder = exchange.deferred()
    Task {
      responder.closeUnanswered()
      responder.respond(Response(status: .ok))
    }
  }

  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    Response(status: .badRequest)
  }
}

@Suite(.serialized) struct CloseUnansweredTests {
  /// Everything that the server sends on one connection.
  private func send(_ text: String, to address: SocketAddress) throws -> String {
    let socket = try StreamSocket(connectedTo: address)
    #expect(socket.send(Array(text.utf8)) == .bytes(text.utf8.count))
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      switch socket.receive(into: &buffer) {
      case .bytes(0): return String(decoding: received, as: UTF8.self)
      case .bytes(let count): received += buffer[..<count]
      case .wouldBlock: continue
      case .failed(let error): throw error
      }
    }
  }

  @Test(arguments: [false, true])
  func `a connection can be closed without a response, and the server continues`(later: Bool) async throws {
    let loops = try EventLoopGroup(count: 1)
    let address = SocketAddress(IPAddress(v4: 0x7F00_0001), port: 0)
    let server = Server(address: address, loops: loops, handler: Closes(later: later))
    let bound = try server.start()
    // A request pipelined after it is not answered either.
    let text = "GET /close HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
    #expect(try send(text, to: bound) == "")
    let half = try send(text.replacing("/close", with: "/half"), to: bound)
    #expect(half.contains("Content-Length: 8\r\n") && half.hasSuffix("\r\n\r\nansw"))
    #expect(try send("GET / HTTP/1.0\r\n\r\n", to: bound).hasSuffix("answered"))
    await server.shutdown(within: .seconds(5))
    #expect(server.connectionCount == 0)
    loops.shutdown()
  }
}

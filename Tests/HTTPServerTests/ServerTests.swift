import HTTP
import HTTPServer
import Platform
import Testing

/// Answers every request with its path.
private struct EchoPath: RequestHandler {
  func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    exchange.respond(Response(status: .ok, content: Array(request.head[request.path])))
  }

  func refusal(_ failure: RequestFailure, requestID: RequestID) -> Response {
    Response(status: .badRequest)
  }
}

@Test func `a server on a free port answers a request`() throws {
  let loops = try EventLoopGroup(count: 2)
  defer { loops.shutdown() }
  let address = try #require(SocketAddress("127.0.0.1:0"))
  let server = Server(address: address, loops: loops, handler: EchoPath())
  let bound = try server.start()
  #expect(bound.port != 0)
  let socket = try StreamSocket(connectedTo: bound)
  #expect(socket.send(Array("GET /a HTTP/1.0\r\n\r\n".utf8)) == .bytes(19))
  var received: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4096)
  reading: while true {
    switch socket.receive(into: &buffer) {
    case .bytes(0): break reading
    case .bytes(let count): received += buffer[..<count]
    case .wouldBlock: continue
    case .failed(let error): throw error
    }
  }
  let text = String(decoding: received, as: UTF8.self)
  #expect(text.hasPrefix("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nDate: "))
  #expect(text.hasSuffix("\r\nConnection: close\r\n\r\n/a"))
}

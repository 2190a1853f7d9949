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
    let responder = try await server.handler.nextResponder()
    for piece in ["head", ", one", ", two"] { responder.send(Array(piece.utf8)) }
    responder.closeUnanswered()
    #expect(try client.readToEnd() == "head, one, two")
  }

  @Test func `a piece after the response is not sent into the next one`() async throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(Self.deferred + Self.deferred)
    let first = try await server.handler.nextResponder()
    first.respond(Response(status: .ok, content: Array("first".utf8)))
    #expect(try client.answer().content == "first")
    let second = try await server.handler.nextResponder()
    first.send(Array("a piece".utf8))
    second.respond(Response(status: .ok, content: Array("second".utf8), closesConnection: true))
    let rest = try client.readToEnd()
    #expect(rest.hasPrefix("HTTP/1.1 200 ") && rest.hasSuffix("second"), "\(rest)")
  }
}

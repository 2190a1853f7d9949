// Tests of requests that are refused by their head alone, before their content is read.

import HTTP
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(2))) struct EarlyRefusalTests {
  private func head(_ path: String, expects: Bool = true, length: Int = 2) -> String {
    "POST \(path) HTTP/1.1\r\nHost: a\r\n\(expects ? "Expect: 100-continue\r\n" : "")Content-Length: \(length)\r\n\r\n"
  }

  @Test(arguments: [true, false])
  func `a refusal by the head is sent before the content, without 100, and the connection closes`(
    expects: Bool
  ) throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(head("/refuse", expects: expects))
    let answer = try client.answer()
    #expect(answer.status == 401 && answer.content == "early")
    #expect(answer.fields["connection"] == "close")
    // The client may still send its content.
    try client.send("ab")
    #expect(try client.readToEnd().isEmpty)
    #expect(!client.isReset)
    #expect(server.handler.handled.load(ordering: .relaxed) == 0)
    #expect(server.server.unfinishedOctets == 0)
  }

  @Test func `a refusal comes before content in chunks, and before the rest of content that has begun`()
    throws
  {
    let server = try TestServer()
    for content in ["Transfer-Encoding: chunked\r\n\r\n", "Content-Length: 3\r\n\r\nab"] {
      let client = try server.client()
      try client.send("POST /refuse HTTP/1.1\r\nHost: a\r\n\(content)")
      #expect(try client.answer().status == 401)
    }
  }

  @Test func `a head is judged once, and a request that arrived whole not at all`() throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(head("/refuse", expects: false) + "ab")
    #expect(try client.answer().content == "/refuse 2")
    #expect(server.handler.judged.load(ordering: .relaxed) == 0)
    try client.send(head("/a"))
    #expect(try client.answer().status == 100)
    for octet in ["a", "b"] { try client.send(octet) }
    #expect(try client.answer().content == "/a 2")
    #expect(server.handler.judged.load(ordering: .relaxed) == 1)
    // The head of the connection's next request is judged separately.
    try client.send(head("/refuse"))
    #expect(try client.answer().status == 401)
  }

  @Test func `what was found out is for this request alone`() throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(head("/a"))
    #expect(try client.answer().status == 100)
    try client.send("ab" + head("/b", expects: false) + "cd")
    #expect(try client.answer().content == "/a 2")
    #expect(try client.answer().content == "/b 2")
    // The head is judged, without a finding.
    try client.send(head("/succeed"))
    #expect(try client.answer().status == 100)
    try client.send("ef")
    #expect(try client.answer().content == "/succeed 2")
    #expect(server.handler.findings.withLock { $0 } == ["/a"])
  }

  @Test func `a success waits for the content`() throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(head("/succeed"))
    #expect(try client.answer().status == 100)
    try client.send("ab")
    #expect(try client.answer().content == "/succeed 2")
  }

  @Test func `a judgement that takes its time lets content come, or refuses`() async throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(head("/judge"))
    let first = try await server.handler.nextResponder()
    #expect(!client.hears(within: 0))
    first.proceed("late")
    #expect(try client.answer().status == 100)
    try client.send("ab")
    #expect(try client.answer().content == "/judge 2")
    #expect(server.handler.findings.withLock { $0 } == ["late"])
    // Content that has already arrived waits meanwhile.
    try client.send(head("/judge", expects: false, length: 30_000) + String(repeating: "x", count: 20_000))
    try await server.handler.nextResponder().proceed()
    try client.send(String(repeating: "x", count: 10_000))
    #expect(try client.answer().content == "/judge 30000")
    try client.send(head("/judge"))
    try await server.handler.nextResponder().respond(Response(status: .forbidden))
    #expect(try client.answer().status == 403)
    #expect(try client.readToEnd().isEmpty)
    #expect(server.server.deferredCount == 0)
  }

  @Test func `a judgement that comes after its client has left does nothing`() async throws {
    let server = try TestServer()
    var client: Client? = try server.client()
    try client?.send(head("/judge"))
    let responder = try await server.handler.nextResponder()
    client?.resetOnClose()
    client = nil
    try await eventually {
      server.settle()
      return server.server.connectionCount == 0
    }
    responder.proceed("late")
    server.settle()
    #expect(server.server.deferredCount == 0 && server.server.unfinishedOctets == 0)
    #expect(server.handler.findings.withLock { $0.isEmpty })
    let next = try server.client()
    try next.send(head("/a"))
    #expect(try next.answer().status == 100)
  }
}

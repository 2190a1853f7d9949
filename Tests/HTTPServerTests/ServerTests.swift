// Tests of how the server reads requests and sends responses over a socket.

import HTTP
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

private let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

@Test func `an answer carries the server's own fields`() throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(get)
  let answer = try client.answer()
  #expect(answer.status == 200)
  #expect(answer.content == "/a 0")
  #expect(Set(answer.fields.keys) == ["content-length", "date", "x-request-id"])
  #expect(answer.fields["date"]?.hasSuffix(" GMT") == true)
  #expect(answer.fields["x-request-id"]?.utf8.count == 32)
}

@Test func `a sane request id is taken over and another is replaced`() throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: my.id_1-2\r\n\r\n")
  #expect(try client.answer().fields["x-request-id"] == "my.id_1-2")
  try client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: a b\r\n\r\n")
  #expect(try client.answer().fields["x-request-id"]?.utf8.count == 32)
  // The ID also comes back if the request is refused after its head.
  try client.send("POST / HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\nContent-Length: 99999999\r\n\r\n")
  let refusal = try client.answer()
  #expect(refusal.status == 413)
  #expect(refusal.fields["x-request-id"] == "mine")
}

@Test func `pipelined requests are answered in order, also behind a deferred one`() async throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /defer HTTP/1.1\r\nHost: a\r\n\r\nPOST /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloHEAD /4 HTTP/1.1\r\nHost: a\r\n\r\nGET /5 HTTP/1.1\r\nHost: a\r\n\r\n"
  )
  #expect(try client.answer().content == "/1 0")
  let responder = try await server.handler.nextResponder()
  #expect(server.handler.handled.load(ordering: .relaxed) == 2)
  responder.respond(Response(status: .accepted, content: Array("2".utf8)))
  #expect(try client.answer().content == "2")
  #expect(try client.answer().content == "/3 5")
  let head = try client.answer(toHead: true)
  #expect(head.fields["content-length"] == "4" && head.content == "")
  #expect(try client.answer().content == "/5 0")
}

@Test func `a request in pieces of one octet is answered as a whole one`() throws {
  let server = try TestServer()
  let client = try server.client()
  for octet in "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\(get)"
    .utf8
  {
    try client.send([octet])
    server.settle()
  }
  #expect(try client.answer().content == "/b 3")
  #expect(try client.answer().content == "/a 0")
}

@Test func `content larger than any buffer arrives whole`() throws {
  let server = try TestServer()
  let client = try server.client()
  let content = String(repeating: "x", count: 65_536)
  for _ in 0..<3 {
    try client.send("POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n\(content)")
    #expect(try client.answer().content == "/c 65536")
  }
}

@Test func `100-continue is said when the client waits for it and not else`() throws {
  let server = try TestServer()
  let client = try server.client()
  let head = "POST /c HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
  try client.send(head)
  #expect(try client.answer() == Client.Answer(status: 100, fields: [:], content: ""))
  try client.send("ab")
  #expect(try client.answer().content == "/c 2")
  try client.send(head + "ab")
  #expect(try client.answer().content == "/c 2")
  try client.send("POST /c HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n")
  #expect(try client.answer().status == 413)
}

@Test func `a half-closed client still gets its answer, deferred or not`() async throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(get)
  client.finish()
  #expect(try client.readToEnd().hasSuffix("/a 0"))
  #expect(!client.isReset)

  let patient = try server.client()
  try patient.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
  patient.finish()
  let responder = try await server.handler.nextResponder()
  responder.respond(Response(status: .ok, content: Array("late".utf8)))
  #expect(try patient.readToEnd().hasSuffix("late"))
}

@Test func `a request that ends in its middle gets 400`() throws {
  let server = try TestServer()
  for text in ["GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"] {
    let client = try server.client()
    try client.send(text)
    client.finish()
    #expect(try client.readToEnd().hasPrefix("HTTP/1.1 400 "))
  }
  let silent = try server.client()
  silent.finish()
  #expect(try silent.readToEnd() == "")
  let blank = try server.client()
  try blank.send("\r\n")
  blank.finish()
  #expect(try blank.readToEnd() == "")
}

@Test func `a refusal survives a client that keeps sending`() throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n")
  try client.send([UInt8](repeating: 0x78, count: 900_000))
  client.finish()
  let text = try client.readToEnd()
  #expect(text.hasPrefix("HTTP/1.1 413 "))
  #expect(text.contains("\r\nConnection: close\r\n"))
  #expect(!client.isReset)
}

@Test(arguments: [
  ("BAD\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
  ("GET /" + String(repeating: "a", count: 20_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
  ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 20_000) + "\r\n\r\n", 431),
  ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413),
]) func `a protocol failure is answered and ends the connection`(text: String, status: Int) throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(get + text)
  #expect(try client.answer().status == 200)
  let refusal = try client.answer()
  #expect(refusal.status == status)
  #expect(refusal.fields["connection"] == "close")
  client.finish()
  #expect(try client.readToEnd() == "")
}

@Test func `nothing is served behind a request that closes the connection`() throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n\(get)")
  let text = try client.readToEnd()
  #expect(text.hasSuffix("\r\nConnection: close\r\n\r\n/1 0"))
  #expect(server.handler.handled.load(ordering: .relaxed) == 1)
  let other = try server.client()
  try other.send("GET /close HTTP/1.1\r\nHost: a\r\n\r\n\(get)")
  #expect(try other.answer().fields["connection"] == "close")
  other.finish()
  #expect(try other.readToEnd() == "")
}

@Test func `a handler that does not answer is answered for`() async throws {
  let server = try TestServer()
  for path in ["/nothing", "/drop"] {
    let client = try server.client()
    try client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
    let answer = try client.answer()
    #expect(answer.status == 500)
    #expect(answer.content == "unanswered")
    #expect(answer.fields["connection"] == "close")
  }
}

@Test func `the first answer counts`() async throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("GET /twice HTTP/1.1\r\nHost: a\r\n\r\nGET /defer HTTP/1.1\r\nHost: a\r\n\r\n\(get)")
  #expect(try client.answer().content == "first")
  let responder = try await server.handler.nextResponder()
  await withTaskGroup(of: Void.self) { group in
    for _ in 0..<20 {
      group.addTask { responder.respond(PreparedResponse(Response(status: .created, content: [0x79]))) }
    }
  }
  #expect(try client.answer().content == "y")
  #expect(try client.answer().content == "/a 0")
}

@Test func `an answer that could be read as two is replaced by an empty 500`() throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("GET /split HTTP/1.1\r\nHost: a\r\n\r\n")
  let text = try client.readToEnd()
  #expect(text.hasPrefix("HTTP/1.1 500 "))
  #expect(!text.contains("Set-Cookie"))
}

@Test func `an answer for a client that is gone is dropped`() async throws {
  let server = try TestServer()
  var client: Client? = try server.client()
  try client?.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
  let responder = try await server.handler.nextResponder()
  client?.resetOnClose()
  client = nil
  try await eventually { server.server.connectionCount == 0 }
  // Another connection gets the slot of the first, and must not get its response.
  let next = try server.client()
  try next.send(get)
  responder.respond(Response(status: .ok, content: Array("not yours".utf8)))
  #expect(try next.answer().content == "/a 0")
  server.settle()
  #expect(!next.hears(within: 0))
}

@Test func `a client that does not read is not read from`() throws {
  let server = try TestServer()
  let client = try server.client()
  let request = Array("GET /large HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
  let burst = Array(repeatElement(request, count: 300).joined())
  var sent = 0
  // The server responds until both kernels' buffers are full. Then it must leave the rest alone.
  var rounds = 0
  while rounds < 2000 {
    let count = client.sendUntilBlocked(burst, attempts: 1)
    sent += count
    server.settle()
    if count == 0 { break }
    rounds += 1
  }
  let handled = server.handler.handled.load(ordering: .relaxed)
  // Responses of 8 KiB each: as many as the server's send buffer and the client's receive buffer hold, and a
  // few more.
  #expect(handled < 200, "\(handled) answers made for a client that reads none")
  #expect(sent > handled * request.count)
  // The server continues as soon as the client reads.
  for _ in 0..<(handled + 50) { #expect(try client.answer().status == 200) }
  #expect(server.handler.handled.load(ordering: .relaxed) >= handled + 50)
}

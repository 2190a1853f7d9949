// Tests of how a server starts, limits its connections, drains and stops.

import Dispatch
import Glibc
import HTTP
import Platform
import TestSupport
import Testing

@testable import HTTPServer

private let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

@Test func `connections beyond the limit get 503, and there is room again when one ends`() async throws {
  let server = try TestServer(limits: ServerLimits(connections: 2))
  let first = try server.client()
  try first.send(get)
  #expect(try first.answer().status == 200)
  var second: Client? = try server.client()
  try second?.send(get)
  #expect(try second?.answer().status == 200)
  #expect(server.server.connectionCount == 2)
  let third = try server.client()
  try third.send(get)
  let refusal = try third.answer()
  #expect(refusal.status == 503)
  #expect(refusal.content == "overloaded")
  #expect(refusal.fields["connection"] == "close")
  third.finish()
  #expect(try third.readToEnd() == "")
  // Accepted connections stay open.
  try first.send(get)
  #expect(try first.answer().status == 200)
  second = nil
  try await eventually { server.server.connectionCount <= 1 }
  let fourth = try server.client()
  try fourth.send(get)
  #expect(try fourth.answer().status == 200)
}

@Test func `while 128 clients too many are being refused, the next one waits and costs no processor time`()
  async throws
{
  let server = try TestServer(limits: ServerLimits(connections: 1, headerTimeout: .seconds(600)))
  let first = try server.client()
  try first.send(get)
  #expect(try first.answer().status == 200)
  var silent = try (0..<128).map { _ in try server.client() }
  let late = try server.client()
  try late.send(get)
  server.settle()
  let before = server.processorTime
  #expect(!late.hears(within: 200))
  #expect(server.processorTime - before < .milliseconds(40))
  // All connections before it are still being refused.
  try silent[127].send(get)
  #expect(try silent[127].answer().status == 503)
  silent.removeFirst()
  #expect(try late.answer().status == 503)
}

/// Limits of a listener with few connections.
private func limits(_ connections: Int) -> ServerLimits {
  var limits = ServerLimits(connections: connections)
  limits.closesLongestSilent = true
  return limits
}

@Test func `clients that keep silent make room for one more, the longest silent first`() async throws {
  let server = try TestServer(limits: limits(3))
  let idle = try server.client()
  try idle.send(get)
  #expect(try idle.answer().status == 200)
  let silent = try server.client()
  server.settle()
  let slow = try server.client()
  try slow.send("GET /a HTTP/1.1\r\nHost: ")
  server.settle()
  var others: [Client] = []
  for gone in [idle, silent, slow] {
    let next = try server.client()
    others.append(next)
    try next.send(get)
    #expect(try next.answer().status == 200)
    #expect(try gone.readToEnd() == "")
    #expect(server.server.connectionCount <= 3)
  }
}

@Test func `a thousand idle connections do not keep clients out`() throws {
  let server = try TestServer(limits: limits(4))
  let strangers = try (0..<1_000).map { _ in try server.client() }
  for _ in 0..<8 {
    let client = try server.client()
    try client.send(get)
    #expect(try client.answer().status == 200)
  }
  withExtendedLifetime(strangers) {}
}

@Test func `a request with its handler does not give way, and a new client waits for its response`()
  async throws
{
  let server = try TestServer(limits: limits(2))
  let patient = try server.client()
  try patient.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
  let responder = try await server.handler.nextResponder()
  let second = try server.client()
  try second.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
  let other = try await server.handler.nextResponder()
  let third = try server.client()
  try third.send(get)
  server.settle()
  #expect(!third.hears(within: 50))
  responder.respond(Response(status: .ok, content: Array("late".utf8)))
  #expect(try patient.answer().content == "late")
  #expect(try third.answer().status == 200)
  #expect(try patient.readToEnd() == "")
  other.respond(Response(status: .ok))
  #expect(try second.answer().status == 200)
}

@Test func `IPv6 and IPv4 clients are served on one socket`() throws {
  let server = try TestServer(loops: 2, host: "::")
  for text in ["127.0.0.1", "::1"] {
    let client = try Client(SocketAddress(try #require(IPAddress(text)), port: server.address.port))
    try client.send("GET /peer HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try client.answer().content == text)
  }
}

@Test func `every loop of a group serves`() throws {
  let server = try TestServer(loops: 3)
  let clients = try (0..<60).map { _ in try server.client() }
  for client in clients { try client.send(get) }
  for client in clients { #expect(try client.answer().content == "/a 0") }
}

@Test func `a taken port is refused unless it is shared`() throws {
  let server = try TestServer(loops: 2)
  let loops = try EventLoopGroup(count: 2)
  defer { loops.shutdown() }
  let rival = Server(.address(server.address), loops: loops, handler: TestHandler())
  let error = #expect(throws: SystemError.self) { try rival.start() }
  #expect(error?.isAddressInUse == true)
  let friend = Server(.address(server.address, sharesPort: true), loops: loops, handler: TestHandler())
  #expect(try friend.start() == server.address)
}

@Test func `an inherited socket is served by all loops`() throws {
  let loops = try EventLoopGroup(count: 2)
  defer { loops.shutdown() }
  let socket = try ListeningSocket(
    address: SocketAddress(IPAddress(v4: 0x7F00_0001), port: 0), sharesPort: false)
  let expected = try socket.boundAddress()
  let number = dup(socket.descriptor.number)
  let server = Server(.inherited(descriptors: [number]), loops: loops, handler: TestHandler())
  #expect(try server.start() == expected)
  let clients = try (0..<20).map { _ in try Client(expected) }
  for client in clients { try client.send(get) }
  for client in clients { #expect(try client.answer().content == "/a 0") }
}

@Test func `who has stopped accepting is not woken in a successor's place`() async throws {
  let socket = try ListeningSocket(
    address: SocketAddress(IPAddress(v4: 0x7F00_0001), port: 0), sharesPort: false)
  let address = try socket.boundAddress()
  let groups = try (0..<2).map { _ in try EventLoopGroup(count: 2) }
  defer { for group in groups { group.shutdown() } }
  let servers = groups.map {
    // The clients send nothing.
    Server(
      .inherited(descriptors: [dup(socket.descriptor.number)]),
      limits: ServerLimits(headerTimeout: .seconds(600)), loops: $0, handler: TestHandler())
  }
  for server in servers { try server.start() }
  servers[0].stopAccepting()
  for loop in groups[0].loops { loop.run {} }
  // One at a time, because each new client would wake the successor for the clients before it.
  var clients: [Client] = []
  for number in 1...8 {
    clients.append(try Client(address))
    try await eventually { servers[1].connectionCount == number }
  }
  #expect(servers[0].connectionCount == 0)
}

@Test func `while draining, answers say that the connection closes, and new ones are still taken`() throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(get)
  #expect(try client.answer().fields["connection"] == nil)
  server.server.beginDrain()
  let newcomer = try server.client()
  for client in [client, newcomer] {
    try client.send(get)
    #expect(try client.answer().fields["connection"] == "close")
    client.finish()
    #expect(try client.readToEnd() == "")
  }
}

@Test func `shutting down finishes what runs and closes what is idle`() async throws {
  let server = try TestServer(loops: 2)
  let idle = try server.client()
  try idle.send(get)
  #expect(try idle.answer().status == 200)
  let busy = try server.client()
  try busy.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
  let responder = try await server.handler.nextResponder()
  async let end: Void = server.server.shutdown(within: .seconds(60))
  try await idle.end()
  #expect(try idle.readToEnd() == "")
  try await eventually { (try? server.client()) == nil }
  #expect(server.server.connectionCount == 1)
  responder.respond(Response(status: .ok, content: Array("done".utf8)))
  let answer = try busy.answer()
  #expect(answer.content == "done")
  #expect(answer.fields["connection"] == "close")
  busy.finish()
  await end
  #expect(server.server.connectionCount == 0)
}

@Test func `shutting down ends at its time, whatever runs`() async throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n")
  let responder = try await server.handler.nextResponder()
  await server.server.shutdown(within: .milliseconds(10))
  #expect(try client.readToEnd() == "")
  responder.respond(Response(status: .ok))
  server.settle()
}

@Test(.timeLimit(.minutes(1))) func `shutting down without connections ends at once`() async throws {
  let server = try TestServer(loops: 2)
  await server.server.shutdown(within: .seconds(3600))
}

@Test func `connections that wait in the kernel's queue when accepting stops are still served`() async throws
{
  let server = try TestServer()
  // The loop is blocked while clients connect, so that they can only wait in the queue.
  let hold = DispatchSemaphore(value: 0)
  server.execute { hold.wait() }
  let clients = try (0..<20).map { _ in try server.client() }
  for client in clients { try client.send(get) }
  server.server.stopAccepting()
  async let end: Void = server.server.shutdown(within: .seconds(60))
  try await eventually { server.server.isEnding }
  hold.signal()
  for client in clients {
    try await client.end()
    #expect(try client.answer().content == "/a 0")
    client.finish()
  }
  await end
  #expect(throws: SystemError.self) { try server.client() }
}

@Test func `a request that comes while the server ends is still answered`() async throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na")
  try await eventually { server.server.connectionCount > 0 }
  server.settle()
  async let end: Void = server.server.shutdown(within: .seconds(60))
  try await eventually { server.server.isEnding }
  server.settle()
  try client.send("b")
  try await client.end()
  let answer = try client.answer()
  #expect(answer.content == "/b 2")
  #expect(answer.fields["connection"] == "close")
  client.finish()
  await end
}

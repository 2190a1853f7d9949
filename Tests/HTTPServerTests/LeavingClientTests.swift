// Tests of deferred requests whose clients disconnect.

import HTTP
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

private let waiting = "GET /defer HTTP/1.1\r\nHost: a\r\n\r\n"

@Test func `a deferred request learns once that its client has left`() async throws {
  let server = try TestServer()
  let count = Mutex(0)
  var client: Client? = try server.client()
  try client?.send(waiting)
  let responder = try await server.handler.nextResponder()
  responder.whenClientLeaves { count.withLock { $0 += 1 } }
  server.settle()
  #expect(count.withLock { $0 } == 0)
  client?.resetOnClose()
  client = nil
  try await eventually { server.server.connectionCount == 0 }
  server.settle()
  #expect(count.withLock { $0 } == 1)
  // A callback that is registered later runs at once.
  responder.whenClientLeaves { count.withLock { $0 += 10 } }
  #expect(count.withLock { $0 } == 11)
  responder.respond(Response(status: .ok))
  responder.whenClientLeaves { count.withLock { $0 += 100 } }
  #expect(count.withLock { $0 } == 11)
}

@Test func `a response may come in pieces, and its sender learns that the client has left`() async throws {
  let server = try TestServer()
  let hasLeft = Mutex(false)
  let client = try server.client()
  // A request pipelined after it gets no response.
  try client.send(waiting + waiting)
  let responder = try await server.handler.nextResponder()
  responder.whenClientFinishes { hasLeft.withLock { $0 = true } }
  responder.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst".utf8))
  #expect(try client.answer().content == "first")
  responder.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond".utf8))
  #expect(try client.answer().content == "second")
  server.settle()
  #expect(!hasLeft.withLock { $0 } && server.handler.handled.load(ordering: .relaxed) == 1)
  client.finish()
  try await eventually { hasLeft.withLock { $0 } }
  responder.closeUnanswered()
  try await eventually { server.server.connectionCount == 0 }
  responder.send([0x78])
  server.settle()
}

@Test func `a response in pieces ends with its connection`() async throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(waiting)
  let responder = try await server.handler.nextResponder()
  responder.send(Array("HTTP/1.1 200 OK\r\n\r\none".utf8))
  responder.send(Array(", two".utf8))
  responder.closeUnanswered()
  responder.send([0x78])
  #expect(try client.readToEnd() == "HTTP/1.1 200 OK\r\n\r\none, two")
}

@Test func `a finished request learns nothing when its client leaves`() async throws {
  let server = try TestServer()
  let hasLeft = Mutex(false)
  var client: Client? = try server.client()
  try client?.send(waiting)
  let responder = try await server.handler.nextResponder()
  responder.whenClientLeaves { hasLeft.withLock { $0 = true } }
  responder.respond(Response(status: .ok))
  #expect(try client?.answer().status == 200)
  client = nil
  try await eventually { server.server.connectionCount == 0 }
  server.settle()
  #expect(!hasLeft.withLock { $0 })
}

@Test
func
  `requests without clients count until they are answered, and no more may wait than connections are open`()
  async throws
{
  let server = try TestServer(limits: ServerLimits(connections: 2))
  var left: [Responder] = []
  for _ in 0..<2 {
    var client: Client? = try server.client()
    try client?.send(waiting)
    left.append(try await server.handler.nextResponder())
    client?.resetOnClose()
    client = nil
    try await eventually { server.server.connectionCount == 0 }
  }
  let client = try server.client()
  try client.send(waiting)
  #expect(try client.answer().status == 503)
  left[0].respond(Response(status: .ok))
  try client.send(waiting)
  try await server.handler.nextResponder().respond(Response(status: .ok))
  #expect(try client.answer().status == 200)
  // A deferred request that is dropped without a response no longer counts either.
  left = []
  for _ in 0..<2 {
    let other = try server.client()
    try other.send(waiting)
    try await server.handler.nextResponder().respond(Response(status: .ok))
    #expect(try other.answer().status == 200)
    other.finish()
    #expect(try other.readToEnd() == "")
  }
}

@Test func `a client that has finished writing keeps its place until another needs it`() async throws {
  let server = try TestServer(limits: ServerLimits(connections: 2))
  let hasLeft = Mutex(false)
  let first = try server.client()
  try first.send(waiting)
  let responder = try await server.handler.nextResponder()
  responder.whenClientLeaves { hasLeft.withLock { $0 = true } }
  #expect(!responder.mayClientHaveLeft)
  first.finish()
  let second = try server.client()
  try second.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
  #expect(try second.answer().status == 200)
  #expect(!hasLeft.withLock { $0 })
  #expect(responder.mayClientHaveLeft)
  // There is no room left, and the second client still sends, so the first may have left.
  let third = try server.client()
  try third.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
  #expect(try third.answer().status == 200)
  #expect(hasLeft.withLock { $0 })
  let fourth = try server.client()
  try fourth.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
  #expect(try fourth.answer().status == 503)
  try second.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
  #expect(try second.answer().status == 200)
}

@Test(arguments: [true, false])
func `a request that waits learns once that its client has finished writing, or has left`(onlyFinishes: Bool)
  async throws
{
  let server = try TestServer()
  let count = Mutex(0)
  var client: Client? = try server.client()
  try client?.send(waiting)
  let responder = try await server.handler.nextResponder()
  responder.whenClientFinishes { count.withLock { $0 += 1 } }
  server.settle()
  #expect(count.withLock { $0 } == 0)
  if onlyFinishes {
    client?.finish()
  } else {
    client?.resetOnClose()
    client = nil
  }
  try await eventually { count.withLock { $0 } > 0 }
  // A callback that is registered later runs at once.
  responder.whenClientFinishes { count.withLock { $0 += 10 } }
  #expect(count.withLock { $0 } == 11)
  responder.respond(Response(status: .ok))
  if onlyFinishes { #expect(try client?.answer().status == 200) }
  client = nil
  try await eventually { server.server.connectionCount == 0 }
  #expect(count.withLock { $0 } == 11)
}

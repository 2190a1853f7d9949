// Tests of responses that clients do not read: the memory they cost, and which connections are closed to free
// it.

import HTTP
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(2))) struct UnreadResponseTests {
  /// A request, and one after which the connection closes.
  private func requests(_ path: String) -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\nGET /close HTTP/1.1\r\nHost: a\r\n\r\n"
  }

  /// Waits until `count` requests have been handled and their loops have turned.
  private func settle(_ server: TestServer, _ count: Int) async throws {
    try await eventually { server.handler.handled.load(ordering: .relaxed) >= count }
    server.settle()
  }

  /// Expects that a client gets the complete content, and the response after it.
  private func expectWhole(_ client: Client, _ content: [UInt8]) throws {
    let octets = try client.octetsToEnd()
    let head = try #require(octets.firstRange(of: Array("\r\n\r\n".utf8)))
    let rest = octets[head.upperBound...]
    #expect(Array(rest.prefix(content.count)) == content)
    #expect(rest.dropFirst(content.count).starts(with: "HTTP/1.1 200 OK\r\n".utf8))
    #expect(!client.isReset)
  }

  @Test func `a document that all clients share counts nothing, and comes whole to those who read`()
    async throws
  {
    let server = try TestServer(loops: 2)
    let clients = try (0..<20).map { _ in try server.client() }
    for client in clients { try client.send(requests("/document")) }
    try await settle(server, clients.count)
    #expect(server.server.unsentOctets == 0)
    // The requests after these wait.
    #expect(server.handler.handled.load(ordering: .relaxed) == clients.count)
    try expectWhole(clients[0], TestHandler.document.content)
    try expectWhole(clients[19], TestHandler.document.content)
  }

  @Test func `beyond the limit, the connection without progress for longest is closed`() async throws {
    let limit = 30 << 20
    let server = try TestServer(limits: ServerLimits(unsentOctets: limit), loops: 2)
    var clients: [Client] = []
    // The kernel's buffers take a part of each response.
    while server.server.connectionCount == clients.count, clients.count < 60 {
      clients.append(try server.client())
      try clients[clients.count - 1].send(requests("/own"))
      try await settle(server, clients.count)
      #expect(server.server.unsentOctets > 0)
      #expect(server.server.unsentOctets <= limit)
    }
    #expect(clients.count < 60)
    try await clients[0].end()
    #expect(clients[0].isReset)
    try expectWhole(clients[clients.count - 1], TestHandler.document.content)
  }

  @Test func `what a client has read, or left, counts no more`() async throws {
    let server = try TestServer()
    let reader = try server.client()
    try reader.send(requests("/own"))
    try await settle(server, 1)
    #expect(server.server.unsentOctets > 0)
    try expectWhole(reader, TestHandler.document.content)
    #expect(server.server.unsentOctets == 0)
    var leaver: Client? = try server.client()
    try leaver?.send(requests("/own"))
    try await settle(server, 3)
    #expect(server.server.unsentOctets > 0)
    leaver?.resetOnClose()
    leaver = nil
    try await eventually { server.server.unsentOctets == 0 }
  }
}

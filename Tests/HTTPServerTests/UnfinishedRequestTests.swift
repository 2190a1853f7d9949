// Tests of requests that clients do not finish: the memory they hold, and which connections are closed to
// free it.

import HTTP
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.serialized, .timeLimit(.minutes(2))) struct UnfinishedRequestTests {
  /// A request without its last bytes.
  private func part(_ octets: Int) -> String {
    "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n" + String(repeating: "x", count: octets)
  }

  /// Waits until the number of held bytes satisfies a condition, and the loops have turned.
  private func settle(_ server: TestServer, until isDone: (Int) -> Bool) async throws {
    try await eventually {
      server.settle()
      return isDone(server.server.unfinishedOctets)
    }
  }

  @Test(arguments: [
    "GET /a HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 10_000))",
    "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n\(String(repeating: "x", count: 10_000))",
    "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n\(String(repeating: "x", count: 10_000))",
    // After a request that waits.
    "GET /defer HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 10_000))",
  ])
  func `heads, content, chunks and pipelined requests count until their client leaves`(text: String)
    async throws
  {
    let server = try TestServer()
    var client: Client? = try server.client()
    try client?.send(text)
    try await settle(server) { $0 >= 10_000 }
    #expect(server.server.unfinishedOctets < 40_000)
    client?.resetOnClose()
    client = nil
    try await settle(server) { $0 == 0 }
  }

  @Test func `a request that is finished, or refused, counts no more`() async throws {
    let server = try TestServer()
    let client = try server.client()
    try client.send(part(50_000))
    try await settle(server) { $0 > 0 }
    try client.send(String(repeating: "x", count: 10_000))
    #expect(try client.answer().content == "/p 60000")
    server.settle()
    #expect(server.server.unfinishedOctets == 0)
    try client.send("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 10_000))")
    try await settle(server) { $0 > 0 }
    try client.send("\r\n \r\n\r\n")
    #expect(try client.answer().status == 400)
    server.settle()
    #expect(server.server.unfinishedOctets == 0)
  }

  @Test func `beyond the limit, the connection that received its last octet longest ago is closed`()
    async throws
  {
    let limit = 300_000
    let server = try TestServer(limits: ServerLimits(unfinishedOctets: limit))
    let clients = try (0..<4).map { _ in try server.client() }
    for (index, client) in clients.enumerated() {
      try client.send(part(50_000))
      try await settle(server) { $0 >= 50_000 * (index + 1) }
    }
    #expect(server.server.connectionCount == 4)
    // The first client continues, so the second has been silent the longest.
    try clients[0].send("x")
    let before = server.server.unfinishedOctets
    let late = try server.client()
    try late.send(part(50_000))
    try await clients[1].end()
    #expect(try clients[1].octetsToEnd().isEmpty)
    #expect(before <= limit && server.server.unfinishedOctets <= limit)
    // The other requests are served once they are complete.
    try clients[0].send(String(repeating: "x", count: 9_999))
    #expect(try clients[0].answer().content == "/p 60000")
    for client in [clients[2], clients[3], late] {
      try client.send(String(repeating: "x", count: 10_000))
      #expect(try client.answer().content == "/p 60000")
    }
    #expect(server.server.unfinishedOctets == 0)
  }

  @Test func `many clients that send and stop never hold more than the limit`() async throws {
    let limit = 1 << 20
    let server = try TestServer(limits: ServerLimits(unfinishedOctets: limit), loops: 2)
    var clients: [Client] = []
    for _ in 0..<100 {
      clients.append(try server.client())
      try clients[clients.count - 1].send(part(50_000))
      #expect(server.server.unfinishedOctets <= limit)
    }
    try await clients[0].end()
    #expect(try server.client().answerOfOwn() == "/a 0")
    // The last connection was not closed to free memory for others.
    try clients[99].send(String(repeating: "x", count: 10_000))
    #expect(try clients[99].answer().content == "/p 60000")
  }
}

extension Client {
  /// The content of the response to a request that fits into one segment.
  fileprivate func answerOfOwn() throws -> String {
    try send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
    return try answer().content
  }
}

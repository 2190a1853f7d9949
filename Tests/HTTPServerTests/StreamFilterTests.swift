// Tests of a filter, such as TLS, between a connection and its socket.

import HTTP
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// A filter that inverts every bit after a greeting. On the wire, byte 0xFF ends it, 0xFE makes it fail, and
/// 0xFD is a client that does not use it.
private final class Inverter: StreamFilter {
  private var isGreeted = false
  var isEstablished: Bool { isGreeted }
  var heldOctets: Int { 0 }

  func receive(_ octets: Span<UInt8>, plain: inout [UInt8], wire: inout [UInt8]) -> StreamFilterState {
    for i in octets.indices {
      if !isGreeted {
        isGreeted = true
        wire += Array("hello".utf8)
        continue
      }
      switch octets[i] {
      case 0xFF: return .ended
      case 0xFE:
        wire += Array("alert".utf8)
        return .failed
      case 0xFD: return .clear
      default: plain.append(~octets[i])
      }
    }
    return .open
  }

  func send(_ plain: [UInt8], wire: inout [UInt8]) {
    if isGreeted { wire += plain.map { ~$0 } }
  }
  func finish(wire: inout [UInt8]) { wire += Array("bye".utf8) }
}

/// A filter that always waits for the rest of a record.
private final class Holder: StreamFilter {
  var isEstablished: Bool { true }
  var heldOctets: Int { 9000 }

  func receive(_ octets: Span<UInt8>, plain: inout [UInt8], wire: inout [UInt8]) -> StreamFilterState {
    .open
  }
  func send(_ plain: [UInt8], wire: inout [UInt8]) {}
  func finish(wire: inout [UInt8]) {}
}

private func inverted(_ text: String) -> [UInt8] { text.utf8.map { ~$0 } }

@Test func `a filter stands between the octets and the network in both directions`() async throws {
  let server = try TestServer { _ in Inverter() }
  let client = try server.client()
  try client.send([0])
  try await eventually {
    server.settle()
    return client.hears(within: 10)
  }
  try client.send(inverted("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /close HTTP/1.1\r\nHost: a\r\n\r\n"))
  client.finish()
  let octets = try client.octetsToEnd()
  #expect(octets.starts(with: "hello".utf8))
  #expect(octets.suffix(3).elementsEqual("bye".utf8))
  let text = String(decoding: octets.dropFirst(5).dropLast(3).map { ~$0 }, as: UTF8.self)
  #expect(text.hasPrefix("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"))
  #expect(text.contains("/1 0HTTP/1.1 200 OK"))
  #expect(text.hasSuffix("Connection: close\r\n\r\n"))
}

@Test func `a filter's end is the end of input`() throws {
  let server = try TestServer { _ in Inverter() }
  let client = try server.client()
  try client.send([0] + inverted("GET /1 HT") + [0xFF])
  let text = String(decoding: try client.octetsToEnd().dropFirst(5).map { ~$0 }, as: UTF8.self)
  #expect(text.hasPrefix("HTTP/1.1 400 "))
}

@Test func `a filter that fails has its say and ends the connection`() throws {
  let server = try TestServer { _ in Inverter() }
  let client = try server.client()
  try client.send([0] + inverted("GET /1 HTTP/1.1\r\nHost: a\r\n") + [0xFE])
  client.finish()
  #expect(try client.octetsToEnd() == Array("helloalertbye".utf8))
  #expect(server.handler.handled.load(ordering: .relaxed) == 0)
}

@Test func `a client without the filter gets one response in the clear`() throws {
  let server = try TestServer(filter: { _ in Inverter() }, filteredFields: ["Strict": "yes"])
  let client = try server.client()
  try client.send([0, 0xFD])
  client.finish()
  let text = String(decoding: try client.octetsToEnd(), as: UTF8.self)
  #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
  #expect(text.hasSuffix("\r\n\r\nunfiltered"))
  #expect(!text.contains("Strict"), "what is said of filtered answers is no one else's")
  #expect(server.handler.handled.load(ordering: .relaxed) == 0)
}

@Test func `filtered answers carry their own fields, and plain ones do not`() throws {
  let request = "GET /close HTTP/1.1\r\nHost: a\r\n\r\n"
  let filtered = try TestServer(filter: { _ in Inverter() }, filteredFields: ["Strict": "yes", "B": "c"])
  let client = try filtered.client()
  try client.send([0] + inverted(request))
  client.finish()
  let text = String(decoding: try client.octetsToEnd().map { ~$0 }, as: UTF8.self)
  #expect(text.contains("\r\nStrict: yes\r\nB: c\r\nConnection: close\r\n\r\n"))
  let plain = try TestServer(filteredFields: ["Strict": "yes"])
  let other = try plain.client()
  try other.send(request)
  other.finish()
  #expect(try !other.readToEnd().contains("Strict"))
}

@Test func `a filter's end waits for the answer that is put off`() async throws {
  let server = try TestServer { _ in Inverter() }
  let client = try server.client()
  try client.send([0] + inverted("GET /defer HTTP/1.1\r\nHost: a\r\n\r\n") + [0xFF])
  let responder = try await server.handler.nextResponder()
  responder.respond(Response(status: .ok, content: Array("late".utf8)))
  // The client keeps its side open, so only the filter ends the connection.
  let octets = try client.octetsToEnd()
  #expect(String(decoding: octets.dropFirst(5).dropLast(3).map { ~$0 }, as: UTF8.self).hasSuffix("late"))
  #expect(octets.suffix(3).elementsEqual("bye".utf8))
}

@Test func `a filter's end does not cut off answers that the client has yet to read`() throws {
  let server = try TestServer { _ in Inverter() }
  let client = try server.client()
  let count = 2_000
  let request = inverted("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
  try client.send([0])
  // Requests followed by the end, with far more responses than the kernel can buffer, and nothing read
  // meanwhile.
  var octets = Array(repeating: request, count: count).flatMap { $0 }
  octets.append(0xFF)
  try client.send(octets)
  let text = String(decoding: try client.octetsToEnd().dropFirst(5).map { ~$0 }, as: UTF8.self)
  #expect(text.split(separator: "HTTP/1.1 200 OK\r\n").count == count)
}

@Test func `a client that waits too long hears the filter's end`() throws {
  let server = try TestServer(limits: ServerLimits(idleTimeout: .milliseconds(20))) { _ in Inverter() }
  let client = try server.client()
  try client.send([0] + inverted("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"))
  #expect(try client.octetsToEnd().suffix(3).elementsEqual("bye".utf8))
}

@Test func `one client too many gets 503 after its request, through the filter`() async throws {
  let server = try TestServer(limits: ServerLimits(connections: 1)) { _ in Inverter() }
  let first = try server.client()
  try first.send([0])
  try await eventually {
    server.settle()
    return first.hears(within: 10)
  }
  let second = try server.client()
  #expect(!second.hears(within: 50), "nothing is said before the client has spoken")
  try second.send([0] + inverted("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"))
  second.finish()
  let text = String(decoding: try second.octetsToEnd().dropFirst(5).dropLast(3).map { ~$0 }, as: UTF8.self)
  #expect(text.hasPrefix("HTTP/1.1 503 "))
  #expect(server.handler.handled.load(ordering: .relaxed) == 0)
  try first.send(inverted("GET /close HTTP/1.1\r\nHost: a\r\n\r\n"))
  first.finish()
  #expect(
    String(decoding: try first.octetsToEnd().dropFirst(5).map { ~$0 }, as: UTF8.self).hasPrefix(
      "HTTP/1.1 200 "))
}

@Test func `what one connection can no longer send never reaches the next`() throws {
  let server = try TestServer { _ in Inverter() }
  for _ in 0..<3 {
    let client = try server.client()
    // The filter has made its greeting, but the handler closes the connection before it is sent.
    try client.send([0] + inverted("GET /abandon HTTP/1.1\r\nHost: a\r\n\r\n"))
    #expect(try client.octetsToEnd() == [])
  }
  let next = try server.client()
  try next.send([0])
  next.finish()
  #expect(try next.octetsToEnd() == Array("hellobye".utf8))
}

@Test func `clients that never finish their handshakes give way, and finished ones stay`()
  async throws
{
  let server = try TestServer(
    limits: ServerLimits(handshakes: 2, handshakeProtection: .zero, headerTimeout: .seconds(60))
  ) { _ in Inverter() }
  var finished: [Client] = []
  for _ in 0..<3 {
    let client = try server.client()
    try client.send([0])
    try await eventually {
      server.settle()
      return client.hears(within: 10)
    }
    finished.append(client)
  }
  let silent = try (0..<5).map { _ in try server.client() }
  for client in silent.prefix(3) { #expect(try client.octetsToEnd() == []) }
  for client in silent.suffix(2) {
    try client.send([0])
    client.finish()
    #expect(try client.octetsToEnd() == Array("hellobye".utf8))
  }
  for client in finished {
    try client.send(inverted("GET /close HTTP/1.1\r\nHost: a\r\n\r\n"))
    client.finish()
    let text = String(decoding: try client.octetsToEnd().dropFirst(5).map { ~$0 }, as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 200 "))
  }
}

@Test(arguments: [[0], [0, 0xFD], []] as [[UInt8]])
func `honest clients wait for each other's handshakes, and none is ended`(first: [UInt8]) throws {
  let server = try TestServer(
    limits: ServerLimits(handshakes: 1, handshakeProtection: .seconds(600), headerTimeout: .seconds(60))
  ) { _ in Inverter() }
  let early = try server.client()
  server.settle()
  let late = try server.client()
  try late.send([0])
  #expect(!late.hears(within: 50), "there is room for one")
  #expect(!early.hears(within: 1), "and it is not ended")
  // The first client completes the greeting, speaks without the filter, or leaves. Then the next has its
  // turn.
  if first.isEmpty { early.finish() } else { try early.send(first) }
  late.finish()
  #expect(try late.octetsToEnd() == Array("hellobye".utf8))
}

@Test func `a shared document goes through a filter in pieces, whole and in order`() async throws {
  let server = try TestServer { _ in Inverter() }
  // The filter processes only what a client may still read: 4 MB each.
  let clients = try (0..<4).map { _ in try server.client() }
  for client in clients {
    try client.send(
      [0] + inverted("GET /document HTTP/1.1\r\nHost: a\r\n\r\nGET /close HTTP/1.1\r\nHost: a\r\n\r\n"))
  }
  try await eventually { server.handler.handled.load(ordering: .relaxed) >= clients.count }
  server.settle()
  #expect(server.server.unsentOctets <= clients.count * 17_000)
  let octets = try clients[1].octetsToEnd().dropFirst(5).dropLast(3).map { ~$0 }
  let head = try #require(octets.firstRange(of: Array("\r\n\r\n".utf8)))
  let content = TestHandler.document.content
  #expect(Array(octets[head.upperBound...].prefix(content.count)) == content)
  #expect(octets[head.upperBound...].dropFirst(content.count).starts(with: "HTTP/1.1 200 OK\r\n".utf8))
}

@Test func `what a filter holds of a record counts until its client leaves`() async throws {
  let server = try TestServer { _ in Holder() }
  var client: Client? = try server.client()
  try client?.send([0])
  try await eventually {
    server.settle()
    return server.server.unfinishedOctets >= 9000
  }
  client?.resetOnClose()
  client = nil
  try await eventually {
    server.settle()
    return server.server.unfinishedOctets == 0
  }
}

import HTTP
import HTTPServer
import Platform
import Synchronization
import Testing

/// Turns every bit round, after a greeting; octet 0xFF on the wire is its end, 0xFE its failure.
private final class Inverter: StreamFilter {
  private var isGreeted = false

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
      default: plain.append(~octets[i])
      }
    }
    return .open
  }

  func send(_ plain: [UInt8], wire: inout [UInt8]) { wire += plain.map { ~$0 } }
  func finish(wire: inout [UInt8]) { wire += Array("bye".utf8) }
}

private func inverted(_ text: String) -> [UInt8] { text.utf8.map { ~$0 } }

@Test func `a filter stands between the octets and the network in both directions`() throws {
  let server = try TestServer { Inverter() }
  let client = try server.client()
  try client.send([0])
  while !client.hears(within: 10) { server.settle() }
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
  let server = try TestServer { Inverter() }
  let client = try server.client()
  try client.send([0] + inverted("GET /1 HT") + [0xFF])
  let text = String(decoding: try client.octetsToEnd().dropFirst(5).map { ~$0 }, as: UTF8.self)
  #expect(text.hasPrefix("HTTP/1.1 400 "))
}

@Test func `a filter that fails has its say and ends the connection`() throws {
  let server = try TestServer { Inverter() }
  let client = try server.client()
  try client.send([0] + inverted("GET /1 HTTP/1.1\r\nHost: a\r\n") + [0xFE])
  client.finish()
  #expect(try client.octetsToEnd() == Array("helloalertbye".utf8))
  #expect(server.handler.handled.load(ordering: .relaxed) == 0)
}

import Gate
import HTTP
import Platform
import Testing

@testable import Gateway

/// Whose address a request has, whatever clients and proxies write into `X-Forwarded-For`.
@Suite struct ClientAddressTests {
  private static let proxy = "10.0.0.7"

  /// - Parameter lines: The field's lines, from the first.
  private func resolve(_ lines: [String], hops: Int = 1, peer: String = proxy) throws -> String {
    let address = ClientAddress(trusted: [try CIDR("10.0.0.0/8")], hops: hops)
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    let fields = lines.map { "X-Forwarded-For: \($0)\r\n" }.joined()
    let octets = Array("GET /access HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8)
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { throw NoRequest() }
    return address.resolve(request, peer: try #require(IPAddress(peer))).description
  }

  private struct NoRequest: Error {}

  @Test(arguments: [
    "203.0.113.9", "203.0.113.9:4711", " 203.0.113.9\t", "192.0.2.99, 203.0.113.9", "a, b, c,203.0.113.9",
    ",,,203.0.113.9", "10.0.0.8, 203.0.113.9",
  ]) func `the proxy's own entry counts, whatever stands before it`(line: String) throws {
    #expect(try resolve([line]) == "203.0.113.9")
  }

  @Test func `several lines are one list, and the last entry is the proxy's`() throws {
    #expect(try resolve(["192.0.2.99", "junk", "203.0.113.9"]) == "203.0.113.9")
    #expect(try resolve(["192.0.2.99, 203.0.113.9", "10.0.0.8"], hops: 2) == "203.0.113.9")
  }

  @Test(arguments: ["[2001:db8::1]", "[2001:db8::1]:4711", "2001:db8::1"])
  func `an address of version 6 stands alone or in brackets`(entry: String) throws {
    #expect(try resolve([entry]) == "2001:db8::1")
  }

  @Test func `nothing is believed from anybody else`() throws {
    #expect(try resolve(["203.0.113.9"], peer: "198.51.100.7") == "198.51.100.7")
    #expect(try resolve(["203.0.113.9"], hops: 0) == Self.proxy)
  }

  /// It must not be taken from further left, where the client writes: that would choose what rules and limits see.
  @Test(arguments: [
    "", "203.0.113.9,", "203.0.113.9, unknown", "203.0.113.9, _hidden", "203.0.113.9, 1.2.3",
    "203.0.113.9, 1.2.3.4.5", "203.0.113.9, 1.2.3.4:x", "203.0.113.9, 1.2.3.4:99999",
    "203.0.113.9, 2001:db8::1]:80", "203.0.113.9, [::1", "203.0.113.9; 192.0.2.1",
  ]) func `where the proxy's entry is no address, the request is the proxy's own`(line: String) throws {
    #expect(try resolve([line]) == Self.proxy)
  }

  @Test func `fewer entries than proxies make the request the proxy's own`() throws {
    #expect(try resolve(["203.0.113.9"], hops: 2) == Self.proxy)
    #expect(try resolve([]) == Self.proxy)
  }
}

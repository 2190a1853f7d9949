// Tests of how the server finds a client's IP address behind proxies that it trusts.

import Gate
import HTTP
import Platform
import TestSupport
import Testing

@testable import Callers

/// The address that a request is attributed to, whatever clients and proxies write into `X-Forwarded-For`.
@Suite struct ClientAddressTests {
  private static let proxy = "10.0.0.7"

  /// - Parameter lines: The field's lines, from the first.
  private func resolve(_ lines: [String], hops: Int = 1, peer: String = proxy) throws -> String {
    let address = ClientAddress(trusted: [try CIDR("10.0.0.0/8")], hops: hops)
    let request = try Self.request(lines.map { Array($0.utf8) })
    return address.resolve(request, peer: try #require(IPAddress(peer))).description
  }

  private static func request(_ lines: [[UInt8]]) throws -> Request {
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    var octets = Array("GET /access HTTP/1.1\r\nHost: a\r\n".utf8)
    for line in lines { octets += Array("X-Forwarded-For: ".utf8) + line + Array("\r\n".utf8) }
    octets += Array("\r\n".utf8)
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { throw NoRequest() }
    return request
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

  @Test func `X-Forwarded-For of other peers is ignored`() throws {
    #expect(try resolve(["203.0.113.9"], peer: "198.51.100.7") == "198.51.100.7")
    #expect(try resolve(["203.0.113.9"], hops: 0) == Self.proxy)
  }

  // MARK: Proxies that are not trusted

  /// The untrusted proxies that are reported after requests from some peers, each with these lines of
  /// `X-Forwarded-For`.
  private func untrusted(
    _ requests: [(peer: String, lines: [String])], trusted: [String] = ["10.0.0.0/8"], hops: Int = 1
  ) throws -> String? {
    let address = ClientAddress(trusted: try trusted.map { try CIDR($0) }, hops: hops)
    for (peer, lines) in requests {
      let request = try Self.request(lines.map { Array($0.utf8) })
      _ = address.resolve(request, peer: try #require(IPAddress(peer)))
    }
    return address.untrusted.peer?.description
  }

  @Test(arguments: [
    "172.16.0.9", "192.168.1.1", "127.0.0.1", "169.254.1.1", "100.64.0.3", "::1", "fd00::7", "fe80::1",
  ]) func `a proxy in the same network that trusted_proxies does not cover is noticed`(peer: String) throws {
    #expect(try untrusted([(peer, ["203.0.113.9"])]) == peer)
    #expect(try untrusted([(peer, [""])], trusted: [], hops: 0) == peer)
  }

  @Test(arguments: [
    ("203.0.113.1", ["203.0.113.9"]), ("2001:db8::1", ["203.0.113.9"]), ("192.168.1.1", []),
    ("10.0.0.7", ["203.0.113.9"]), ("10.0.0.7", []),
  ]) func `clients, peers without the header and trusted proxies are not noticed`(
    peer: String, lines: [String]
  ) throws {
    #expect(try untrusted([(peer, lines)]) == nil)
    #expect(try untrusted([(peer, lines)], hops: 0) == nil)
  }

  @Test func `the first proxy that is not trusted is remembered`() throws {
    #expect(
      try untrusted([
        ("203.0.113.1", ["192.0.2.1"]), ("192.168.1.1", []), ("192.168.1.2", ["192.0.2.1"]),
        ("192.168.1.3", ["192.0.2.1"]),
      ]) == "192.168.1.2")
  }

  /// The address must not come from further left, which the client controls: it could choose what rules and
  /// limits see.
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

  /// Each of these forms one `Character` with the comma after it (UAX #29, GB9b), or with the digits before
  /// it.
  @Test(arguments: [
    "\u{600}", "\u{605}", "\u{6DD}", "\u{70F}", "\u{890}", "\u{8E2}", "\u{D4E}", "\u{110BD}", "\u{301}",
    "\u{200D}",
    "\u{1F1FA}", "\u{FE0F}",
  ])
  func `no character of the client's swallows the proxy's comma`(character: String) throws {
    #expect(try resolve(["192.0.2.99\(character), 203.0.113.9"]) == "203.0.113.9")
    #expect(try resolve(["192.0.2.99\(character),203.0.113.9:4711"]) == "203.0.113.9")
    #expect(try resolve(["192.0.2.99\(character)", "203.0.113.9"]) == "203.0.113.9")
    #expect(try resolve(["192.0.2.99,\(character)203.0.113.9"]) == Self.proxy)
  }

  /// Entries that a proxy or a client may write, and the address that each means; nil for none.
  private static let written: [(octets: [UInt8], address: String?)] = [
    ("203.0.113.9", "203.0.113.9"), ("203.0.113.10:80", "203.0.113.10"), ("2001:db8::5", "2001:db8::5"),
    ("[2001:db8::6]", "2001:db8::6"), ("[2001:db8::7]:443", "2001:db8::7"), ("unknown", nil), ("", nil),
    (":", nil),
    ("[", nil), ("[]", nil), ("1.2.3.4:+80", nil), ("1.2.3.4:65536", nil), ("1.2.3.4:", nil), ("[::1]x", nil),
    ("::1]", nil), ("203.0.113.9 203.0.113.9", nil), ("\"203.0.113.9\"", nil),
  ].map { (Array($0.0.utf8), $0.1) }

  /// Bytes beyond ASCII: complete characters and parts of them.
  private static let foreign: [[UInt8]] = [
    [0xD8, 0x80], [0xD8], [0x80], [0xFF], [0xF0, 0x9F, 0x87, 0xBA], [0xCC, 0x81], [0xE2, 0x80, 0x8D],
    [0xF0, 0x91, 0x82, 0xBD], [0xC2, 0xA0], [0xEF, 0xBC, 0x8C],
  ]

  /// The test knows each entry's meaning because it wrote the entry. It does not parse anything.
  @Test func `whatever octets stand in the field, the entry counted from the right decides`() throws {
    var random = SeededGenerator(20_261_122)
    let peer = try #require(IPAddress(Self.proxy))
    for round in 0..<20_000 {
      var entries: [(octets: [UInt8], address: String?)] = []
      for _ in 0..<(1 + random.below(5)) {
        var entry = random.one(of: Self.written)
        if random.chance(40) {
          entry.address = nil
          for _ in 0..<(1 + random.below(3)) {
            entry.octets.insert(
              contentsOf: random.one(of: Self.foreign), at: random.below(entry.octets.count + 1))
          }
        }
        let blanks = [[], [0x20], [0x09, 0x20]] as [[UInt8]]
        entry.octets = random.one(of: blanks) + entry.octets + random.one(of: blanks)
        entries.append(entry)
      }
      var lines: [[UInt8]] = [entries[0].octets]
      for entry in entries.dropFirst() {
        if random.chance(50) {
          lines.append(entry.octets)
        } else {
          lines[lines.count - 1] += [0x2C] + entry.octets
        }
      }
      let hops = 1 + random.below(4)
      let expected = entries.count >= hops ? entries[entries.count - hops].address : nil
      let found = ClientAddress(trusted: [try CIDR("10.0.0.0/8")], hops: hops)
        .resolve(try Self.request(lines), peer: peer).description
      guard found == expected ?? Self.proxy else {
        Issue.record("round \(round), \(hops) hops: \(lines) gives \(found), not \(expected ?? Self.proxy)")
        return
      }
    }
  }

  /// A backward search by `Character` would take quadratic time here: at least 40 ms for each field.
  @Test func `a long field of flags takes no more time than other octets`() throws {
    let address = ClientAddress(trusted: [try CIDR("10.0.0.0/8")], hops: 1)
    let peer = try #require(IPAddress(Self.proxy))
    let flags = [UInt8](repeatElement([0xF0, 0x9F, 0x87, 0xBA], count: 3_800).joined())
    let request = try Self.request([flags])
    let time = ContinuousClock().measure {
      for _ in 0..<50 { #expect(address.resolve(request, peer: peer) == peer) }
    }
    #expect(time < .seconds(1))
  }
}

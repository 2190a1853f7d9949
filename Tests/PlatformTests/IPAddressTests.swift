// Tests of IP addresses in bytes, and of loopback addresses.

import Platform
import Testing

@Test(arguments: [
  ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::", "::"),
  ("::1", "::1"), ("2001:DB8:0:0:8:800:200C:417A", "2001:db8::8:800:200c:417a"),
  ("::ffff:192.0.2.1", "192.0.2.1"),
  ("::FFFF:c000:0201", "192.0.2.1"), ("fe80::1", "fe80::1"), ("::192.0.2.1", "::c000:201"),
]) func `an address is read and written in its usual form`(text: String, canonical: String) throws {
  let address = try #require(IPAddress(text))
  #expect(address.description == canonical)
  #expect(IPAddress(canonical) == address)
}

@Test(arguments: [
  "", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\0", "0x7f.1",
  "a.b.c.d", ":",
  ":::", "1::2::3", "fe80::1%eth0", "[::1]", "12345::", "::1/128", "1.2.3.4:80",
  "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
]) func `what is no address is refused`(text: String) { #expect(IPAddress(text) == nil) }

@Test func `the longest run of zeros is shortened wherever it is`() throws {
  for zeros in 0..<256 {
    let groups = (0..<8).map { zeros >> $0 & 1 == 1 ? 0 : 0xA000 >> ($0 * 2) | 1 }
    // RFC 5952 §4.2: the longest run of at least two groups; the first, if several are equally long.
    let runs = (0..<8).flatMap { start in (start + 2..<10).map { start..<$0 } }
      .filter { $0.upperBound <= 8 && $0.allSatisfy { groups[$0] == 0 } }
    let best = runs.max { ($0.count, -$0.lowerBound) < ($1.count, -$1.lowerBound) }
    func text(_ range: Range<Int>) -> String {
      range.map { String(groups[$0], radix: 16) }.joined(separator: ":")
    }
    let expected = best.map { text(0..<$0.lowerBound) + "::" + text($0.upperBound..<8) } ?? text(0..<8)
    let address = IPAddress(
      v6High: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) },
      low: groups[4...].reduce(0) { $0 << 16 | UInt64($1) })
    #expect(address.description == expected)
    #expect(IPAddress(expected) == address)
  }
}

@Test func `every number of an IPv4 address is written in full`() {
  for number: UInt32 in 0...255 {
    let address = IPAddress(v4: number << 24 | (255 - number) << 16 | number << 8 | 7)
    #expect(address.description == "\(number).\(255 - number).\(number).7")
  }
}

@Test func `the octets of an address stand in network order`() throws {
  #expect(try #require(IPAddress("192.0.2.1")).octets == [192, 0, 2, 1])
  #expect(
    try #require(IPAddress("2001:db8::1")).octets == [
      0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
    ])
}

@Test(arguments: [
  ("10.1.2.3", "10.0.0.0", 8, true), ("11.1.2.3", "10.0.0.0", 8, false), ("10.1.2.3", "10.1.2.2", 31, true),
  ("10.1.2.3", "10.1.2.2", 32, false), ("10.1.2.3", "10.1.2.3", 32, true), ("1.2.3.4", "200.0.0.0", 0, true),
  ("2001:db8::1", "2001:db8::", 32, true), ("2001:db9::1", "2001:db8::", 32, false),
  ("2001:db8::1", "2001:db8::2", 126, true), ("2001:db8::1", "2001:db8::2", 127, false),
  ("2001:db8:0:1::", "2001:db8::", 63, true), ("2001:db8:0:1::", "2001:db8::", 64, false),
  ("2001:db8::8000:0:0:0", "2001:db8::", 64, true), ("2001:db8::8000:0:0:0", "2001:db8::", 65, false),
  ("::1", "fe80::", 0, true), ("::1", "::1", 128, true), ("10.0.0.1", "::", 0, false),
  ("::ffff:10.1.2.3", "10.0.0.0", 8, true), ("10.1.2.3", "10.1.2.3", 99, true),
]) func `a prefix is compared bit by bit`(address: String, prefix: String, length: Int, matches: Bool) throws
{
  let address = try #require(IPAddress(address))
  let prefix = try #require(IPAddress(prefix))
  #expect(address.hasPrefix(prefix, length: length) == matches)
}

@Test func `loopback is known in both versions`() throws {
  for text in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"] {
    #expect(try #require(IPAddress(text)).isLoopback)
  }
  for text in ["128.0.0.1", "126.255.255.255", "::2", "::", "0.0.0.0", "1::1"] {
    #expect(try !#require(IPAddress(text)).isLoopback)
  }
}

@Test(arguments: [
  // The first and last address of each block, and their neighbors.
  ("127.0.0.0", true), ("126.255.255.255", false), ("127.255.255.255", true), ("128.0.0.0", false),
  ("10.0.0.0", true), ("9.255.255.255", false), ("10.255.255.255", true), ("11.0.0.0", false),
  ("172.16.0.0", true), ("172.15.255.255", false), ("172.31.255.255", true), ("172.32.0.0", false),
  ("192.168.0.0", true), ("192.167.255.255", false), ("192.168.255.255", true), ("192.169.0.0", false),
  ("169.254.0.0", true), ("169.253.255.255", false), ("169.254.255.255", true), ("169.255.0.0", false),
  ("100.64.0.0", true), ("100.63.255.255", false), ("100.127.255.255", true), ("100.128.0.0", false),
  ("::1", true), ("::", false), ("::2", false), ("1::1", false),
  ("fc00::", true), ("fbff:ffff::", false), ("fdff:ffff::", true), ("fe00::", false),
  ("fe80::", true), ("fe7f:ffff::", false), ("febf:ffff::", true), ("fec0::", false),
  ("::ffff:10.1.2.3", true), ("::ffff:203.0.113.9", false), ("::10.1.2.3", false),
  ("203.0.113.9", false), ("2001:db8::1", false), ("0.0.0.0", false),
]) func `an address is internal if no other site can have it`(text: String, isInternal: Bool) throws {
  #expect(try #require(IPAddress(text)).isInternal == isInternal)
}

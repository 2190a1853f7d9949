// Tests of IP addresses, networks and the rule that admits clients by address.

import Gate
import Platform
import Testing

@testable import Documents

struct AddressTests {
  @Test(arguments: [
    ("203.0.113.9", "203.0.113.9"), ("0.0.0.0", "0.0.0.0"), ("::", "::"), ("::1", "::1"),
    ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
    ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:C000:0201", "192.0.2.1"),
    ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
    ("fe80::", "fe80::"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
  ])
  func `an address is read and written in its one form`(_ text: String, _ canonical: String) throws {
    #expect(try #require(IPAddress(text)).description == canonical)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "1.2.3.-4", ":", ":::", "1::2::3",
    "12345::", "::g",
    "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1%eth0", "[::1]", "::1.2.3", "1.2.3.4::",
    "1:",
  ])
  func `anything else is no address`(_ text: String) { #expect(IPAddress(text) == nil) }

  @Test func `a mapped address is the IPv4 address it stands for`() throws {
    #expect(IPAddress(v6High: 0, low: 0xFFFF_C000_0201) == IPAddress("192.0.2.1"))
    #expect(IPAddress("2001:db8:1:2:3:4:5:6")?.client == IPAddress("2001:db8:1:2::"))
  }

  @Test(arguments: [
    ("203.0.113.0/24", "203.0.113.255", true), ("203.0.113.0/24", "203.0.114.0", false),
    ("203.0.113.9", "203.0.113.9", true), ("203.0.113.9", "203.0.113.8", false),
    ("10.0.0.0/8", "10.255.0.1", true),
    ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
    ("2001:db8::/64", "2001:db8:0:0:ffff::", true), ("2001:db8::8/127", "2001:db8::9", true),
    ("2001:db8::8/127", "2001:db8::a", false), ("::ffff:10.0.0.0/104", "10.1.2.3", true),
    ("::ffff:10.0.0.0/104", "11.1.2.3", false), ("10.0.0.0/8", "::a00:1", false),
  ])
  func `a network holds the addresses that begin like it`(
    _ network: String, _ address: String, _ inside: Bool
  ) throws {
    #expect(try CIDR(network).contains(#require(IPAddress(address))) == inside)
  }

  @Test(arguments: [
    "203.0.113.0/33", "203.0.113.9/24", "1.2.3.4/", "/8", "1.2.3.0/024", "::/129", "10.0.0.0/8/8", "x",
  ])
  func `a malformed network is refused`(_ text: String) { #expect(throws: Refusal.self) { try CIDR(text) } }

  @Test(arguments: ["0.0.0.0/0", "128.0.0.0/1", "2.0.0.0/7", "::/0", "2000::/3", "::ffff:0.0.0.0/96"])
  func `a network of half the Internet is refused`(_ text: String) {
    #expect(throws: Refusal.self) { try AddressesRule(allow: [text]) }
  }

  @Test func `the most specific network decides, and an unknown address is denied`() throws {
    func allows(_ text: String?, _ rule: AddressesRule) throws -> Bool {
      let policy = try Policy(rules: [Rule(name: "office", kind: .addresses(rule))])
      var facts = Facts.request()
      facts.address = text.flatMap { IPAddress($0) }
      return policy.decide(facts, states: FetchedStates()).denial == nil
    }
    let rule = try AddressesRule(allow: ["10.0.0.0/8", "10.1.2.3", "fc00::/7"], deny: ["10.1.0.0/16"])
    #expect(try allows("10.2.0.1", rule))
    #expect(try !allows("10.1.0.1", rule))
    #expect(try allows("10.1.2.3", rule))
    #expect(try allows("fd00::1", rule))
    #expect(try !allows("192.0.2.1", rule))
    #expect(try !allows(nil, rule))
    #expect(try allows("192.0.2.1", AddressesRule(deny: ["10.0.0.0/8"])))
    #expect(try !allows(nil, AddressesRule(deny: ["10.0.0.0/8"])))
    #expect(throws: Refusal.self) { try AddressesRule() }
  }
}

import Testing

@testable import Upstream

@Suite struct IPAddressTests {
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("::", "::"), ("::1", "::1"),
    ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
  ])
  func `an address has one normal form`(text: String, normal: String) {
    #expect(IPAddress(text)?.description == normal)
  }

  @Test(arguments: [
    "", "127.1", "1.2.3.4.5", "01.2.3.4", "0x7f.0.0.1", "256.0.0.1", "1.2.3.4 ", "::1%lo", "[::1]", ":::",
  ])
  func `anything else is no address`(text: String) {
    #expect(IPAddress(text) == nil)
  }

  @Test(arguments: [
    ("10.1.2.3", "10.0.0.0", 8, true), ("11.1.2.3", "10.0.0.0", 8, false),
    ("192.168.5.129", "192.168.5.128", 25, true), ("192.168.5.127", "192.168.5.128", 25, false),
    ("1.2.3.4", "9.9.9.9", 0, true), ("1.2.3.4", "1.2.3.4", 32, true), ("1.2.3.5", "1.2.3.4", 32, false),
    ("1.2.3.4", "1.2.3.4", 33, false), ("1.2.3.4", "1.2.3.4", -1, false),
    ("2001:db8::1", "2001:db8::", 32, true), ("2001:db9::1", "2001:db8::", 32, false),
    ("2001:db8::1", "2001:db8::1", 128, true), ("::1", "0.0.0.1", 0, false),
  ])
  func `a network contains the addresses that share its prefix`(
    address: String, network: String, bits: Int, isInside: Bool
  ) throws {
    let address = try #require(IPAddress(address))
    let network = try #require(IPAddress(network))
    #expect(address.isIn(network, prefixLength: bits) == isInside)
  }
}

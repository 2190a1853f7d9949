import Testing

@testable import Gateway

@Suite struct ScalarTextTests {
  @Test(arguments: [
    ("0s", Duration.zero), ("500ms", .milliseconds(500)), ("10s", .seconds(10)), ("1m", .seconds(60)),
    ("1h", .seconds(3600)), ("30d", .seconds(30 * 86_400)),
    ("99999999999d", .seconds(99_999_999_999 * 86_400)),
  ])
  func `a duration is digits and a unit`(_ text: String, _ expected: Duration) {
    #expect(DurationText.parse(text) == expected)
  }

  @Test(arguments: [
    "", "s", "10", "1.5s", "-1s", "+1s", " 1s", "1 s", "1S", "1w", "1ss", "1m30s", "٣s", "9999999999999s",
  ])
  func `anything else is no duration`(_ text: String) {
    #expect(DurationText.parse(text) == nil)
  }

  @Test(arguments: ["0s", "1ms", "1500ms", "1s", "90s", "2m", "1h", "36h", "30d"])
  func `a duration is written as it is read`(_ text: String) {
    #expect(DurationText.parse(text).map(DurationText.text) == text)
  }

  @Test func `every default is readable and within its own bounds`() throws {
    // The builder traps on a default it cannot read, so loading with nothing said reads them all.
    #expect(throws: Never.self) { try Fixture.load(environment: [:], for: .explain) }
    #expect(Settings.scalars.contains { $0.standard != nil })
  }

  @Test(arguments: [
    ("127.0.0.1", [127, 0, 0, 1]), ("0.0.0.0", [0, 0, 0, 0]), ("255.255.255.255", [255, 255, 255, 255]),
  ])
  func `an IPv4 address is four decimal numbers`(_ text: String, _ bytes: [UInt8]) {
    #expect(IPAddressText.bytes(of: text) == bytes)
    #expect(IPAddressText.text(of: bytes) == text)
  }

  @Test(arguments: [
    ("::", "::"), ("::1", "::1"), ("2001:DB8::1", "2001:db8::1"),
    ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
    ("::ffff:10.0.0.1", "::ffff:a00:1"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("fe80::", "fe80::"),
    ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
  ])
  func `an IPv6 address is written in the canonical form`(_ text: String, _ canonical: String) throws {
    let bytes = try #require(IPAddressText.bytes(of: text))
    #expect(bytes.count == 16)
    #expect(IPAddressText.text(of: bytes) == canonical)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "0x7f.0.0.1", "1.2.3.-4", "1.2.3.+4", "1.2.3.4 ",
    "localhost", ":",
    ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "::g", "fe80::1%eth0", "::1.2.3",
    "1.2.3.4::",
    "::+1", "1:2:3:4:5:6:7:8::",
  ])
  func `anything else is no address`(_ text: String) {
    #expect(IPAddressText.bytes(of: text) == nil)
  }

  @Test func `loopback is all of 127, ::1, and both mapped into the other`() {
    for text in ["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"] {
      #expect(IPAddressText.bytes(of: text).map(IPAddressText.isLoopback) == true)
    }
    for text in ["0.0.0.0", "128.0.0.1", "::", "::2", "::ffff:10.0.0.1", "fe80::1"] {
      #expect(IPAddressText.bytes(of: text).map(IPAddressText.isLoopback) == false)
    }
  }

  @Test func `a network holds exactly its addresses`() throws {
    let network = try IPNetwork.read("10.32.0.0/11")
    #expect(network.contains([10, 32, 0, 0]))
    #expect(network.contains([10, 63, 255, 255]))
    #expect(!network.contains([10, 64, 0, 0]))
    #expect(!network.contains([10, 31, 255, 255]))
    #expect(network.contains([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 32, 0, 1]), "mapped into IPv6")
    #expect(try IPNetwork.read("0.0.0.0/0").contains([1, 2, 3, 4]))
    #expect(!(try IPNetwork.read("::/0").contains([1, 2, 3, 4])))
    #expect(try IPNetwork.read("1.2.3.4").prefixLength == 32)
    #expect(try IPNetwork.read("2001:db8::/33").description == "2001:db8::/33")
  }

  @Test(arguments: [
    "https://a", "https://a.b-c.example/x/y?z=1", "HTTPS://a/", "https://10.0.0.1:8443/",
    "https://[2001:db8::1]/",
    "http://localhost:1/", "http://127.0.0.1/", "http://[::1]:99/x",
  ])
  func `a URL is https, or http to this machine`(_ text: String) throws {
    #expect(try URLText.complete(text) == text)
  }

  @Test(arguments: [
    "", "a", "/a", "https:", "https://", "https:///x", "http://a/", "http://10.0.0.1/", "http://[::2]/",
    "http://localhost.example/", "http://127.0.0.1.example/", "https://u@a/", "https://u:p@a/",
    "https://a/#x", "https://a b/",
    "https://a/\u{e4}", "https://a:/", "https://a:0/", "https://a:65536/", "https://a:+1/", "https://-a/",
    "https://a..b/",
    "https://2130706433/", "https://0x7f.1/", "https://[::1/", "https://[::g]/", "https://[127.0.0.1]/",
    "https://a/\\b", "https://a\"/",
    "ftp://a/", "javascript:alert(1)", "https://[::1]x/",
  ])
  func `anything else is refused without being shown`(_ text: String) {
    do throws(Refusal) {
      _ = try URLText.complete(text)
      Issue.record("taken: \(text)")
    } catch {
      #expect(text.isEmpty || text == "a" || !error.message.contains(text))
    }
  }

  @Test(arguments: [
    ("+18500000000", true), ("+12345678", true), ("+1234567", true), ("+123456", false),
    ("+123456789012345", true), ("+1234567890123456", false), ("18500000000", false), ("+0850000000", false),
    ("+1 850 000", false), ("+", false), ("", false), ("+1850000000٠", false),
  ])
  func `a telephone number is a plus and up to fifteen digits`(_ text: String, _ isNumber: Bool) {
    #expect(((try? PhoneNumberText.read(text)) != nil) == isNumber)
  }

  @Test func `a misspelt name finds the one that was meant, and a strange one finds none`() {
    let names = ["account", "region", "client_id", "key_id", "key_algorithm"]
    #expect(Spelling.nearest(to: "acount", among: names) == "account")
    #expect(Spelling.nearest(to: "reigon", among: names) == "region")
    #expect(Spelling.nearest(to: "clientId", among: names) == "client_id")
    #expect(Spelling.nearest(to: "key-algorithm", among: names) == "key_algorithm")
    #expect(Spelling.nearest(to: "password", among: names) == nil)
    #expect(Spelling.nearest(to: "", among: names) == nil)
  }

  @Test func `a value is shown on one line, cut, and without control characters`() {
    #expect(quoted("a\nb\t\"\u{1B}[31m\u{202E}") == "\"a\\nb\\t\\\"\\u{1b}[31m\\u{202e}\"")
    #expect(quoted(String(repeating: "x", count: 65)) == "\"" + String(repeating: "x", count: 64) + "…\"")
  }
}

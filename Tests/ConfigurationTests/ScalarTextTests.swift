// Tests of how single values such as durations, URLs and addresses are read.

import Documents
import Testing

@testable import Configuration
@testable import RoomSupport

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
    // The builder traps on a default that it cannot read, so loading an empty configuration reads all
    // defaults.
    #expect(throws: Never.self) { try Fixture.load(environment: [:], for: .explain) }
    #expect(Settings.scalars.contains { $0.standard != nil })
  }

  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1", true), ("localhost", "127.0.0.1", true), ("[::1]", "::1", true),
    ("::1", "::1", true), ("0.0.0.0", "0.0.0.0", false), ("2001:DB8:0::1", "2001:db8::1", false),
    ("::ffff:127.0.0.1", "127.0.0.1", true),
  ])
  func `an address to listen on is an address, or localhost`(text: String, host: String, isLoopback: Bool)
    throws
  {
    let address = try ListenAddress.read(text)
    #expect(address.host == host)
    #expect(address.isLoopback == isLoopback)
  }

  @Test(arguments: ["", "example.com", "[127.0.0.1]", "[::1", "127.1", "1.2.3.4:80", "0x7f.0.0.1"])
  func `anything else is refused`(text: String) {
    #expect(throws: Refusal.self) { try ListenAddress.read(text) }
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
    "https://a/\u{e4}", "https://a/\u{200B}", "https://a:/", "https://a:0/", "https://a:65536/",
    "https://a:+1/", "https://-a/",
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
    "https://shop.example", "https://shop.example:8443", "http://localhost:3000", "http://[::1]:99",
    "capacitor://localhost", "ionic://localhost", "tauri://localhost", "http://tauri.localhost",
    "https://tauri.localhost", "chrome-extension://abcdefghijklmnop", "x.y+z-1://app.example:443",
  ])
  func `the origin of a web page or of an app's web view is listed as it is sent`(_ text: String) throws {
    #expect(try URLText.origin(text) == text)
  }

  @Test(arguments: [
    "null", "*", "file://", "capacitor://", "capacitor:localhost", "capacitor://localhost/",
    "1app://localhost",
    "app_1://localhost", "Capacitor://localhost", "capacitor://Localhost", "app://u:canary@localhost",
    "http://shop.example", "http://localhost.example", "http://notlocalhost", "https://shop.example:443",
  ])
  func `anything else is no origin, and the fix shows one without a path`(_ text: String) throws {
    let refusal = #expect(throws: Refusal.self) { try URLText.origin(text) }
    #expect(refusal?.message.contains("canary") == false)
    #expect(refusal?.remedy.contains("PATH") == false)
  }

  @Test(arguments: [
    ("+18500000000", true), ("+12345678", true), ("+1234567", true), ("+123456", true), ("+12345", false),
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
    #expect(Spelling.nearest(to: "\u{A0}\u{A0}account\u{200B}", among: names) == "account")
  }

  @Test func `a value is shown on one line, cut, and without control characters`() {
    #expect(quoted("a\nb\t\"\u{1B}[31m\u{202E}") == "\"a\\nb\\t\\\"<U+001B>[31m<U+202E>\"")
    #expect(quoted(String(repeating: "x", count: 65)) == "\"" + String(repeating: "x", count: 64) + "…\"")
  }
}

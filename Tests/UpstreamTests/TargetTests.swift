// Tests of which URLs the transport accepts.

import Testing

@testable import Upstream

@Suite struct TargetTests {
  @Test(arguments: [
    (
      "https://api.example.com/v1/x?y=z&w", "api.example.com", 443, "/v1/x", "?y=z&w",
      "https://api.example.com/v1/x?y=z&w"
    ),
    ("HTTPS://API.Example.COM", "api.example.com", 443, "/", "", "https://api.example.com/"),
    ("https://example.com.", "example.com", 443, "/", "", "https://example.com/"),
    ("https://example.com:443/", "example.com", 443, "/", "", "https://example.com/"),
    ("https://example.com:8443/", "example.com", 8443, "/", "", "https://example.com:8443/"),
    ("https://example.com?a", "example.com", 443, "/", "?a", "https://example.com/?a"),
    ("https://example.com/a/../b//c", "example.com", 443, "/a/../b//c", "", "https://example.com/a/../b//c"),
    ("https://example.com/?a=/?@:", "example.com", 443, "/", "?a=/?@:", "https://example.com/?a=/?@:"),
    (
      "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", "",
      "https://xn--bcher-kva.example/"
    ),
    ("https://under_score.example/", "under_score.example", 443, "/", "", "https://under_score.example/"),
    ("https://192.0.2.1/", "192.0.2.1", 443, "/", "", "https://192.0.2.1/"),
    ("https://[2001:DB8:0:0::1]:99/", "2001:db8::1", 99, "/", "", "https://[2001:db8::1]:99/"),
    ("http://localhost:8080/a", "localhost", 8080, "/a", "", "http://localhost:8080/a"),
    ("http://127.0.0.1/", "127.0.0.1", 80, "/", "", "http://127.0.0.1/"),
    ("http://127.255.0.9:80/", "127.255.0.9", 80, "/", "", "http://127.255.0.9/"),
    ("http://[::1]:1/", "::1", 1, "/", "", "http://[::1]:1/"),
    ("http://[0:0:0:0:0:0:0:1]/", "::1", 80, "/", "", "http://[::1]/"),
    ("http://[::ffff:127.0.0.1]/", "127.0.0.1", 80, "/", "", "http://127.0.0.1/"),
  ])
  func `a URL comes apart and together again`(
    url: String, host: String, port: UInt16, path: String, query: String, normal: String
  ) throws {
    let target = try Target(url)
    #expect(target.host == host)
    #expect(target.port == port)
    #expect(target.path == path)
    #expect(target.query == query)
    #expect(target.url == normal)
    #expect(try Target(normal) == target)
  }

  @Test(arguments: [
    // Schemes and shape.
    "", "https", "https:", "https:/", "https://", "https:///", "//example.com/", "/path", "example.com",
    "ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1/", "javascript:alert(1)",
    " https://example.com/",
    "https ://example.com/", "https:\\\\example.com/",
    // Plain HTTP to other machines.
    "http://example.com/", "http://128.0.0.1/", "http://10.0.0.1/", "http://169.254.169.254/",
    "http://0.0.0.0/",
    "http://[::]/", "http://[::2]/", "http://[::ffff:10.0.0.1]/", "http://localhost.example.com/",
    "http://127.0.0.1.example.com/", "http://notlocalhost/",
    // User information.
    "https://user@example.com/", "https://user:password@example.com/", "https://@example.com/",
    "https://example.com@evil.example/", "http://127.0.0.1@evil.example/",
    "http://localhost:80@evil.example/",
    // Addresses in other notations.
    "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/",
    "http://127.0.0.01/", "https://127.0.0.1.1/", "https://1.2.3/", "https://example.1/",
    "https://[127.0.0.1]/", "https://[1.2.3.4]:5/",
    "https://[::1", "https://::1/", "https://[fe80::1%25eth0]/", "https://[::1]x/", "https://[]/",
    // Hosts.
    "https://exa mple.com/", "https://exa%6dple.com/", "https://-a.example/", "https://a-.example/",
    "https://a..example/", "https://.example/", "https://b\u{fc}cher.example/", "https://exa\u{0}mple.com/",
    // Ports.
    "https://example.com:/", "https://example.com:0/", "https://example.com:65536/",
    "https://example.com:+443/",
    "https://example.com:443x/", "https://example.com:99999999999999999999/", "https://example.com:4:5/",
    // Characters that must be escaped, and fragments.
    "https://example.com/#fragment", "https://example.com#", "https://example.com/a b",
    "https://example.com/\r\nX: y",
    "https://example.com/\\", "https://example.com/\u{e9}", "https://example.com/\"<>`{|}^",
    "https://example.com/\u{7f}",
  ])
  func `a URL that is more or less than needed is refused`(url: String) {
    #expect(throws: Target.Refusal.self) { try Target(url) }
  }

  @Test func `a label has 63 octets, a name 253 and a URL 8192 at most`() throws {
    let label = String(repeating: "a", count: 63)
    _ = try Target("https://\(label).example/")
    #expect(throws: Target.Refusal.self) { try Target("https://\(label)a.example/") }
    let name = "\(label).\(label).\(label).\(String(repeating: "a", count: 61))"
    _ = try Target("https://\(name)/")
    #expect(throws: Target.Refusal.self) { try Target("https://\(name)a/") }
    let start = "https://example.com/"
    _ = try Target(start + String(repeating: "a", count: 8192 - start.utf8.count))
    #expect(throws: Target.Refusal.self) {
      try Target(start + String(repeating: "a", count: 8193 - start.utf8.count))
    }
  }

  @Test func `an origin is scheme, host and port, and no more`() throws {
    #expect(try Target("https://example.com/a?b").origin == Target("HTTPS://Example.com:443/c").origin)
    #expect(try Target("https://127.0.0.1/").origin != Target("http://127.0.0.1:443/").origin)
    #expect(try Target("https://example.com/").origin != Target("https://example.com:444/").origin)
  }
}

// Tests of how proxy settings are read from the environment.

import Testing

@testable import Upstream

@Suite struct ProxySettingsTests {
  private func proxy(_ variables: [String: String], for url: String = "https://example.com/") throws
    -> String?
  {
    try ProxySettings(environment: variables).proxy(for: Target(url))?.url
  }

  @Test(arguments: [
    ("proxy.example", "http://proxy.example:1080"), ("proxy.example:3128", "http://proxy.example:3128"),
    ("http://proxy.example:3128/", "http://proxy.example:3128"),
    ("HTTP://Proxy.Example:80", "http://proxy.example:80"),
    ("https://proxy.example", "https://proxy.example:443"), ("socks5://10.0.0.1", "socks5://10.0.0.1:1080"),
    ("socks5h://proxy.example:9", "socks5h://proxy.example:9"),
    ("socks://proxy.example", "socks4://proxy.example:1080"),
    ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128"), ("[::1]", "http://[::1]:1080"),
    ("http://user:pass@proxy.example:3128", "http://proxy.example:3128"),
  ])
  func `a proxy's address is read as curl reads it`(value: String, url: String) throws {
    #expect(try proxy(["https_proxy": value]) == url)
  }

  @Test func `a proxy's credential is taken out and decoded`() throws {
    let proxy = try #require(Proxy("http://us%65r:p%40s:s%2F@proxy.example"))
    #expect(proxy.user == "user")
    #expect(proxy.password == "p@s:s/")
    #expect(Proxy("http://user@proxy.example")?.password == nil)
    #expect(Proxy("http://a@b:c@proxy.example")?.user == "a@b")
  }

  @Test(arguments: [
    "ftp://proxy.example", "http://", "http://proxy.example/path", "http://proxy.example?x", "proxy example",
    "http://proxy.example:0", "http://proxy.example:99999", "http://%zz@proxy.example",
    "http://a%0d@proxy.example",
    "http://%+f@proxy.example", "http://%ff@proxy.example", "socks6://proxy.example",
  ])
  func `a proxy that cannot be meant is refused by its variable's name, without its value`(value: String)
    throws
  {
    let error = try #require(throws: ProxySettings.Malformed.self) {
      try ProxySettings(environment: ["HTTPS_PROXY": value])
    }
    #expect(error.variable == "HTTPS_PROXY")
    #expect(!error.description.contains(value))
  }

  @Test func `the variables have curl's order, and empty ones do not count`() throws {
    let all = ["https_proxy": "a", "HTTPS_PROXY": "b", "all_proxy": "c", "ALL_PROXY": "d"]
    var left = all
    for (name, host) in [("https_proxy", "a"), ("HTTPS_PROXY", "b"), ("all_proxy", "c"), ("ALL_PROXY", "d")] {
      #expect(try proxy(left) == "http://\(host):1080")
      left[name] = ""
    }
    #expect(try proxy(left) == nil)
    #expect(try proxy(["http_proxy": "a", "HTTP_PROXY": "b"]) == nil)
    #expect(try proxy(["https_proxy": "a", "NO_PROXY": "*", "no_proxy": "other.example"]) == "http://a:1080")
    #expect(try proxy(["https_proxy": "a", "NO_PROXY": "example.com"]) == nil)
  }

  @Test(arguments: [
    "http://localhost/", "https://localhost/", "https://127.0.0.1/", "https://127.9.9.9/", "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
  ])
  func `loopback is never reached through a proxy`(url: String) throws {
    #expect(try proxy(["https_proxy": "a", "http_proxy": "a", "all_proxy": "a"], for: url) == nil)
  }

  @Test(arguments: [
    ("example.com", "https://example.com/", true), ("example.com", "https://a.b.example.com/", true),
    (".example.com", "https://example.com/", true), (".example.com", "https://a.example.com/", true),
    ("example.com.", "https://example.com/", true), ("EXAMPLE.com", "https://example.COM/", true),
    ("example.com", "https://notexample.com/", false),
    ("example.com", "https://example.com.evil.example/", false),
    ("a.example, example.com", "https://example.com/", true),
    ("a.example example.com", "https://example.com/", true),
    ("*", "https://example.com/", true), ("a.example,*", "https://example.com/", false),
    ("*.example.com", "https://a.example.com/", false),
    ("192.0.2.1", "https://192.0.2.1/", true), ("192.0.2.1", "https://192.0.2.2/", false),
    ("192.0.2.0/24", "https://192.0.2.7/", true), ("192.0.2.0/24", "https://192.0.3.7/", false),
    ("2001:db8::/32", "https://[2001:db8::7]/", true), ("[2001:db8::7]", "https://[2001:db8::7]/", true),
    ("192.0.2.0/x", "https://192.0.2.0/", false), ("192.0.2.0/+24", "https://192.0.2.0/", false),
    ("2.1", "https://192.0.2.1/", false), ("", "https://example.com/", false),
    (",. ,", "https://example.com/", false),
  ])
  func `no_proxy lists names with what is below them, addresses and networks`(
    list: String, url: String, isDirect: Bool
  ) throws {
    #expect(try (proxy(["https_proxy": "a", "no_proxy": list], for: url) == nil) == isDirect)
  }
}

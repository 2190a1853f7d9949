// Tests of which hosts and ports are valid in a request.

import Testing

@testable import HTTP

private func isValid(_ text: String) -> Bool {
  let octets = octets(text)
  return Authority.isValid(octets.span, 0..<octets.count)
}

@Test(arguments: [
  "a", "a.example", "EXAMPLE.com", "a.example.", "foo-bar_baz.com", "a:80", "a:", "a:0", "a:65535", "1.2.3.4",
  "1.2.3.4:80",
  "xn--bcher-kva.example", "%41b", "[::]", "[::1]", "[::1]:8080", "[1::]", "[1:2:3:4:5:6:7:8]",
  "[::2:3:4:5:6:7:8]",
  "[1:2:3:4:5:6:7::]", "[2001:DB8::a:b]", "[::ffff:192.0.2.1]", "[1:2:3:4:5:6:1.2.3.4]", "[1::1.2.3.4]:",
]) func `a host that is one is taken`(text: String) { #expect(isValid(text)) }

@Test(arguments: [
  "", ":", ":80", ".", "..a", "a..b", ".a", "a b", "a,b", "a@b", "a/b", "a?b", "a#b", "a\\b", "a^b", "a\"b",
  "{", "<b>",
  "%", "%4", "%zz", "a%", "a%4@evil", "a%4/b", "a%@4b", "a%4", "a%.4", "\u{FF}", "a\u{0}", "a:-1", "a:+1",
  "a:8x", "a:65536", "a:99999999999999999999",
  "a:80:80", "::1",
  "[::1", "::1]", "[::1]x", "[::1].", "x[::1]", "[]", "[:]", "[:::]", "[1::2::3]", "[1:2:3:4:5:6:7]",
  "[1:2:3:4:5:6:7:8:9]",
  "[1:2:3:4:5:6:7:8::]", "[::1:2:3:4:5:6:7:8]", "[12345::]", "[g::]", "[::1%eth0]", "[v1.a]", "[1.2.3.4]",
  "[::1.2.3]",
  "[::1.2.3.256]", "[::1.2.3.04]", "[::1.2.3.4.5]", "[1:2:3:4:5:6:7:1.2.3.4]", "[1:]", "[:1]",
  "[::1.2.3.4:5]", "[::1..3]",
]) func `a host that is none is refused`(text: String) { #expect(!isValid(text)) }

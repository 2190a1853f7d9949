// Tests of which request IDs are accepted and how random ones look.

import HTTP
import Testing

@testable import HTTPServer

@Test(arguments: ["a", "A-b_c.9", String(repeating: "x", count: 128)]) func `a sane id is taken`(text: String)
{
  #expect(RequestID(text)?.description == text)
}

@Test(arguments: ["", " ", "a b", "a\n", "ü", "a/b", "a\0", String(repeating: "x", count: 129)])
func `an id that could harm a log or a field is not taken`(text: String) { #expect(RequestID(text) == nil) }

/// The ID that a request with this field value brings along.
private func ownID(_ value: String) throws -> String? {
  var (parser, request, offset) = (RequestParser(), Request(), 0)
  let octets = Array("GET / HTTP/1.1\r\nHost: a\r\nX-Request-ID: \(value)\r\n\r\n".utf8)
  guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { return nil }
  return RequestID(of: request)?.description
}

@Test func `a request's own ID is used only if it is sane and not too long`() throws {
  let longest = String(repeating: "x", count: 128)
  #expect(try ownID("a") == "a" && ownID(longest) == longest)
  for value in ["", longest + "x", "a b", "a/b"] { #expect(try ownID(value) == nil) }
}

@Test func `random ids are 32 hexadecimal digits and differ`() {
  var generator = RequestIDGenerator()
  var seen: Set<String> = []
  for _ in 0..<10_000 {
    let text = RequestID(from: &generator).description
    #expect(text.utf8.count == 32 && text.allSatisfy { $0.isHexDigit && !$0.isUppercase })
    seen.insert(text)
  }
  #expect(seen.count == 10_000)
  #expect(RequestID() != RequestID())
}

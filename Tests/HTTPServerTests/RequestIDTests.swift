// Tests of which request IDs are accepted and how random ones look.

import Testing

@testable import HTTPServer

@Test(arguments: ["a", "A-b_c.9", String(repeating: "x", count: 128)]) func `a sane id is taken`(text: String)
{
  #expect(RequestID(text)?.description == text)
}

@Test(arguments: ["", " ", "a b", "a\n", "ü", "a/b", "a\0", String(repeating: "x", count: 129)])
func `an id that could harm a log or a field is not taken`(text: String) { #expect(RequestID(text) == nil) }

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

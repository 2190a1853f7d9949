// Tests of how the `Idempotency-Key` header is read.

import Testing

@testable import API
@testable import Callbacks

@Suite struct IdempotencyKeyTests {
  @Test(arguments: [
    ("abc", "abc"), ("\"abc\"", "abc"), ("\"a b, c;d\"", "a b, c;d"), (#""a\"b\\c""#, #"a"b\c"#),
    ("8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
    (String(repeating: "k", count: 255), String(repeating: "k", count: 255)),
  ]) func `bare and quoted are the same key`(value: String, text: String) throws {
    #expect(try IdempotencyKey.read(value)?.text == text)
  }

  @Test func `without a field there is no key`() throws {
    #expect(try IdempotencyKey.read(nil) == nil)
  }

  @Test(arguments: [
    "", "\"\"", "\"abc", "abc\"", "a b", "a,b", "a;b=1", "\"a\";b=1", #""a\nb""#, #""a\""#, "\"a\"b\"", "clé",
    "\"clé\"",
    "\u{7F}", "\"", String(repeating: "k", count: 256),
  ]) func `what cannot be understood is refused, not taken for none`(value: String) {
    #expect { try IdempotencyKey.read(value) } throws: {
      let problem = $0 as? Problem
      return problem?.code == .invalidRequest && problem?.fields.map(\.name) == ["Idempotency-Key"]
    }
  }
}

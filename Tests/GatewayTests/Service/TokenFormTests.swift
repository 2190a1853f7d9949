// Tests of when a token is returned as JSON and when as text.

import Testing

@testable import API
@testable import Gateway

@Suite struct TokenFormTests {
  @Test(arguments: [
    ([], TokenForm.text),
    (["*/*"], .text),
    (["text/plain"], .text),
    (["application/json"], .json),
    (["Application/JSON; charset=utf-8"], .json),
    (["application/json, text/plain, */*"], .json),
    (["text/plain, application/json;q=0.9"], .text),
    (["application/json;q=0.5, */*;q=0.1"], .json),
    (["application/json;q=0"], .text),
    (["text/html", "application/json"], .json),
    (["application/problem+json"], .text),
    (["application/json;q=2"], .json),
    // A combining character that merges with the comma after it in a Swift `Character`.
    (["text/html\u{600},application/json"], .json),
    (["text/html\u{600}", "application/json"], .json),
    ([",,;q=,"], .text),
  ])
  func `JSON is answered where it is asked for`(accept: [String], form: TokenForm) {
    #expect(TokenForm(accept: accept.map { Array($0.utf8)[...] }) == form)
  }
}

// Tests of how the emulator decodes form content.

import Testing

@testable import HTTP

@Suite struct FormTests {
  @Test func `a form is decoded`() throws {
    let form = try Form(decoding: Array("grant_type=client_credentials&scope=a%3Ab+c&x=%C3%A9".utf8))
    #expect(form["grant_type"] == "client_credentials")
    #expect(form["scope"] == "a:b c")
    #expect(form["x"] == "é")
    #expect(form["other"] == nil)
  }

  @Test func `a parameter without a value counts as left out`() throws {
    let form = try Form(decoding: Array("scope=&client_id&a=b".utf8))
    #expect(form["scope"] == nil)
    #expect(form["client_id"] == nil)
    #expect(form["a"] == "b")
  }

  @Test(arguments: [
    ("a=%", Form.Problem.malformedEscape), ("a=%4", .malformedEscape), ("a=%zz", .malformedEscape),
    ("a=%+1", .malformedEscape), ("a=b c", .unescapedOctet), ("a=é", .unescapedOctet),
    ("a=\n", .unescapedOctet),
    ("a=%FF", .notUTF8), ("a=%C3", .notUTF8), ("a=1&a=2", .duplicate("a")), ("a=1&%61=2", .duplicate("a")),
    ("a=&a=", .duplicate("a")),
  ])
  func `a form that needs leniency is refused`(text: String, problem: Form.Problem) {
    #expect(throws: problem) { try Form(decoding: Array(text.utf8)) }
  }

  @Test func `64 parameters are taken and 65 are not`() throws {
    let most = (0..<64).map { "p\($0)=1" }.joined(separator: "&")
    #expect(try Form(decoding: Array(most.utf8))["p63"] == "1")
    #expect(throws: Form.Problem.tooMany) { try Form(decoding: Array((most + "&last=1").utf8)) }
  }
}

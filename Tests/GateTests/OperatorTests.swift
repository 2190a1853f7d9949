// Tests of operators' names and roles.

import Testing

@testable import Gate

@Suite struct OperatorTests {
  @Test func `each role includes the ones before it`() {
    #expect(
      Operator.Role.read < .approve && Operator.Role.approve < .operate && !(Operator.Role.operate < .read))
  }

  @Test(arguments: [
    "a", "ann", "Ann B.", "ann@example.com", "Žofie", "王", String(repeating: "x", count: 64),
  ])
  func `visible characters with spaces inside are a name`(text: String) { #expect(Operator.isName(text)) }

  @Test(arguments: [
    "", " ", " ann", "ann ", "a\tb", "a\nb", "a\u{0}b", "a\u{202E}b", "a\u{200B}b", "a\u{A0}b", "a\u{2028}b",
    "\u{E000}",
    String(repeating: "x", count: 65),
  ])
  func `nothing else is`(text: String) { #expect(!Operator.isName(text)) }

  @Test func `a row without an operator, or with a proof of a later release, names none`() {
    #expect(Operator.Identity(name: "ann", by: "jwt") == Operator.Identity("ann", by: .jwt))
    #expect(
      Operator.Identity(name: nil, by: nil) == nil && Operator.Identity(name: "ann", by: "passkey") == nil)
  }
}

// Tests of the header lines that are passed to libcurl.

import HTTP
import Testing

@testable import Upstream

@Suite struct FieldLinesTests {
  private func lines(_ fields: Fields) throws -> [String] {
    try FieldLines.make(fields, userAgent: "callgate")
  }

  @Test func `fields keep their order and libcurl's own are left out`() throws {
    #expect(
      try lines(["B": "1", "A": "x: y", "B": "2"]) == [
        "B: 1", "A: x: y", "B: 2", "User-Agent: callgate", "Accept-Encoding: identity", "Accept:",
        "Content-Type:", "Expect:",
      ])
    #expect(
      try lines(["user-agent": "me", "ACCEPT": "a/b", "content-type": "c/d"]) == [
        "user-agent: me", "ACCEPT: a/b", "content-type: c/d", "Accept-Encoding: identity", "Expect:",
      ])
    #expect(
      try FieldLines.make(["accept-encoding": "gzip"], userAgent: "") == [
        "accept-encoding: gzip", "Accept:", "Content-Type:", "User-Agent:", "Expect:",
      ])
  }

  @Test func `an empty value is sent as one`() throws {
    #expect(try lines(["A": "", "B": " \t"]).prefix(2) == ["A;", "B;"])
  }

  @Test(arguments: ["", "A b", "A:", "A\r", "A\u{e9}", "@file", "A;"])
  func `a malformed name is refused`(name: String) {
    var fields = Fields()
    fields.append(name, "x")
    #expect(throws: Target.Refusal.self) { try lines(fields) }
  }

  @Test(arguments: ["a\r\nB: c", "a\nb", "a\rb", "a\u{0}b", "\u{7f}", "\u{1b}[0m"])
  func `a value with a control character is refused, and not shown`(value: String) throws {
    let refusal = try #require(throws: Target.Refusal.self) { try lines(["A": value]) }
    #expect(!refusal.detail.contains(value))
  }

  @Test(arguments: ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Expect", "TE", "Upgrade"])
  func `a name that is set by the transport itself is refused`(name: String) {
    var fields = Fields()
    fields.append(name, "x")
    #expect(throws: Target.Refusal.self) { try lines(fields) }
  }

  @Test func `a value may have tabs and characters beyond ASCII`() throws {
    #expect(try lines(["A": "a\tb \u{e9}"]).first == "A: a\tb \u{e9}")
  }
}

// Tests of which content types and encodings a callback request may have.

import Testing

@testable import API

@Suite struct JSONContentTests {
  @Test(arguments: [
    "application/json", "Application/JSON", "application/json; charset=utf-8",
    "application/json;charset=\"UTF-8\"",
    "application/json; profile=\"a;b\\\"c\"; charset=Utf-8", "application/json;",
  ]) func `JSON in UTF-8 is taken`(type: String) throws {
    try JSONContent.check(type: Array(type.utf8)[...])
  }

  @Test(arguments: [
    "", "text/json", "application/jsonp", "application/problem+json", "application/x-www-form-urlencoded",
    "text/plain", "application/json; charset=latin1", "application/json; charset=utf-8; charset=utf-8",
    "application/json; charset", "application/json; charset=", "application/json, text/plain",
    "application/json; charset=\"utf-8", "multipart/form-data; boundary=application/json", "json",
    "application /json", "application/json; =utf-8", "application/json; charset=\"utf-8\"x",
    // The character before the semicolon combines with it, and U+212A becomes K in lower case.
    "text/plain\u{600}; charset=utf-8", "application/json\u{600}",
    "application/json; charset=\"utf-8\u{600}\"",
  ]) func `everything else is not`(type: String) {
    #expect { try JSONContent.check(type: Array(type.utf8)[...]) } throws: {
      ($0 as? Problem)?.code == .unsupportedMediaType
    }
  }

  @Test func `a missing and an encoded type are refused`() {
    for (type, encodings) in [
      (nil, []), ("application/json", ["gzip"]), ("application/json", ["identity", "br"]),
    ] as [(String?, [String])] {
      let encodings = encodings.map { Array($0.utf8)[...] }
      #expect {
        try JSONContent.check(type: type.map { Array($0.utf8)[...] }, encodings: encodings)
      } throws: {
        ($0 as? Problem)?.code == .unsupportedMediaType
      }
    }
  }

  @Test(arguments: [
    ("", "", true), ("; charset=utf-8", "", true), (";charset=\"UTF-8\"", "identity", true),
    ("; charset=latin1", "", false), ("; charset=utf-8; charset=latin1", "", false), ("", "gzip", false),
    ("; charset", "", false),
  ]) func `a form is taken in UTF-8 and in no coding`(parameters: String, encoding: String, isTaken: Bool) {
    let type = Array("application/x-www-form-urlencoded\(parameters)".utf8)[...]
    let encodings = encoding.isEmpty ? [] : [Array(encoding.utf8)[...]]
    do throws(Problem) {
      #expect(try JSONContent.isForm(type: type, encodings: encodings) && isTaken)
    } catch {
      #expect(!isTaken && error.code == .unsupportedMediaType)
    }
  }
}

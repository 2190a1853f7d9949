import Testing

@testable import Gateway

@Suite struct JSONContentTests {
  @Test(arguments: [
    "application/json", "Application/JSON", "application/json; charset=utf-8",
    "application/json;charset=\"UTF-8\"",
    "application/json; profile=\"a;b\\\"c\"; charset=Utf-8", "application/json;",
  ]) func `JSON in UTF-8 is taken`(type: String) throws {
    try JSONContent.check(type: type)
  }

  @Test(arguments: [
    "", "text/json", "application/jsonp", "application/problem+json", "application/x-www-form-urlencoded",
    "text/plain", "application/json; charset=latin1", "application/json; charset=utf-8; charset=utf-8",
    "application/json; charset", "application/json; charset=", "application/json, text/plain",
    "application/json; charset=\"utf-8", "multipart/form-data; boundary=application/json", "json",
    "application /json", "application/json; =utf-8", "application/json; charset=\"utf-8\"x",
  ]) func `everything else is not`(type: String) {
    #expect { try JSONContent.check(type: type) } throws: {
      ($0 as? Problem)?.code == .unsupportedMediaType
    }
  }

  @Test func `a missing and an encoded type are refused`() {
    for (type, encodings) in [
      (nil, []), ("application/json", ["gzip"]), ("application/json", ["identity", "br"]),
    ] as [(String?, [String])] {
      #expect { try JSONContent.check(type: type, encodings: encodings) } throws: {
        ($0 as? Problem)?.code == .unsupportedMediaType
      }
    }
  }
}

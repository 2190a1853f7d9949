// Tests of which JSON texts the parser accepts, and where it refuses others.

import JSON
import Testing

private func parse(_ text: String, _ limits: JSONLimits = .default) throws(JSONError) -> JSONValue {
  try JSONValue(parsing: Array(text.utf8), limits: limits)
}

private func failure(_ bytes: [UInt8], _ limits: JSONLimits = .default) -> JSONError? {
  do {
    _ = try JSONValue(parsing: bytes, limits: limits)
    return nil
  } catch {
    return error
  }
}

/// A text, the byte at which it goes wrong, and why.
private let malformed: [(String, Int, JSONError.Reason)] = [
  ("", 0, JSONError.Reason.empty), ("  ", 2, .empty), ("\u{FEFF}{}", 0, .byteOrderMark),
  (#"{"a":1,"a":2}"#, 7, .duplicateName), (#"{"a":1,"\u0061":2}"#, 7, .duplicateName),
  (#"{"a":1 "b":2}"#, 7, .expectedComma), ("[1,]", 3, .expectedValue), ("[1", 2, .unterminated),
  (#"{"a" 1}"#, 5, .expectedColon), ("{a:1}", 1, .expectedName), (#"{"a":1,}"#, 7, .expectedName),
  ("1 2", 2, .trailingBytes), ("{}x", 2, .trailingBytes), ("tru", 3, .unterminated),
  ("trUe", 2, .expectedValue), ("01", 1, .invalidNumber), ("-", 1, .unterminated), ("+1", 0, .expectedValue),
  ("1.", 2, .unterminated), ("1.e1", 2, .invalidNumber), (".5", 0, .expectedValue), ("1e", 2, .unterminated),
  ("1e+", 3, .unterminated), ("-a", 1, .invalidNumber), ("NaN", 0, .expectedValue),
  ("0x1", 1, .trailingBytes),
  ("\"a\nb\"", 2, .controlInString), ("\"a\u{0}\"", 2, .controlInString), (#""\x""#, 1, .invalidEscape),
  (#""\u12G4""#, 5, .invalidEscape), (#""\u12"#, 5, .unterminated), (#""\"#, 2, .unterminated),
  (#""\uD800""#, 1, .loneSurrogate), (#""\uDC00""#, 1, .loneSurrogate),
  (#""\uD800\uD800""#, 1, .loneSurrogate),
  (#""\uD800x""#, 1, .loneSurrogate), ("\"abc", 4, .unterminated), ("'a'", 0, .expectedValue),
  ("[1]]", 3, .trailingBytes), ("[}", 1, .expectedValue), ("/* */ 1", 0, .expectedValue),
  ("\u{A0}1", 0, .expectedValue), ("\u{C}1", 0, .expectedValue),
]

@Suite struct JSONParserTests {
  @Test func `every kind of value is read`() throws {
    let value = try parse(#" { "a" : [ 1 , -2.5e+3 , true , false , null , "x" ] , "b" : { } , "c" : [ ] } "#)
    #expect(value["a"]?.array?.count == 6)
    #expect(value["a"]?.array?[0].int == 1)
    #expect(value["a"]?.array?[1].double == -2500)
    #expect(value["a"]?.array?[1].number?.text == "-2.5e+3")
    #expect(value["a"]?.array?[2] == true)
    #expect(value["a"]?.array?[4] == .null)
    #expect(value["a"]?.array?[5].string == "x")
    #expect(value["b"]?.object?.isEmpty == true)
    #expect(value["missing"] == nil)
    #expect(value["a"]?["not an object"] == nil)
    #expect(value.object?.members.map(\.name) == ["a", "b", "c"])
  }

  @Test(arguments: malformed)
  func `a malformed text is refused at its place`(text: String, offset: Int, reason: JSONError.Reason) {
    let error = failure(Array(text.utf8))
    #expect(error?.offset == offset)
    #expect(error?.reason == reason)
  }

  @Test(
    arguments: [
      [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0xAF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
      [0xF0, 0x80, 0x80, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xBF], [0xC3], [0xC3, 0x28], [0xE2, 0x82],
      [0xE2, 0x28, 0xA1], [0xF0, 0x9F, 0x98], [0xFF], [0xFE], [0xF8, 0x88, 0x80, 0x80, 0x80],
    ] as [[UInt8]])
  func `ill-formed UTF-8 is refused`(bytes: [UInt8]) {
    #expect(failure([0x22] + bytes + [0x22]) == failure([0x22] + bytes))
    #expect(failure([0x22] + bytes + [0x22])?.reason == .invalidUTF8)
    #expect(failure([0x22] + bytes + [0x22])?.offset == 1)
  }

  @Test func `the edges of every UTF-8 length are read`() throws {
    let edges: [Unicode.Scalar] = [
      "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
    ]
    for text in edges.map(String.init) {
      #expect(try parse("\"\(text)\"").string == text)
      #expect(try parse("\"\\n\(text)\"").string == "\n\(text)")
    }
  }

  @Test func `escapes are read`() throws {
    let value = try parse(#""\"\\\/\b\f\n\r\t\u0000\u00e9\u20AC\uD83D\uDE00""#)
    #expect(value.string == "\"\\/\u{8}\u{C}\n\r\t\0é€😀")
  }

  @Test func `each limit holds at n and refuses n + 1`() {
    let small = JSONLimits(bytes: 40, depth: 3, members: 2, values: 5)
    #expect(failure(Array("[[[]]]".utf8), small) == nil)
    #expect(failure(Array("[[[[]]]]".utf8), small)?.reason == .tooDeep)
    #expect(failure(Array(#"{"a":1,"b":2}"#.utf8), small) == nil)
    #expect(failure(Array(#"{"a":1,"b":2,"c":3}"#.utf8), small)?.reason == .tooManyMembers)
    #expect(failure(Array("[1,1,1,1]".utf8), small) == nil)
    #expect(failure(Array("[1,1,1,1,1]".utf8), small)?.reason == .tooManyValues)
    #expect(failure([UInt8](repeating: 0x20, count: 39) + [0x31], small) == nil)
    #expect(failure([UInt8](repeating: 0x20, count: 40) + [0x31], small)?.reason == .tooLong)
  }

  @Test func `a hundred thousand brackets end at the depth limit`() {
    let error = failure([UInt8](repeating: 0x5B, count: 100_000))
    #expect(error?.reason == .tooDeep)
    #expect(error?.offset == 32)
  }

  @Test func `depth counts what is open, not what was`() throws {
    let wide = "[" + Array(repeating: "[]", count: 100).joined(separator: ",") + "]"
    #expect(try parse(wide, JSONLimits(depth: 2)).array?.count == 100)
  }

  @Test func `a duplicate is found among many members too`() {
    let many = (0..<200).map { "\"n\($0)\":0" }.joined(separator: ",")
    #expect(failure(Array("{\(many)}".utf8)) == nil)
    for twin in [0, 7, 8, 9, 199] {
      #expect(failure(Array("{\(many),\"n\(twin)\":0}".utf8))?.reason == .duplicateName)
    }
  }

  @Test func `names that only look alike are two names`() throws {
    // Swift's own == calls these two equal.
    let value = try parse("{\"\u{E9}\":1,\"e\u{301}\":2}")
    #expect(value["\u{E9}"]?.int == 1)
    #expect(value["e\u{301}"]?.int == 2)
  }

  @Test func `an error never repeats the text`() {
    let error = failure(Array(#"{"secret-name":1,"secret-name":2}"#.utf8))
    #expect(error?.description == "byte 17: a member name appears twice")
  }
}

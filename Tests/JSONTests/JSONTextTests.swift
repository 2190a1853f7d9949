// Tests of how JSON is written.

import JSON
import Testing

@Suite struct JSONTextTests {
  private func written(_ text: String) -> String {
    var bytes: [UInt8] = []
    JSONText.append(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: [
    ("", #""""#), ("plain /", #""plain /""#),
    ("a\"b\\c", #""a\"b\\c""#), ("\u{8}\u{9}\u{A}\u{C}\u{D}", #""\b\t\n\f\r""#),
    ("\u{0}\u{1}\u{1F}\u{7F}", #""\u0000\u0001\u001f\u007f""#),
    ("\u{80}\u{9B}\u{9F}\u{A0}", "\"\\u0080\\u009b\\u009f\u{A0}\""),
    ("\u{2028}\u{2029}\u{2027}\u{202A}", "\"\\u2028\\u2029\u{2027}\u{202A}\""), ("é€😀", "\"é€😀\""),
  ])
  func `a string is escaped`(text: String, expected: String) {
    #expect(written(text) == expected)
  }

  @Test func `a character is escaped at every index of a short and a long text`() {
    for octet in UInt8(0)..<0x80 {
      let character = String(UnicodeScalar(octet))
      let escaped = written(character).dropFirst().dropLast()
      for length in 1...20 {
        for index in 0..<length {
          let before = String(repeating: "a", count: index)
          let after = String(repeating: "z", count: length - index - 1)
          #expect(written(before + character + after) == "\"\(before)\(escaped)\(after)\"")
        }
      }
    }
  }

  @Test(arguments: ["", "plain", "a\"b", "\u{0}\u{9F}\u{2028}é€😀", String(repeating: "\u{1}", count: 100)])
  func `a string is the same in memory that is reserved`(text: String) {
    let bytes = [UInt8](capacity: JSONText.mostOctets(text)) { JSONText.append(text, to: &$0) }
    #expect(String(decoding: bytes, as: UTF8.self) == written(text))
  }

  @Test func `every scalar survives writing and reading`() throws {
    for first in stride(from: UInt32(0), through: 0x10FFFF, by: 0x100) {
      let text = String(String.UnicodeScalarView((first..<first + 0x100).compactMap(Unicode.Scalar.init)))
      #expect(try JSONValue(parsing: JSONValue.string(text).serialized()) == .string(text))
    }
  }

  @Test func `the output is compact and keeps the order`() {
    let value: JSONValue = ["b": [1, 2.5, .null, true, false, "x"], "a": [:], "c": []]
    let text = String(decoding: value.serialized(), as: UTF8.self)
    #expect(text == #"{"b":[1,2.5,null,true,false,"x"],"a":{},"c":[]}"#)
    #expect(value.object?.serialized() == value.serialized())
  }
}

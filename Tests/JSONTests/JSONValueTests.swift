// Tests of JSON values: numbers, equality and access to members.

import JSON
import TestSupport
import Testing

@Suite struct JSONValueTests {
  @Test(
    arguments: [
      ("0", Int64(0)), ("-0", 0), ("9223372036854775807", .max), ("-9223372036854775808", .min),
      ("9223372036854775808", nil), ("-9223372036854775809", nil), ("18446744073709551616", nil),
      ("99999999999999999999999999", nil), ("1.0", nil), ("1e3", nil), ("1E0", nil),
      ("1234567890", 1_234_567_890),
    ] as [(String, Int64?)])
  func `an integer is exact or nil`(text: String, expected: Int64?) throws {
    #expect(try JSONValue(parsing: Array(text.utf8)).int == expected)
  }

  @Test func `an integer with bounds lies within them, or is nil, or is the nearest`() throws {
    for text in StrangeNumbers.texts {
      let value = try JSONValue(parsing: Array(text.utf8))
      for range in [0...10, .min ... .max, -5 ... -1] as [ClosedRange<Int64>] {
        #expect(value.int(in: range) == value.int.flatMap { range.contains($0) ? $0 : nil })
        if let clamped = value.int(clampedTo: range) { #expect(range.contains(clamped)) }
        #expect((value.int(clampedTo: range) == nil) == text.utf8.contains { ".eE".utf8.contains($0) })
      }
    }
    #expect(JSONValue.string("1").int(clampedTo: 0...1) == nil)
    #expect(try JSONValue(parsing: Array("-99999999999999999999".utf8)).int(clampedTo: -7...7) == -7)
    #expect(try JSONValue(parsing: Array("99999999999999999999".utf8)).int(clampedTo: -7...7) == 7)
    #expect(try JSONValue(parsing: Array("1e400".utf8)).double(in: 0...1e300) == nil)
    #expect(JSONValue(0.5).double(in: 0...1) == 0.5)
  }

  @Test func `doubles beyond the range become infinite or zero`() throws {
    #expect(try JSONValue(parsing: Array("1e400".utf8)).double == .infinity)
    #expect(try JSONValue(parsing: Array("-1e400".utf8)).double == -.infinity)
    #expect(try JSONValue(parsing: Array("1e-400".utf8)).double == 0)
    #expect(try JSONValue(parsing: Array("0.1".utf8)).double == 0.1)
  }

  @Test func `a number keeps its text`() throws {
    let text = Array("[1.10,1E5,-0,123456789012345678901234567890]".utf8)
    #expect(try JSONValue(parsing: text).serialized() == text)
  }

  @Test func `there is no number for infinity or NaN`() {
    #expect(JSONNumber(Double.infinity) == nil)
    #expect(JSONNumber(Double.nan) == nil)
    #expect(JSONNumber(0.5)?.text == "0.5")
  }

  @Test func `strings compare by their bytes`() {
    #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    #expect(JSONValue.string("a") == "a")
    #expect(JSONValue.string("ab") != "a")
  }

  @Test func `objects compare without order and hash alike`() {
    let a: JSONValue = ["x": 1, "y": ["z": true]]
    let b: JSONValue = ["y": ["z": true], "x": 1]
    #expect(a == b)
    #expect(a.hashValue == b.hashValue)
    #expect(a != ["x": 1])
    #expect(a != ["x": 1, "y": ["z": false]])
    #expect(a != ["x": 1, "w": ["z": true]])
    #expect(Set([a, b]).count == 1)
  }

  @Test func `a member is replaced where it stands and removed by nil`() {
    var object: JSONObject = ["a": 1, "b": 2]
    object.append("a", 3)
    object["c"] = "x"
    #expect(object.members.map(\.name) == ["a", "b", "c"])
    #expect(object["a"] == 3)
    object["b"] = nil
    object["never there"] = nil
    #expect(object.members.map(\.name) == ["a", "c"])
    #expect(object.count == 2)
  }

  @Test func `each accessor answers for its own kind only`() {
    let all: [JSONValue] = [.null, true, 1, "s", [], [:]]
    #expect(all.map { $0.int != nil } == [false, false, true, false, false, false])
    #expect(all.map { $0.string != nil } == [false, false, false, true, false, false])
    #expect(all.map { $0.array != nil } == [false, false, false, false, true, false])
    #expect(all.map { $0.object != nil } == [false, false, false, false, false, true])
    #expect(all.map(\.kindName) == ["null", "a boolean", "a number", "a string", "an array", "an object"])
  }
}

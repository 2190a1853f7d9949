// Tests that random JSON values survive writing and reading.

import JSON
import TestSupport
import Testing

@Suite struct JSONPropertyTests {
  private func text(_ numbers: inout SeededGenerator) -> String {
    let alphabet = Array("a\"\\\n\u{0}\u{7F}é\u{2028}😀{\u{85} ")
    let count = Int.random(in: 0..<12, using: &numbers)
    return String((0..<count).map { _ in alphabet.randomElement(using: &numbers)! })
  }

  private func value(_ numbers: inout SeededGenerator, depth: Int) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &numbers) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &numbers))
    case 2: return .number(JSONNumber(Int64.random(in: .min ... .max, using: &numbers)))
    case 3: return JSONNumber(Double(bitPattern: numbers.next())).map { .number($0) } ?? .null
    case 4, 5: return .string(text(&numbers))
    case 6:
      let count = Int.random(in: 0..<5, using: &numbers)
      return .array((0..<count).map { _ in value(&numbers, depth: depth - 1) })
    default:
      var object = JSONObject()
      for _ in 0..<Int.random(in: 0..<12, using: &numbers) {
        object.append(text(&numbers), value(&numbers, depth: depth - 1))
      }
      return .object(object)
    }
  }

  @Test func `what is written reads back as the same value and the same bytes`() throws {
    var numbers = SeededGenerator(1)
    for _ in 0..<2000 {
      let original = value(&numbers, depth: 5)
      let bytes = original.serialized()
      let back = try JSONValue(parsing: bytes)
      #expect(back == original)
      #expect(back.serialized() == bytes)
    }
  }

  @Test func `mutated texts either fail or survive another round`() throws {
    var numbers = SeededGenerator(2)
    var refused = 0
    for _ in 0..<20_000 {
      var bytes = value(&numbers, depth: 4).serialized()
      for _ in 0..<Int.random(in: 1..<4, using: &numbers) where !bytes.isEmpty {
        let index = Int.random(in: 0..<bytes.count, using: &numbers)
        switch Int.random(in: 0..<4, using: &numbers) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &numbers)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(Array(#"{}[],:"\u0e-.t"#.utf8).randomElement(using: &numbers)!, at: index)
        default: bytes.removeSubrange(index...)
        }
      }
      let value: JSONValue
      do {
        value = try JSONValue(parsing: bytes)
      } catch {
        refused += 1
        #expect((0...bytes.count).contains(error.offset))
        continue
      }
      #expect(try JSONValue(parsing: value.serialized()) == value)
    }
    #expect(refused > 5_000)
  }
}

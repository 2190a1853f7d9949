// Tests of which CBOR is accepted, and of the fault reported for anything else.

import JOSE
import Testing

@testable import Trust

@Suite struct CBORTests {
  private func fault(_ octets: [UInt8]) -> CBOR.Fault? {
    do throws(CBOR.Fault) {
      _ = try CBOR(parsing: octets)
      return nil
    } catch {
      return error
    }
  }

  private static let whole = CBOR.map([
    .init(.text("numbers"), .array([.unsigned(0), .unsigned(23), .unsigned(24), .unsigned(.max)])),
    .init(.negative(0), .negative(255)), .init(.unsigned(256), .bytes([1, 2, 3])),
    .init(.text("é"), .map([.init(.unsigned(65_536), .array([.map([])]))])),
    .init(.bytes([]), .bool(true)), .init(.bool(false), .null),
  ])

  @Test func `what is written is read`() throws {
    #expect(try CBOR(parsing: Self.whole.encoded) == Self.whole)
    // Vectors of RFC 8949, appendix A.
    for (hex, value) in [
      ("1903e8", CBOR.unsigned(1000)), ("1a000f4240", .unsigned(1_000_000)),
      ("1bffffffffffffffff", .unsigned(.max)),
      ("20", .negative(0)), ("3bffffffffffffffff", .negative(.max)), ("4401020304", .bytes([1, 2, 3, 4])),
      ("62c3bc", .text("ü")), ("83010203", .array([.unsigned(1), .unsigned(2), .unsigned(3)])),
      ("a201020304", .map([.init(.unsigned(1), .unsigned(2)), .init(.unsigned(3), .unsigned(4))])),
      ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null),
    ] {
      #expect(try CBOR(parsing: Hex.decode(hex) ?? []) == value)
      #expect(value.encoded == Hex.decode(hex))
    }
  }

  @Test func `no part of a value is one`() {
    let octets = Self.whole.encoded
    for count in octets.indices { #expect(fault(Array(octets[..<count])) == .truncated, "\(count)") }
    #expect(fault(octets + [0]) == .trailing)
  }

  @Test(arguments: [
    ("1c", CBOR.Fault.unsupported), ("fc", .unsupported), ("f7", .unsupported), ("f820", .unsupported),
    ("f93c00", .unsupported), ("fb3ff199999999999a", .unsupported), ("c101", .unsupported),
    ("e0", .unsupported),
    ("5f4101ff", .indefinite), ("7f6161ff", .indefinite), ("9f01ff", .indefinite), ("bf0102ff", .indefinite),
    ("ff", .indefinite), ("1817", .notShortest), ("1900ff", .notShortest), ("1a0000ffff", .notShortest),
    ("1b00000000ffffffff", .notShortest), ("580100", .notShortest), ("61ff", .notText), ("62c328", .notText),
    ("a201020103", .duplicateKey), ("a2616101616102", .duplicateKey), ("9bffffffffffffffff", .truncated),
    ("bbffffffffffffffff", .truncated), ("5bffffffffffffffff", .truncated), ("9a7fffffff", .truncated),
  ])
  func `octets that are refused`(_ hex: String, _ expected: CBOR.Fault) throws {
    #expect(fault(try #require(Hex.decode(hex))) == expected)
  }

  @Test func `keys are equal by their octets`() throws {
    let composed = CBOR.map([.init(.text("\u{E9}"), .null), .init(.text("e\u{301}"), .null)])
    #expect(try CBOR(parsing: composed.encoded) == composed)
  }

  @Test func `arrays and maps are nested at most four deep`() {
    #expect(fault([0x81, 0x81, 0x81, 0x81, 0x01]) == nil)
    #expect(fault([0x81, 0x81, 0x81, 0x81, 0x80]) == .tooDeep)
    #expect(fault([0xA1, 0x01, 0xA1, 0x01, 0xA1, 0x01, 0xA1, 0x01, 0x02]) == nil)
    #expect(fault([0xA1, 0x01, 0xA1, 0x01, 0xA1, 0x01, 0xA1, 0x01, 0xA0]) == .tooDeep)
    // The limit also applies to keys.
    #expect(fault([0xA1, 0xA1, 0xA1, 0xA1, 0xA0, 0x01, 0x01, 0x01, 0x01]) == .tooDeep)
  }

  @Test func `there are at most 16 KiB`() throws {
    let head = 3
    #expect(
      try CBOR(parsing: CBOR.bytes([UInt8](repeating: 0, count: CBOR.maximumBytes - head)).encoded).octets
        != nil)
    #expect(
      fault(CBOR.bytes([UInt8](repeating: 0, count: CBOR.maximumBytes - head + 1)).encoded) == .tooLarge)
  }
}

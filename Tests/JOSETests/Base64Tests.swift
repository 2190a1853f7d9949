// Tests of Base64, Base64url and hexadecimal text.

import Testing

@testable import JOSE

@Suite struct Base64Tests {
  /// RFC 4648 §10.
  static let examples = [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ]

  @Test(arguments: examples) func `the examples of RFC 4648 hold`(plain: String, text: String) {
    let bytes = Array(plain.utf8)
    let bare = String(text.filter { $0 != "=" })
    #expect(Base64.encode(bytes) == text)
    #expect(Base64.decode(text) == bytes)
    #expect(Base64URL.encode(bytes) == bare)
    #expect(Base64URL.decode(bare) == bytes)
    if bare != text {
      #expect(Base64.decode(bare) == nil)
      #expect(Base64URL.decode(text) == nil)
    }
  }

  @Test func `the alphabets differ in two characters and are not mixed`() {
    #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
    #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
    #expect(Base64.decode("-_-_") == nil)
    #expect(Base64URL.decode("+/+/") == nil)
  }

  @Test(arguments: [
    "A", "AAAAA", "AB", "AAB", "Zh", "Zm9", "A=", "AA=A", "====", "AA A", "AA\n", " AAA", "AAA\u{0}", "ÀAA",
  ])
  func `what is not strict Base64url is refused`(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test(arguments: [
    "A", "AA", "AAA", "AB==", "AAB=", "A===", "====", "=", "AA=A", "AAAA=", "AAAA====", "AA\n==", "AAA =",
    "Zm9v\n",
  ])
  func `what is not strict Base64 is refused`(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test func `every length and every byte survives`() {
    for count in 0..<300 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test func `two texts never decode to the same bytes`() {
    // All 64 * 64 texts of two characters: only the 256 with zero trailing bits are accepted.
    var seen: Set<[UInt8]> = []
    var taken = 0
    for first in Base64Codec.urlAlphabet {
      for second in Base64Codec.urlAlphabet {
        guard let bytes = Base64URL.decode([first, second].span) else { continue }
        taken += 1
        seen.insert(bytes)
      }
    }
    #expect(taken == 256)
    #expect(seen.count == 256)
  }

  @Test func `hexadecimal goes both ways`() {
    #expect(Hex.encode([0x00, 0x9F, 0xFF]) == "009fff")
    #expect(Hex.decode("009fFF") == [0x00, 0x9F, 0xFF])
    #expect(Hex.decode("0") == nil)
    #expect(Hex.decode("0g") == nil)
    #expect(Hex.decode("") == [])
  }
}

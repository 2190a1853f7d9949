// Tests of the store key: its text, its names, what is derived from it, and values sealed with it.

import JOSE
import Testing

@testable import Sealing

@Suite struct StoreKeysTests {
  private static func key(_ byte: UInt8) -> StoreKey { StoreKey(Secret([UInt8](repeating: byte, count: 32))) }

  @Test func `a key is 32 bytes as Base64 or hex`() throws {
    let bytes = [UInt8](0..<32)
    let key = StoreKey(Secret(bytes))
    #expect(try StoreKey(text: Array(Base64.encode(bytes).utf8)).mark == key.mark)
    #expect(try StoreKey(text: Array(Hex.encode(bytes).utf8)).mark == key.mark)
    #expect(try StoreKey(text: Array(Hex.encode(bytes).uppercased().utf8)).mark == key.mark)
    #expect(key.exposedText() == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
  }

  @Test(arguments: [
    "", "secret", Base64.encode([UInt8](0..<31)), Base64.encode([UInt8](0..<33)), Hex.encode([UInt8](0..<31)),
    Hex.encode([UInt8](0..<33)), Base64URL.encode([UInt8](0..<32)), " " + Base64.encode([UInt8](0..<32)),
    String(repeating: "g", count: 64),
  ])
  func `any other text is refused as a key`(text: String) {
    #expect(throws: StoreKey.Malformed()) { try StoreKey(text: Array(text.utf8)) }
  }

  @Test func `keys that are made differ`() throws {
    #expect(try StoreKey.generate().mark != StoreKey.generate().mark)
  }

  /// Computed with Python's hmac module: what is kept in stores must not change.
  @Test func `what is derived stays the same in every release`() {
    let key = Self.key(1)
    #expect("\(key.id)" == "1cc00fe8")
    #expect(Hex.encode(key.mark.check) == "886cb9f4ff7584812854fbd2fdece088")
    #expect(
      Hex.encode(key.derived(.sealing, count: 32).exposedBytes())
        == "28641c7c24fe39a9cf834bf9ab5a721124f426859e15feed6be7cce4a68b125a")
    #expect(
      Hex.encode(key.derived(.totp, info: [1, 2], count: 20).exposedBytes())
        == "29760ee782a79d040631cb1a2c02bf5ce5603167")
    #expect(
      Hex.encode(key.derived(.hotp, info: [1, 2], count: 20).exposedBytes())
        == "f1cf68e114288666fae3a680d76875183c7c9add")
  }

  @Test func `keys, purposes and info give bytes of their own`() {
    var all: Set<[UInt8]> = [Self.key(1).mark.check]
    for key in [Self.key(1), Self.key(2)] {
      for purpose in Purpose.allCases {
        for info: [UInt8] in [[], [0], [1], [0, 0]] {
          all.insert(key.derived(purpose, info: info, count: 16).exposedBytes())
        }
      }
    }
    #expect(all.count == 1 + 2 * Purpose.allCases.count * 4)
  }

  @Test func `a sealed value names its key, and either key opens it while it is held`() throws {
    let (old, new) = (Self.key(1), Self.key(2))
    let value = Array("+18500000000".utf8)
    let sealed = try StoreKeys(current: old).seal(value, for: .sealing, associated: [9])
    #expect(sealed.starts(with: [1] + old.id.bytes))
    #expect(StoreKeys.keyID(of: sealed) == old.id)
    let rotating = StoreKeys(current: new, previous: old)
    #expect(try rotating.open(sealed, for: .sealing, associated: [9]) == value)
    let resealed = try rotating.seal(value, for: .sealing, associated: [9])
    #expect(StoreKeys.keyID(of: resealed) == new.id)
    #expect(
      try StoreKeys(current: old, previous: new).open(resealed, for: .sealing, associated: [9]) == value)
    #expect(throws: StoreKeys.Failure.unknownKey(old.id)) {
      try StoreKeys(current: new).open(sealed, for: .sealing, associated: [9])
    }
  }

  @Test func `a value opens for its purpose and place only`() throws {
    let keys = StoreKeys(current: Self.key(1), previous: Self.key(2))
    let sealed = try keys.seal([1, 2, 3], for: .sealing, associated: [9])
    #expect(throws: StoreKeys.Failure.broken) { try keys.open(sealed, for: .sealing, associated: [8]) }
    for other in Purpose.allCases where other != .sealing {
      #expect(throws: StoreKeys.Failure.broken) { try keys.open(sealed, for: other, associated: [9]) }
    }
    var renamed = sealed
    renamed.replaceSubrange(1..<5, with: Self.key(2).id.bytes)
    #expect(throws: StoreKeys.Failure.broken) { try keys.open(renamed, for: .sealing, associated: [9]) }
    var tampered = sealed
    tampered[tampered.count - 1] ^= 1
    #expect(throws: StoreKeys.Failure.broken) { try keys.open(tampered, for: .sealing, associated: [9]) }
  }

  @Test func `what is no sealed value is told from a broken one`() throws {
    let keys = StoreKeys(current: Self.key(1))
    var newer = try keys.seal([], for: .sealing, associated: [])
    newer[0] = 2
    for other in [[], newer, Array(try keys.seal([], for: .sealing, associated: []).dropLast())] {
      #expect(StoreKeys.keyID(of: other) == nil)
      #expect(throws: StoreKeys.Failure.malformed) { try keys.open(other, for: .sealing, associated: []) }
    }
  }
}

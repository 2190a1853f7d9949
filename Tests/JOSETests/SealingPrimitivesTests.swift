// Tests of key derivation and authenticated encryption against published vectors.

import Testing

@testable import JOSE

@Suite struct SealingPrimitivesTests {
  private static func bytes(_ hex: String) -> [UInt8] {
    guard let bytes = Hex.decode(hex) else { preconditionFailure("hexadecimal digits") }
    return bytes
  }

  /// RFC 5869, appendices A.1 to A.3.
  @Test(arguments: [
    (
      String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    ),
    (
      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f"
        + "303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f",
      "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f"
        + "909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
      "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
        + "e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
      "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
        + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
    ),
    (
      String(repeating: "0b", count: 22), "", "",
      "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    ),
  ])
  func `the keys of RFC 5869 are derived`(key: String, salt: String, info: String, result: String) {
    let derived = HKDF.derive(
      from: Secret(Self.bytes(key)), salt: Self.bytes(salt), info: Self.bytes(info), count: result.count / 2)
    #expect(Hex.encode(derived.exposedBytes()) == result)
  }

  /// Test cases 13, 14, 15 and 16 of McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B.
  private static let vectors = [
    (
      String(repeating: "0", count: 64), String(repeating: "0", count: 24), "", "",
      "530f8afbc74536b9a963b4f1c4cb738b"
    ),
    (
      String(repeating: "0", count: 64), String(repeating: "0", count: 24), "",
      String(repeating: "0", count: 32),
      "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
    ),
    (
      "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
        + "b16aedf5aa0de657ba637b391aafd255",
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
        + "c5f61e6393ba7a0abcc9f662898015adb094dac5d93471bdec1a502270e3cc6c"
    ),
    (
      "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
      "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
        + "b16aedf5aa0de657ba637b39",
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
        + "c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"
    ),
  ]

  @Test(arguments: vectors) func `the published vectors of AES-256-GCM are sealed and opened`(
    key: String, nonce: String, associated: String, plaintext: String, sealed: String
  ) throws {
    let cipher = AESGCM(Secret(Self.bytes(key)))
    let made = try cipher.seal(
      Self.bytes(plaintext), associated: Self.bytes(associated), nonce: Self.bytes(nonce))
    #expect(Hex.encode(made) == nonce + sealed)
    #expect(try cipher.open(made, associated: Self.bytes(associated)) == Self.bytes(plaintext))
  }

  @Test func `a change of any byte, of the associated bytes or of the key breaks the seal`() throws {
    let cipher = AESGCM(Secret([UInt8](repeating: 7, count: 32)))
    let sealed = try cipher.seal(Array("+18500000000".utf8), associated: [1])
    #expect(try cipher.open(sealed, associated: [1]) == Array("+18500000000".utf8))
    for place in sealed.indices {
      var changed = sealed
      changed[place] ^= 1
      #expect(throws: AESGCM.BrokenSeal()) { try cipher.open(changed, associated: [1]) }
    }
    #expect(throws: AESGCM.BrokenSeal()) { try cipher.open(sealed, associated: [2]) }
    #expect(throws: AESGCM.BrokenSeal()) { try cipher.open(sealed, associated: []) }
    #expect(throws: AESGCM.BrokenSeal()) { try cipher.open(Array(sealed.dropLast()), associated: [1]) }
    #expect(throws: AESGCM.BrokenSeal()) {
      try cipher.open([UInt8](repeating: 0, count: 27), associated: [1])
    }
    let other = AESGCM(Secret([UInt8](repeating: 8, count: 32)))
    #expect(throws: AESGCM.BrokenSeal()) { try other.open(sealed, associated: [1]) }
  }

  @Test func `the same message is never sealed alike`() throws {
    let cipher = AESGCM(Secret([UInt8](repeating: 7, count: 32)))
    let sealed = try (0..<100).map { _ in try cipher.seal([], associated: []) }
    #expect(Set(sealed).count == 100)
  }
}

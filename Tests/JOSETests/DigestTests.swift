// Tests of digests, message authentication codes, random bytes and secrets.

import Testing

@testable import JOSE

@Suite struct DigestTests {
  /// FIPS 180-4's "abc" and the empty message.
  @Test func `the digests of abc and of nothing are the published ones`() {
    let abc = Array("abc".utf8)
    #expect(Hex.encode(DigestAlgorithm.sha1.digest(abc)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(
      Hex.encode(SHA256.digest(abc)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      Hex.encode(DigestAlgorithm.sha384.digest(abc))
        == "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7")
    #expect(
      Hex.encode(DigestAlgorithm.sha512.digest(abc))
        == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
        + "454d4423643ce80e2a9ac94fa54ca49f")
    #expect(
      Hex.encode(SHA256.digest([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  /// RFC 4231 §4.2, §4.3, §4.7 and RFC 2202 §3.
  @Test(arguments: [
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There", DigestAlgorithm.sha1,
      "b617318655057264e28bc0b6fb378c8ef146be00"
    ),
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There", .sha256,
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There", .sha384,
      "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6"
    ),
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There", .sha512,
      "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
        + "be9d914eeb61f1702e696c203a126854"
    ),
    (
      Array("Jefe".utf8), "what do ya want for nothing?", .sha256,
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First", .sha256,
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func `the codes of RFC 4231 are computed`(
    key: [UInt8], message: String, digest: DigestAlgorithm, code: String
  ) {
    #expect(Hex.encode(HMAC.code(Array(message.utf8), key: key, digest)) == code)
    #expect(Hex.encode(HMAC.code(Array(message.utf8), key: Secret(key), digest)) == code)
  }

  @Test func `an empty key is a key`() {
    let code = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
    #expect(Hex.encode(HMAC.code([], key: [UInt8](), .sha256)) == code)
    #expect(Hex.encode(HMAC.code([], key: Secret([]), .sha256)) == code)
  }

  @Test func `equal bytes are equal and nothing else is`() {
    let bytes = Array("correct horse battery staple".utf8)
    #expect(constantTimeEqual(bytes, bytes))
    #expect(constantTimeEqual([], []))
    #expect(!constantTimeEqual(bytes, []))
    #expect(!constantTimeEqual(bytes, bytes.dropLast()))
    #expect(!constantTimeEqual(bytes, bytes + [0]))
    for index in bytes.indices {
      var other = bytes
      other[index] ^= 0x80
      #expect(!constantTimeEqual(bytes, other))
      #expect(!constantTimeEqual(digest: bytes, digest: other))
    }
    #expect(constantTimeEqual(digest: bytes, digest: bytes))
    #expect(!constantTimeEqual(digest: bytes, digest: []))
  }

  @Test func `random bytes are as many as asked for and differ`() throws {
    #expect(try RandomBytes.make(0).isEmpty)
    #expect(try RandomBytes.make(16).count == 16)
    #expect(try RandomBytes.make(16) != RandomBytes.make(16))
    // In 4096 random bytes nearly all 256 values occur. A buffer that was never filled has only one.
    #expect(try Set(RandomBytes.make(4096)).count > 200)
  }
}

@Suite struct SecretTests {
  private let secret = Secret("s3cr3t-canary")

  @Test func `a secret shows nothing when printed, dumped or mirrored`() {
    var dumped = ""
    dump(secret, to: &dumped)
    dump(["key": secret], to: &dumped)
    let texts = [
      "\(secret)", String(reflecting: secret), dumped, "\([secret])", "\(Optional(secret) as Any)",
    ]
    for text in texts {
      #expect(text.contains("<redacted>"))
      #expect(!text.contains("canary"))
    }
    #expect(Mirror(reflecting: secret).children.isEmpty)
  }

  @Test func `its bytes are copied and compared`() {
    #expect(secret.count == 13)
    #expect(secret.exposedString() == "s3cr3t-canary")
    #expect(secret.isEqual(to: Array("s3cr3t-canary".utf8)))
    #expect(!secret.isEqual(to: Array("s3cr3t-canarz".utf8)))
    #expect(!secret.isEqual(to: []))
    #expect(Secret([]).exposedBytes().isEmpty)
  }

  @Test func `taking bytes over leaves nothing where they stood`() {
    var bytes = Array("canary".utf8)
    let taken = Secret(wiping: &bytes)
    #expect(bytes.isEmpty)
    #expect(taken.exposedString() == "canary")
    var other = Array("canary".utf8)
    wipe(&other)
    #expect(other == [0, 0, 0, 0, 0, 0])
  }
}

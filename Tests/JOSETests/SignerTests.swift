// Tests of generated keys, and of signing on many threads.

import JSON
import TestSupport
import Testing

@testable import JOSE

@Suite struct SignerTests {
  static let message = Array("a message of no consequence".utf8)

  @Test(arguments: SignatureAlgorithm.allCases)
  func `what a generated key signs, its public half verifies and no other`(algorithm: SignatureAlgorithm)
    throws
  {
    let key = try PrivateKey.one(for: algorithm)
    let signer = try Signer(key: key, algorithm: algorithm)
    let stranger = try PrivateKey.another(for: algorithm).publicKey
    for _ in 0..<3 {
      let signature = try signer.sign(Self.message)
      #expect(key.publicKey.verify(signature: signature, of: Self.message, algorithm: algorithm))
      #expect(!key.publicKey.verify(signature: signature, of: Self.message + [0], algorithm: algorithm))
      #expect(!stranger.verify(signature: signature, of: Self.message, algorithm: algorithm))
      #expect(!key.publicKey.verify(signature: signature + [0], of: Self.message, algorithm: algorithm))
      #expect(!key.publicKey.verify(signature: signature.dropLast(), of: Self.message, algorithm: algorithm))
      #expect(!key.publicKey.verify(signature: [], of: Self.message, algorithm: algorithm))
      for other in SignatureAlgorithm.allCases where other != algorithm {
        #expect(!key.publicKey.verify(signature: signature, of: Self.message, algorithm: other))
      }
      if let size = key.kind.coordinateBytes { #expect(signature.count == 2 * size) }
    }
  }

  @Test func `an algorithm the key does not fit is refused with the ones that do`() throws {
    let key = try PrivateKey.generate(for: .ES384)
    #expect(throws: KeyError.unfit(.p384, .ES256)) { try Signer(key: key, algorithm: .ES256) }
    #expect(KeyError.unfit(.p384, .ES256).description == "a P-384 key does not fit ES256; use ES384")
    #expect(
      KeyError.unfit(.rsa(bits: 2048), .ES256).description
        == "an RSA-2048 key does not fit ES256; use PS256, PS384, PS512, RS256, RS384 or RS512")
  }

  @Test func `many threads sign and verify with one key`() async throws {
    let key = try PrivateKey.generate(for: .ES256)
    let signer = try Signer(key: key, algorithm: .ES256)
    let good = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<32 {
        group.addTask {
          var good = 0
          for turn in 0..<50 {
            let message = [UInt8(task), UInt8(turn)]
            let signature = try signer.sign(message)
            if key.publicKey.verify(signature: signature, of: message, algorithm: .ES256) { good += 1 }
            if key.publicKey.verify(signature: signature, of: message + [0], algorithm: .ES256) {
              good -= 100
            }
          }
          return good
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(good == 1600)
  }

  @Test func `a key survives export and import`() throws {
    for algorithm in [SignatureAlgorithm.ES256, .ES384, .ES512, .EdDSA, .PS256] {
      let key = try PrivateKey.generate(for: algorithm)
      let der = try key.pkcs8DER().exposedBytes()
      let pem = try key.pem().exposedString()
      #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
      #expect(try PrivateKey(der).publicKey == key.publicKey)
      #expect(try PrivateKey(pem).publicKey == key.publicKey)
      #expect(try PrivateKey(Base64.encode(der)).publicKey == key.publicKey)
      #expect(try PublicKey(key.publicKey.pem()) == key.publicKey)
      #expect(try PublicKey(key.publicKey.subjectPublicKeyInfo) == key.publicKey)
      #expect(try PublicKey(jwk: .object(key.publicKey.jwk())) == key.publicKey)
    }
  }
}

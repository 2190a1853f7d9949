// Tests of how public keys are read and refused.

import JSON
import Testing

@testable import JOSE

@Suite struct PublicKeyTests {
  private func failure(_ text: String) -> KeyError? {
    do {
      _ = try PublicKey(text)
      return nil
    } catch {
      return error
    }
  }

  @Test func `every spelling gives the same key`() throws {
    let pem = KeyFixtures.p256Public
    let key = try PublicKey(pem)
    #expect(key.kind == .p256)
    #expect(key.pem() == pem + "\n")
    #expect(try PublicKey(replacing("\n", with: "\\n", in: pem)) == key)
    #expect(try PublicKey(body(of: pem)) == key)
    #expect(try PublicKey(der(of: pem)) == key)
    #expect(try PublicKey(Base64.encode(Array(pem.utf8))) == key)
    let rsa = try PublicKey(KeyFixtures.rsa2048Public)
    #expect(rsa.pem() == KeyFixtures.rsa2048Public + "\n")
    #expect(try PublicKey(KeyFixtures.rsa2048PublicPKCS1) == rsa)
    #expect(try PublicKey(body(of: KeyFixtures.rsa2048PublicPKCS1)) == rsa)
    #expect(rsa != key)
  }

  @Test func `only public keys are accepted`() {
    #expect(failure(KeyFixtures.p256PKCS8) == .privateKey)
    #expect(failure(KeyFixtures.p256SEC1) == .privateKey)
    #expect(failure(body(of: KeyFixtures.rsa2048PKCS1)) == .privateKey)
    #expect(failure(KeyFixtures.p256Encrypted) == .privateKey)
    #expect(failure(KeyFixtures.certificate) == .certificate)
    #expect(failure("") == .empty)
    #expect(failure("hello!") == .notBase64)
    #expect(failure(Base64.encode(der(of: KeyFixtures.p256Public) + [0])) == .trailingData(bytes: 1))
  }

  @Test func `a point off its curve is refused`() {
    var bytes = der(of: KeyFixtures.p256Public)
    bytes[bytes.count - 1] ^= 1
    guard case .invalid = failure(Base64.encode(bytes)) else {
      Issue.record("accepted")
      return
    }
  }

  @Test func `the fingerprint is SHA-256 of the DER`() throws {
    let key = try PublicKey(KeyFixtures.p256Public)
    #expect(key.fingerprint == Hex.encode(SHA256.digest(der(of: KeyFixtures.p256Public))))
    #expect(key.description == "P-256 key \(key.fingerprint.prefix(16))")
  }

  @Test func `a modulus with the mark of the broken generator is found`() {
    // Any power of 65537 has the mark; 65538 does not.
    #expect(ROCA.marks([1, 0, 1]))
    #expect(ROCA.marks([1]))
    #expect(!ROCA.marks([1, 0, 2]))
    #expect(!ROCA.marks(der(of: KeyFixtures.rsa2048Public)))
  }
}

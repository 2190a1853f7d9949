// Tests of how certificates and keys for TLS are read and checked.

import COpenSSL
import Certificates
import TLS
import Testing

private func failure(_ chain: [UInt8], _ key: [UInt8]) -> TLSIdentity.Failure? {
  do throws(TLSIdentity.Failure) {
    _ = try TLSIdentity(chain: chain, key: key)
    return nil
  } catch {
    return error
  }
}

@Test(arguments: [TestIdentity.Key.p256, .p384, .ed25519, .rsa(bits: 2048)])
func `any key that signs TLS serves`(kind: TestIdentity.Key) throws {
  let identity = TestIdentity("DNS:localhost", key: kind)
  let talk = Conversation(
    try TLSListener(identity.served()), MemoryClient.Options(authority: identity))
  try talk.handshake()
}

@Test func `the chain is sent without its root`() throws {
  let root = TestIdentity("", isAuthority: true)
  let middle = TestIdentity("", issuer: root, isAuthority: true)
  let leaf = TestIdentity("DNS:localhost", issuer: middle)
  let identity = try leaf.served(middle, root)
  #expect(identity.chain.count == 3)
  let talk = Conversation(try TLSListener(identity), MemoryClient.Options(authority: root))
  try talk.handshake()
  #expect(SSL_get_verify_result(talk.client.ssl) == Int(X509_V_OK))
  #expect(OPENSSL_sk_num(SSL_get_peer_cert_chain(talk.client.ssl)) == 2)
}

@Test(arguments: [TestIdentity.Key.p256, .ed25519, .rsa(bits: 2048)])
func `a certificate tells the pin of its key`(kind: TestIdentity.Key) throws {
  let identity = TestIdentity("DNS:localhost", key: kind)
  let own = try #require(try Certificate.chain(pem: identity.certificatePEM).first)
  var text = [UInt8](repeating: 0, count: 45)
  EVP_EncodeBlock(&text, own.keyFingerprint, 32)
  #expect(String(decoding: text.dropLast(), as: UTF8.self) == identity.keyPin)
}

@Test func `an identity tells whose it is`() throws {
  let identity = try TestIdentity("DNS:a.example,DNS:*.b.example,IP:127.0.0.1", validUntil: 86_400 * 40)
    .served()
  #expect(identity.certificate.subject == "CN=Test")
  #expect(identity.certificate.names == "DNS:a.example, DNS:*.b.example, IP Address:127.0.0.1")
  #expect(identity.keyType == "EC, 256 bits")
  #expect(identity.certificate.notAfter - identity.certificate.notBefore == 86_400 * 40 + 3600)
  #expect("\(identity)" == "CN=Test (EC, 256 bits)")
  var dumped = ""
  dump(identity, to: &dumped)
  #expect(!dumped.contains("handle") && !dumped.contains("key:"))
}

@Test func `a key may stand in the file of the certificate, or in DER`() throws {
  let identity = TestIdentity("DNS:localhost")
  let both = identity.certificatePEM + identity.keyPEM
  #expect(failure(both, both) == nil)
  var der: UnsafeMutablePointer<UInt8>?
  let count = i2d_PrivateKey(identity.key, &der)
  let octets = Array(UnsafeBufferPointer(start: der, count: Int(count)))
  CRYPTO_free(der, nil, 0)
  #expect(failure(identity.certificatePEM, octets) == nil)
}

@Test func `a text without a certificate differs from a broken certificate`() {
  let identity = TestIdentity("DNS:localhost")
  #expect(failure([], identity.keyPEM) == .noCertificate)
  #expect(failure(Array("# none\n".utf8), identity.keyPEM) == .noCertificate)
  #expect(failure(identity.keyPEM, identity.keyPEM) == .noCertificate)
  var broken = identity.certificatePEM
  broken[broken.count / 2] = 0x21
  for text in [broken, identity.certificatePEM + broken, Array(identity.certificatePEM.dropLast(20))] {
    guard case .certificate = failure(text, identity.keyPEM) else {
      Issue.record("not refused as a certificate")
      continue
    }
  }
}

@Test func `what is no key is refused, without asking for a passphrase`() {
  let identity = TestIdentity("DNS:localhost")
  for text in [[], identity.certificatePEM, identity.keyPEM(passphrase: "secret"), Array("none".utf8)] {
    guard case .key = failure(identity.certificatePEM, text) else {
      Issue.record("not refused as a key")
      continue
    }
  }
}

@Test func `key and certificate must belong together, the server's own first`() {
  let (authority, other) = (TestIdentity("", isAuthority: true), TestIdentity("DNS:localhost"))
  let identity = TestIdentity("DNS:localhost", issuer: authority)
  #expect(failure(identity.certificatePEM, other.keyPEM) == .mismatch)
  #expect(failure(identity.certificatePEM, TestIdentity("", key: .rsa(bits: 2048)).keyPEM) == .mismatch)
  #expect(failure(authority.certificatePEM + identity.certificatePEM, identity.keyPEM) == .order(2))
}

@Test func `a weak key is refused whatever the machine's settings are`() {
  let weak = TestIdentity("DNS:localhost", key: .rsa(bits: 1024))
  guard case .refused(let why) = failure(weak.certificatePEM, weak.keyPEM) else {
    Issue.record("a key of 1024 bits serves")
    return
  }
  #expect(why.reasons == ["ee key too small"])
}

@Test func `certificates that clients refuse are reported`() throws {
  func complaints(_ identity: TLSIdentity, at offset: Int64 = 0) -> [String] {
    identity.complaints(at: identity.certificate.notBefore + offset) { _ in "DATE" }
  }
  let day: Int64 = 86_400
  let authority = TestIdentity("", isAuthority: true, validUntil: 86_400 * 200)
  let leaf = TestIdentity("DNS:localhost", issuer: authority, validUntil: 86_400 * 90)
  let sound = try leaf.served()
  #expect(complaints(sound).isEmpty)
  #expect(
    complaints(sound, at: -1) == ["the certificate is not valid before DATE: clients refuse it until then"])
  #expect(complaints(sound, at: 75 * day).isEmpty)
  #expect(complaints(sound, at: 77 * day) == ["the certificate expires at DATE: renew it"])
  #expect(complaints(sound, at: 91 * day) == ["the certificate expired at DATE: clients refuse it"])
  #expect(
    complaints(try TestIdentity("", issuer: authority, validUntil: 86_400 * 90).served()).first?
      .hasPrefix("the certificate has no subjectAltName") == true)
  let stranger = TestIdentity("", isAuthority: true, validUntil: 86_400 * 200)
  #expect(complaints(try leaf.served(authority)).isEmpty)
  #expect(
    complaints(try leaf.served(stranger)).last?.hasPrefix("certificate 2 of the chain did not issue") == true
  )
}

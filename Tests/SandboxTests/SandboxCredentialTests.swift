// Tests of the credentials that a sandbox generates or accepts.

import JOSE
import Testing

@testable import Sandbox

@Suite struct SandboxCredentialTests {
  @Test func `a made key comes as Talkdesk hands keys out`() throws {
    let credential = try SandboxCredential()
    let registration = try #require(credential.registration)
    #expect(registration.algorithm == .ES256)
    let text = try #require(credential.privateKey).exposedString()
    #expect(text.hasPrefix("MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEH"))
    #expect(text.utf8.count == 184)
    #expect(try PrivateKey(text).publicKey == registration.publicKey)
    for id in [credential.clientID, registration.keyID] {
      #expect(id.utf8.count == 32)
      #expect(id.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) })
    }
    #expect(try SandboxCredential().clientID != credential.clientID)
  }

  @Test(arguments: [
    (SignatureAlgorithm.ES256, SignatureAlgorithm.ES256), (.ES384, .ES384), (.ES512, .ES512),
    (.PS384, .PS256),
  ])
  func `a brought key is trusted, public or private, and keeps its ids`(
    kind: SignatureAlgorithm, algorithm: SignatureAlgorithm
  ) throws {
    let key = try PrivateKey.generate(for: kind)
    let byPrivate = try SandboxCredential(trusting: key.pem().exposedBytes())
    let byPublic = try SandboxCredential(trusting: Array(key.publicKey.pem().utf8))
    for credential in [byPrivate, byPublic] {
      let registration = try #require(credential.registration)
      #expect(registration.algorithm == algorithm)
      #expect(registration.algorithms == key.publicKey.kind.algorithms)
      #expect(registration.publicKey == key.publicKey)
      #expect(credential.privateKey == nil)
      #expect(credential.clientID == byPrivate.clientID)
      #expect(registration.keyID == byPrivate.registration?.keyID)
    }
  }

  @Test func `a brought secret has no key beside it and keeps its client id`() {
    let credential = SandboxCredential(trusting: Secret("canary-client-secret"))
    #expect(credential.registration == nil)
    #expect(credential.privateKey == nil)
    #expect(credential.clientSecret?.exposedString() == "canary-client-secret")
    #expect(credential.clientID.wholeMatch(of: /[0-9a-f]{32}/) != nil)
    #expect(credential.clientID == SandboxCredential(trusting: Secret("canary-client-secret")).clientID)
    #expect(credential.clientID != SandboxCredential(trusting: Secret("canary-other-secret")).clientID)
  }

  @Test func `a key Talkdesk has no algorithm for is refused`() throws {
    let key = try PrivateKey.generate(for: .EdDSA)
    #expect(throws: KeyError.unsupported(type: "Ed25519")) {
      try SandboxCredential(trusting: Array(key.publicKey.pem().utf8))
    }
  }

  @Test func `what is no key is refused`() {
    #expect(throws: KeyError.self) { try SandboxCredential(trusting: Array("nonsense".utf8)) }
    #expect(throws: KeyError.self) { try SandboxCredential(trusting: []) }
  }
}

// Tests of how the written form of a key is recognised.

import Testing

@testable import JOSE

@Suite struct KeyFormTests {
  @Test func `every way a key is written down has its name`() throws {
    let key = try PrivateKey.generate(for: .ES256)
    let der = try key.pkcs8DER().exposedBytes()
    let pem = try key.pem().exposedString()
    let escaped = pem.split(separator: "\n").joined(separator: "\\n")
    let forms: [([UInt8], String)] = [
      (der, "DER, PKCS#8"), (Array(Base64.encode(der).utf8), "bare Base64, PKCS#8"),
      (Array(pem.utf8), "PEM, PKCS#8"),
      (Array(escaped.utf8), "PEM with \\n escapes, PKCS#8"),
      (Array(Base64.encode(Array(pem.utf8)).utf8), "Base64 of PEM, PKCS#8"),
    ]
    for (text, name) in forms {
      let form = try KeyForm(of: text)
      #expect(form.description == name)
      #expect(form.isPrivate)
    }
    let publicForm = try KeyForm(of: Array(key.publicKey.pem().utf8))
    #expect(publicForm.description == "PEM, SubjectPublicKeyInfo")
    #expect(!publicForm.isPrivate)
  }

  @Test func `what is no key is refused as a private key would be`() {
    #expect(throws: KeyError.empty) { try KeyForm(of: []) }
    #expect(throws: KeyError.notBase64) { try KeyForm(of: Array("hello!".utf8)) }
  }
}

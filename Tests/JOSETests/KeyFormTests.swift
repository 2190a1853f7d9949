// Tests of how the encoding of a key is recognized.

import COpenSSL
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

  @Test(arguments: [true, false])
  func `what OpenSSL says of a broken key is nothing that it said before`(isPrivate: Bool) {
    let broken: [UInt8] = [0x30, 0]
    func words() -> String {
      do {
        _ = try isPrivate ? PKey(privateDER: broken) : PKey(publicDER: broken)
        return "read"
      } catch {
        return "\(error)"
      }
    }
    ERR_clear_error()
    let alone = words()
    // An error left in this thread's queue by earlier code.
    broken.withUnsafeBufferPointer { octets in
      var cursor = octets.baseAddress
      _ = d2i_PUBKEY(nil, &cursor, octets.count)
    }
    #expect(ERR_peek_error() != 0)
    #expect(words() == alone && alone.contains("d2i_"))
  }

  @Test func `a text without a key is refused as a private key would be`() {
    #expect(throws: KeyError.empty) { try KeyForm(of: []) }
    #expect(throws: KeyError.notBase64) { try KeyForm(of: Array("hello!".utf8)) }
  }
}

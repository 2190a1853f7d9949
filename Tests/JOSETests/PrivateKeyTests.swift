// Tests of how private keys are read in every common form, and how wrong ones are refused.

import Testing

@testable import JOSE

/// The Base64 between the BEGIN and END lines, on one line.
func body(of pem: String) -> String {
  pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
}

/// The DER in a PEM fixture.
func der(of pem: String) -> [UInt8] { Base64.decode(body(of: pem)) ?? [] }

/// A text with every occurrence of another replaced.
func replacing(_ old: String, with new: String, in text: String) -> String {
  text.split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
}

private func failure(_ text: [UInt8]) -> KeyError? {
  do {
    _ = try PrivateKey(text)
    return nil
  } catch {
    return error
  }
}

private func failure(_ text: String) -> KeyError? { failure(Array(text.utf8)) }

@Suite struct PrivateKeyTests {
  static let pkcs8 = KeyFixtures.p256PKCS8
  static let sec1 = KeyFixtures.p256SEC1
  /// What `openssl pkcs12` writes before a block.
  static let bag =
    "Bag Attributes\n    localKeyID: E0 ED \n    friendlyName: Schl\u{fc}ssel\nKey Attributes: <No Attributes>\n"

  /// One key in every form that has been seen in a variable or a file.
  static let spellings: [(String, [UInt8])] = [
    ("PEM PKCS#8", Array(pkcs8.utf8)),
    ("PEM SEC1", Array(sec1.utf8)),
    ("PEM SEC1 with a compressed point", Array(KeyFixtures.p256Compressed.utf8)),
    ("PEM SEC1 without the public half", Array(KeyFixtures.p256WithoutPublic.utf8)),
    ("PEM with CRLF", Array(replacing("\n", with: "\r\n", in: pkcs8).utf8)),
    ("PEM with \\n escapes", Array(replacing("\n", with: "\\n", in: pkcs8).utf8)),
    (
      "PEM SEC1 with \\n escapes and a final one",
      Array((replacing("\n", with: "\\n", in: sec1) + "\\n").utf8)
    ),
    ("PEM with escapes escaped again", Array(replacing("\n", with: #"\\n"#, in: pkcs8).utf8)),
    ("PEM with escapes escaped thrice", Array(replacing("\n", with: #"\\\\n"#, in: pkcs8).utf8)),
    ("PEM after a byte order mark", Array(("\u{FEFF}" + pkcs8).utf8)),
    ("PEM with \\r\\n escapes", Array(replacing("\n", with: "\\r\\n", in: pkcs8).utf8)),
    ("PEM on one line with spaces", Array(replacing("\n", with: " ", in: pkcs8).utf8)),
    ("PEM without any space", Array(pkcs8.utf8.filter { $0 != 0x20 && $0 != 0x0A })),
    ("PEM indented", Array(("  " + replacing("\n", with: "\n  ", in: pkcs8) + "\n\n").utf8)),
    ("PEM in double quotes", Array(("\"" + replacing("\n", with: "\\n", in: pkcs8) + "\"").utf8)),
    ("PEM in single quotes", Array(("'" + pkcs8 + "'\n").utf8)),
    ("PKCS#8 under the SEC1 label", Array(replacing(" PRIVATE", with: " EC PRIVATE", in: pkcs8).utf8)),
    ("SEC1 under the PKCS#8 label", Array(replacing(" EC PRIVATE", with: " PRIVATE", in: sec1).utf8)),
    ("bare Base64 of PKCS#8", Array(body(of: pkcs8).utf8)),
    ("bare Base64 of SEC1", Array(body(of: sec1).utf8)),
    (
      "bare Base64 in lines",
      Array(pkcs8.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n").utf8)
    ),
    (
      "bare Base64 with \\n escapes",
      Array((body(of: sec1).prefix(64) + "\\n" + body(of: sec1).dropFirst(64)).utf8)
    ),
    ("bare Base64 without padding", Array(body(of: sec1).filter { $0 != "=" }.utf8)),
    ("Base64url", Array(Base64URL.encode(der(of: pkcs8)).utf8)),
    ("Base64 of a PEM", Array(Base64.encode(Array((pkcs8 + "\n").utf8)).utf8)),
    (
      "Base64 of a PEM with \\n escapes",
      Array(Base64.encode(Array(replacing("\n", with: "\\n", in: sec1).utf8)).utf8)
    ),
    ("what openssl pkcs12 writes around a key", Array((bag + pkcs8 + "\n").utf8)),
    ("that with \\n escapes", Array(replacing("\n", with: "\\n", in: bag + pkcs8).utf8)),
    ("that with CRLF", Array(replacing("\n", with: "\r\n", in: bag + pkcs8).utf8)),
    ("Base64 of that", Array(Base64.encode(Array((bag + pkcs8).utf8)).utf8)),
    ("a key and its certificate", Array((pkcs8 + "\n" + KeyFixtures.certificate).utf8)),
    (
      "what openssl pkcs12 writes of certificate and key",
      Array((bag + KeyFixtures.certificate + "\n" + bag + sec1 + "\n").utf8)
    ),
    ("raw PKCS#8 DER", der(of: pkcs8)),
    ("raw SEC1 DER", der(of: sec1)),
  ]

  @Test(arguments: spellings) func `every spelling gives the same key`(name: String, text: [UInt8]) throws {
    let key = try PrivateKey(text)
    #expect(key.kind == .p256)
    #expect(try key.publicKey == PublicKey(KeyFixtures.p256Public))
  }

  @Test func `the other kinds are read`() throws {
    #expect(try PrivateKey(KeyFixtures.p384).kind == .p384)
    #expect(try PrivateKey(KeyFixtures.rsa2048).kind == .rsa(bits: 2048))
    #expect(try PrivateKey(KeyFixtures.ed25519).kind == .ed25519)
    #expect(try PrivateKey(KeyFixtures.withParameters).kind == .p256)
    let publicKey = try PublicKey(KeyFixtures.rsa2048Public)
    #expect(try PrivateKey(KeyFixtures.rsa2048PKCS1).publicKey == publicKey)
    #expect(try PrivateKey(body(of: KeyFixtures.rsa2048PKCS1)).publicKey == publicKey)
  }

  /// Other texts that people paste, and the beginning of the message for each.
  static let refusals: [(String, String)] = [
    ("", "there is no key"),
    (" \n\\n\"\" ", "there is no key"),
    (KeyFixtures.p256Public, "this is a public key; the private key is needed"),
    (body(of: KeyFixtures.p256Public), "this is a public key; the private key is needed"),
    (KeyFixtures.rsa2048PublicPKCS1, "this is a public key; the private key is needed"),
    (body(of: KeyFixtures.rsa2048PublicPKCS1), "this is a public key; the private key is needed"),
    (KeyFixtures.certificate, "this is a certificate; give the key itself"),
    (body(of: KeyFixtures.certificate), "this is a certificate; give the key itself"),
    (KeyFixtures.certificateRequest, "this is a certificate request; give the key itself"),
    (body(of: KeyFixtures.certificateRequest), "this is a certificate request; give the key itself"),
    (KeyFixtures.p256Encrypted, "this private key is encrypted with a passphrase; decrypt it once"),
    (body(of: KeyFixtures.p256Encrypted), "this private key is encrypted with a passphrase; decrypt it once"),
    (KeyFixtures.p256EncryptedLegacy, "this private key is encrypted with a passphrase; decrypt it once"),
    (replacing("\n", with: "\\n", in: KeyFixtures.p256EncryptedLegacy), "this private key is encrypted"),
    (KeyFixtures.openSSH, "this is a key in OpenSSH's own form; convert a copy with: ssh-keygen"),
    (Base64.encode([0x30, 7, 2, 1, 3, 0x30, 0, 0x30, 0]), "this is a PKCS#12 bundle; extract the key"),
    (#"{"kty":"EC","crv":"P-256"}"#, "this is JSON; give the private key as PEM or as Base64"),
    (
      KeyFixtures.p256PKCS8 + "\n" + KeyFixtures.p384,
      "there is more than one PEM block; leave exactly one key"
    ),
    (
      bag + KeyFixtures.p256PKCS8 + "\n" + bag + KeyFixtures.p256PKCS8, "there is more than one PEM block"
    ),
    (bag + KeyFixtures.certificate, "this is a certificate; give the key itself"),
    (KeyFixtures.certificate + "\n" + KeyFixtures.p256Public, "this is a public key"),
    (KeyFixtures.certificate + "\n" + KeyFixtures.p256Encrypted, "this private key is encrypted"),
    ("A=" + KeyFixtures.p384 + "\n" + KeyFixtures.p256PKCS8, "there is text before -----BEGIN"),
    ("TD_PRIVATE_KEY=" + KeyFixtures.p256PKCS8, "there is text before -----BEGIN"),
    (KeyFixtures.p256PKCS8 + "\nand more", "there is text before -----BEGIN on its line or after"),
    (String(KeyFixtures.p256PKCS8.dropLast(30)), "the PEM block has no matching -----END line"),
    (
      replacing("END PRIVATE", with: "END EC PRIVATE", in: KeyFixtures.p256PKCS8),
      "the PEM block has no matching"
    ),
    ("-----BEGIN", "the PEM block has no matching -----END line"),
    ("-----BEGIN PGP MESSAGE-----\nAAAA\n-----END PGP MESSAGE-----", "the PEM block is not a key"),
    ("-----BEGIN EC PARAMETERS-----\nAAAA\n-----END EC PARAMETERS-----", "the PEM block is not a key"),
    ("-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----", "this is neither PEM nor Base64"),
    ("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----", "this is neither PEM nor Base64"),
    ("not a key!", "this is neither PEM nor Base64"),
    (
      Base64.encode([UInt8](repeating: 7, count: 32)),
      "the Base64 decodes to 32 bytes, which are not the DER form"
    ),
    (Base64.encode(Array("just some words".utf8)), "the Base64 decodes to 15 bytes"),
    (
      Base64.encode(der(of: KeyFixtures.p256PKCS8) + [0]),
      "1 bytes follow the end of the key; leave exactly one key"
    ),
    (
      Base64.encode(der(of: KeyFixtures.p256SEC1) + der(of: KeyFixtures.p256SEC1)),
      "121 bytes follow the end of the key"
    ),
    (KeyFixtures.rsa1024, "this RSA key has 1024 bits; at least 2048 are needed"),
    (KeyFixtures.rsaPSS, "this is a key of type RSA-PSS, which no supported algorithm uses"),
    (KeyFixtures.x25519, "this is a key of type X25519, which no supported algorithm uses"),
    (KeyFixtures.secp256k1, "this is a key of type EC on secp256k1, which no supported algorithm uses"),
    (KeyFixtures.p256Explicit, "this is a key of type EC with explicit parameters"),
  ]

  @Test(arguments: refusals) func `a wrong key is refused with its reason`(text: String, message: String) {
    let description = failure(text)?.description ?? "accepted"
    #expect(description.hasPrefix(message), "\(description)")
  }

  @Test func `a damaged key is refused`() {
    let pkcs8 = der(of: KeyFixtures.p256PKCS8)
    #expect(Array(pkcs8[34..<36]) == [0x04, 0x20], "the scalar follows")
    var scalar = pkcs8
    scalar[40] ^= 1
    var point = pkcs8
    point[pkcs8.count - 1] ^= 1
    var zero = pkcs8
    zero.replaceSubrange(36..<68, with: [UInt8](repeating: 0, count: 32))
    for damaged in [scalar, point, zero] {
      guard case .invalid = failure(damaged) else {
        Issue.record("accepted or misjudged: \(String(describing: failure(damaged)))")
        continue
      }
    }
    var rsa = der(of: KeyFixtures.rsa2048)
    rsa[rsa.count - 10] ^= 1
    guard case .invalid = failure(rsa) else {
      Issue.record("an RSA key with a wrong coefficient was accepted")
      return
    }
  }

  @Test func `every way to cut a key short is refused`() {
    let pkcs8 = der(of: KeyFixtures.p256PKCS8)
    for count in 0..<pkcs8.count { #expect(failure(Array(pkcs8[..<count])) != nil, "\(count) bytes") }
    let pem = Array(KeyFixtures.p256PKCS8.utf8)
    for count in 0..<pem.count { #expect(failure(Array(pem[..<count])) != nil, "\(count) bytes") }
  }

  @Test func `mutated keys are refused or read, and no message holds the key`() {
    let pem = Array(KeyFixtures.p256SEC1.utf8)
    let scalar = body(of: KeyFixtures.p256SEC1).dropFirst(12).prefix(40)
    var state: UInt64 = 7
    for _ in 0..<3000 {
      var text = pem
      for _ in 0..<3 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text[Int(state >> 33) % text.count] = UInt8(truncatingIfNeeded: state >> 20)
      }
      if let error = failure(text) { #expect(!error.description.contains(scalar)) }
    }
  }

  @Test func `a text of the greatest length is looked at and one byte more is not`() {
    let space = [UInt8](repeating: 0x20, count: KeyText.maximumBytes)
    #expect(failure(space) == .empty)
    #expect(failure(space + [0x20]) == .tooLong)
  }

  @Test func `a private key shows nothing when printed`() throws {
    let key = try PrivateKey(KeyFixtures.p256PKCS8)
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped, "\([key])"] {
      #expect(text.contains("<redacted>"))
      #expect(!text.contains("handle"))
    }
  }
}

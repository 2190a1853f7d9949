// Extracts the DER of a key from the formats in which people paste keys.

import Texts

/// Converts what people paste into the DER of a key: PEM with any key label, with `\n` escapes or squeezed
/// onto one line, bare Base64 with or without line breaks, Base64 of a whole PEM, or DER itself. Never
/// prompts, reads a file or calls a decoder.
enum KeyText {
  /// The maximum length of a text, in bytes. An RSA-8192 key as Base64 of a PEM has about 9 kB.
  static let maximumBytes = 65_536

  /// Whether a private or a public key is wanted; labels and refusals depend on it.
  enum Half { case privateKey, publicKey }

  /// The DER of the key in a text, and its shape.
  ///
  /// - Throws: `KeyError` that says what the text is instead.
  static func der(of text: [UInt8], _ half: Half) throws(KeyError) -> (der: [UInt8], shape: DERShape) {
    guard text.count <= maximumBytes else { throw .tooLong }
    guard !text.isUTF16 else { throw .otherThing(name: "UTF-16 text", remedy: "save the file as UTF-8") }
    // `openssl pkcs12` may write letters beyond ASCII around a PEM block.
    let isDER = isBinary(text) && find("-----BEGIN", in: text, from: 0) == nil
    var der = isDER ? text : try decoded(text, half, mayNest: true)
    do throws(KeyError) {
      let (shape, trailing) = DERShape.of(der)
      let refusal = half == .privateKey ? shape.refusalAsPrivateKey : shape.refusalAsPublicKey
      if let refusal { throw refusal }
      guard shape != .unknown else { throw .notDER(bytes: der.count) }
      guard trailing == 0 else { throw .trailingData(bytes: trailing) }
      return (der, shape)
    } catch {
      wipe(&der)
      throw error
    }
  }

  /// Whether the bytes cannot be text, and are treated as DER.
  private static func isBinary(_ bytes: [UInt8]) -> Bool {
    bytes.dropFirst(markLength(bytes)).contains { $0 >= 0x7F || ($0 < 0x20 && !isSpace($0)) }
  }

  /// The length of the byte order mark at the start; 0 without one.
  private static func markLength(_ text: [UInt8]) -> Int { text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0 }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  private static func decoded(_ text: [UInt8], _ half: Half, mayNest: Bool) throws(KeyError) -> [UInt8] {
    var plain = unescaped(text)
    defer { wipe(&plain) }
    guard let first = plain.first else { throw .empty }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { throw .json }
    if find("-----BEGIN", in: plain, from: 0) != nil { return try pemBody(plain, half) }
    guard var bytes = lenientBase64(plain) else { throw .notBase64 }
    guard mayNest, find("-----BEGIN", in: bytes, from: 0) != nil else { return bytes }
    defer { wipe(&bytes) }
    return try decoded(bytes, half, mayNest: false)
  }

  /// The text without what files and variables add to it: byte order mark, surrounding white space and
  /// quotes. The two characters `\n` (or `\r`) become a line break. So does `\\n`, from tools that escape a
  /// text twice.
  fileprivate static func unescaped(_ text: [UInt8]) -> [UInt8] {
    var plain: [UInt8] = []
    plain.reserveCapacity(text.count)
    var index = markLength(text)
    while index < text.count {
      let end = text[index...].firstIndex { $0 != UInt8(ascii: "\\") } ?? text.count
      if end > index, end < text.count, text[end] == UInt8(ascii: "n") || text[end] == UInt8(ascii: "r") {
        plain.append(0x0A)
        index = end + 1
      } else {
        let next = max(end, index + 1)
        plain += text[index..<next]
        index = next
      }
    }
    trim(&plain)
    for quote in [UInt8(ascii: "\""), UInt8(ascii: "'")]
    where plain.count >= 2 && plain.first == quote && plain.last == quote {
      plain.removeFirst()
      plain.removeLast()
      trim(&plain)
    }
    return plain
  }

  private static func trim(_ text: inout [UInt8]) {
    while let last = text.last, isSpace(last) { text.removeLast() }
    text.removeFirst(text.prefix(while: isSpace).count)
  }

  // MARK: - PEM (RFC 7468)

  /// The content of the only key in a text. As in OpenSSL, lines between the blocks are ignored, and
  /// certificates may accompany the key, because `openssl pkcs12` writes both.
  private static func pemBody(_ text: [UInt8], _ half: Half) throws(KeyError) -> [UInt8] {
    var position = 0
    var body: [UInt8] = []
    var hasCertificate = false
    var isWhole = false
    defer { if !isWhole { wipe(&body) } }
    while position < text.count {
      guard let start = blockStart(in: text, from: position) else { throw .textAroundPEM }
      let labelStart = start + 10
      guard let labelEnd = find("-----", in: text, from: labelStart) else { throw .unterminatedPEM }
      let label = compact(text[labelStart..<labelEnd])
      guard let end = find("-----END", in: text, from: labelEnd + 5),
        let close = find("-----", in: text, from: end + 8),
        compact(text[end + 8..<close]) == label
      else { throw .unterminatedPEM }
      switch label {
      // `openssl ecparam -genkey` writes the curve in a block of its own before the key.
      case "ECPARAMETERS": break
      case "CERTIFICATE", "X509CERTIFICATE", "TRUSTEDCERTIFICATE": hasCertificate = true
      default:
        try check(label, half)
        guard body.isEmpty else { throw .severalBlocks }
        body = try pemContent(text[labelEnd + 5..<end])
      }
      position = close + 5
      while position < text.count, isSpace(text[position]) { position += 1 }
    }
    guard !body.isEmpty else { throw hasCertificate ? .certificate : .unknownLabel }
    isWhole = true
    return body
  }

  /// The next `-----BEGIN`; nil without one, or if other text precedes it on its line.
  private static func blockStart(in text: [UInt8], from position: Int) -> Int? {
    guard let start = find("-----BEGIN", in: text, from: position) else { return nil }
    return start == position || text[start - 1] == 0x0A || text[start - 1] == 0x0D ? start : nil
  }

  /// The label without spaces, which a variable may have lost.
  private static func compact(_ label: ArraySlice<UInt8>) -> String {
    String(decoding: label.filter { !isSpace($0) }, as: UTF8.self)
  }

  private static func check(_ label: String, _ half: Half) throws(KeyError) {
    switch label {
    // People mix up these labels so often that only the body decides which format it is.
    case "PRIVATEKEY", "ECPRIVATEKEY", "RSAPRIVATEKEY":
      if half == .publicKey { throw .privateKey }
    case "PUBLICKEY", "RSAPUBLICKEY":
      if half == .privateKey { throw .publicKey }
    case "ENCRYPTEDPRIVATEKEY": throw half == .privateKey ? .encrypted : .privateKey
    case "OPENSSHPRIVATEKEY": throw .openSSH
    case "CERTIFICATEREQUEST", "NEWCERTIFICATEREQUEST": throw .certificateRequest
    default: throw .unknownLabel
    }
  }

  private static func pemContent(_ body: ArraySlice<UInt8>) throws(KeyError) -> [UInt8] {
    // Today, RFC 1421's header lines appear only in keys encrypted with a passphrase.
    if find("ENCRYPTED", in: Array(body), from: 0) != nil, body.contains(UInt8(ascii: ":")) {
      throw .encrypted
    }
    guard let bytes = lenientBase64(Array(body)) else { throw .notBase64 }
    return bytes
  }

  /// Decodes Base64 in either alphabet, with white space anywhere, with or without padding. Nil if it is not
  /// Base64.
  private static func lenientBase64(_ text: [UInt8]) -> [UInt8]? {
    var characters = text.filter { !isSpace($0) }
    defer { wipe(&characters) }
    for _ in 0..<2 where characters.last == UInt8(ascii: "=") { characters.removeLast() }
    for index in characters.indices {
      if characters[index] == UInt8(ascii: "+") { characters[index] = UInt8(ascii: "-") }
      if characters[index] == UInt8(ascii: "/") { characters[index] = UInt8(ascii: "_") }
    }
    return characters.isEmpty ? nil : Base64URL.decode(characters.span)
  }

  private static func find(_ pattern: String, in text: [UInt8], from start: Int) -> Int? {
    let pattern = Array(pattern.utf8)
    guard text.count >= start + pattern.count else { return nil }
    return (start...text.count - pattern.count).first {
      text[$0] == pattern[0] && text[$0...].starts(with: pattern)
    }
  }
}

/// Handles PEM texts of certificates, which are not keys.
package enum PEMText {
  /// The text cleaned up like that of a key: escaped line breaks become real ones, and byte order mark,
  /// quotes and surrounding white space are removed.
  package static func withLineBreaks(_ text: [UInt8]) -> [UInt8] { KeyText.unescaped(text) }

  /// The name of a binary format given instead of certificates in PEM, and the command that converts it to
  /// PEM; nil for anything else.
  package static func otherForm(_ bytes: [UInt8]) -> (name: String, remedy: String)? {
    switch DERShape.of(bytes).shape {
    case .certificate:
      ("a certificate in DER", "convert it with: openssl x509 -inform DER -in FILE -out NEWFILE")
    case .pkcs12:
      ("a PKCS#12 bundle", "extract the certificates with: openssl pkcs12 -nokeys -in FILE -out NEWFILE")
    case .pkcs8, .sec1, .rsaPrivate, .encryptedPKCS8, .subjectPublicKeyInfo, .rsaPublic, .certificateRequest,
      .unknown:
      nil
    }
  }
}

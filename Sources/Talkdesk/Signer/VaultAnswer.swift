// Reads the responses of Vault and OpenBao, whose bytes are not trusted.

package import JOSE
import JSON

/// The parts of Vault's responses that the server uses. Everything else in them is ignored.
package enum VaultAnswer {
  /// The maximum size of a response, in octets. A key with a hundred versions of RSA-4096 has 90 KiB.
  package static let longest = 256 * 1024
  /// The maximum length of a token, in octets. Vault's tokens have fewer than 200, JWTs as tokens fewer than
  /// 2048.
  package static let longestToken = 4096
  /// The maximum lifetime of a token, in seconds: a year. A longer one is reduced to it.
  static let longestLease: Int64 = 366 * 86_400

  /// A signature and the version of the key that made it.
  package struct Signature: Hashable, Sendable {
    package let version: Int64
    package let bytes: [UInt8]
  }

  /// The public side of a key.
  package struct Key: Sendable {
    /// Vault's name for the key's type, such as `ecdsa-p256`: at most 32 letters, digits and hyphens, or else
    /// `unknown`.
    package let type: String
    /// Whether keys of this type sign (`supports_signing`).
    package let signs: Bool
    package let latest: Int64
    /// The lowest version that signs: `min_encryption_version`, 0 for all.
    package let minimum: Int64
    fileprivate let texts: [Int64: String]

    /// The versions that sign, the newest first.
    package var usableVersions: [Int64] { texts.keys.filter { $0 >= minimum }.sorted(by: >) }

    /// The public key of a version; nil if there is none. Reading an RSA key takes time, so no other version
    /// is read.
    package func publicKey(_ version: Int64) throws(KeyError) -> PublicKey? {
      guard let text = texts[version] else { return nil }
      return try PublicKey(text)
    }
  }

  /// A token and its lifetime.
  package struct Login: Sendable {
    package let token: Secret
    /// The lifetime in seconds; 0 for a token that never expires.
    package let lease: Int64
    package let isRenewable: Bool
  }

  /// The signature in the member `data.signature`: `vault:v3:` and the bytes, for ECDSA as Base64url of R ‖
  /// S, for RSA as Base64.
  package static func signature(in content: [UInt8]) -> Signature? {
    guard let text = object(content)?["data"]?["signature"]?.string else { return nil }
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].elementsEqual("vault".utf8), parts[1].first == UInt8(ascii: "v"),
      let version = number(parts[1].dropFirst()), let bytes = bytes(Array(parts[2]))
    else { return nil }
    return Signature(version: version, bytes: bytes)
  }

  /// The public side of a key, from the member `data`.
  package static func key(in content: [UInt8]) -> Key? {
    guard let data = object(content)?["data"], let type = data["type"]?.string,
      let latest = data["latest_version"]?.int(in: 1...Int64.max), let keys = data["keys"]?.object
    else { return nil }
    var texts: [Int64: String] = [:]
    for (name, value) in keys.members {
      guard let version = number(Array(name.utf8)[...]), let pem = value["public_key"]?.string else {
        continue
      }
      texts[version] = pem
    }
    let minimum = data["min_encryption_version"]?.int(in: 0...Int64.max) ?? 0
    let isName =
      (1...32).contains(type.utf8.count)
      && type.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    return Key(
      type: isName ? type : "unknown", signs: data["supports_signing"] != .bool(false), latest: latest,
      minimum: minimum,
      texts: texts)
  }

  /// The token and its lifetime, from the member `auth` of a login or a renewal.
  package static func login(in content: [UInt8]) -> Login? {
    guard let auth = object(content)?["auth"], let token = auth["client_token"]?.string,
      (1...longestToken).contains(token.utf8.count), token.utf8.allSatisfy(isTokenOctet),
      let lease = auth["lease_duration"]?.int(in: 0...Int64.max)
    else { return nil }
    return Login(
      token: Secret(token), lease: min(lease, longestLease), isRenewable: auth["renewable"] == .bool(true))
  }

  /// The first of `errors`: at most 80 octets, and only words of at most 16 letters each, so that no token,
  /// secret or number that was sent is logged.
  package static func errors(in content: [UInt8]) -> String? {
    guard let text = object(content)?["errors"]?.array?.first?.string else { return nil }
    let words = text.utf8.prefix(1024).split { $0 <= 0x20 }.compactMap { part -> String? in
      let word = part.drop { !isWordOctet($0) }.reversed().drop { !isWordOctet($0) }
      guard (1...16).contains(word.count), word.allSatisfy(isLetter) else { return nil }
      return String(decoding: word.reversed(), as: UTF8.self)
    }
    var line = ""
    for word in words where line.utf8.count + word.utf8.count < 80 {
      line += line.isEmpty ? word : " " + word
    }
    return line.isEmpty ? nil : line
  }

  /// The host and port of a `Location`, without user and path: at most 260 octets of `A–Z a–z 0–9 . - _ : [
  /// ]`. Nil if there is no host or it has other octets.
  package static func host(ofLocation location: String) -> String? {
    guard let scheme = location.utf8.firstRange(of: "//".utf8) else { return nil }
    let authority = location[scheme.upperBound...].utf8.prefix { ![0x2F, 0x3F, 0x23, 0x5C].contains($0) }
    let host =
      authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] }
      ?? authority
    guard (1...260).contains(host.count),
      host.allSatisfy({
        isLetter($0) || (0x30...0x39).contains($0) || [0x2D, 0x2E, 0x3A, 0x5B, 0x5D, 0x5F].contains($0)
      })
    else { return nil }
    return String(Substring(host))
  }

  /// Whether a token may contain the octet, so that a header field can carry it.
  package static func isTokenOctet(_ octet: UInt8) -> Bool { (0x21...0x7E).contains(octet) }

  /// Whether the octet belongs to a word. All other octets are trimmed from the ends of a word: `*`, `:`,
  /// quotation marks.
  private static func isWordOctet(_ octet: UInt8) -> Bool {
    isLetter(octet) || (0x30...0x39).contains(octet) || octet >= 0x80
  }

  private static func isLetter(_ octet: UInt8) -> Bool { (0x61...0x7A).contains(octet | 0x20) }

  private static func object(_ content: [UInt8]) -> JSONValue? {
    guard content.count <= longest else { return nil }
    do {
      return try JSONValue(parsing: content, limits: JSONLimits(bytes: longest, depth: 8, members: 4096))
    } catch {
      return nil
    }
  }

  /// A version: decimal digits without a leading zero.
  private static func number(_ digits: some Collection<UInt8>) -> Int64? {
    guard (1...18).contains(digits.count), digits.first != UInt8(ascii: "0"),
      digits.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return Int64(String(decoding: digits, as: UTF8.self))
  }

  /// Decodes Base64 of either alphabet, with or without padding: Vault's own responses differ.
  private static func bytes(_ text: [UInt8]) -> [UInt8]? {
    let bare = text.prefix { $0 != UInt8(ascii: "=") }
    guard !bare.isEmpty, text.count - bare.count <= 2,
      text[bare.endIndex...].allSatisfy({ $0 == UInt8(ascii: "=") })
    else { return nil }
    let url = bare.map { octet in
      switch octet {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: octet
      }
    }
    return Base64URL.decode(url.span)
  }
}

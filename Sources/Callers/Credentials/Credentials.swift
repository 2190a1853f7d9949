// Parses the credentials in an `Authorization` field.

import HTTP
import JOSE
import Store
import Texts

/// The credentials of an `Authorization` field (RFC 9110 §11.6.2).
enum Credentials {
  case basic(UserPass)
  /// The range of the token in the field's value.
  case bearer(Range<Int>)
  /// The range of a token that is bound to a key (RFC 9449 §7.1).
  case dpop(Range<Int>)

  /// A user name and a password (RFC 7617 §2), in one piece as they were sent.
  struct UserPass {
    let octets: [UInt8]
    /// The ranges of the name and the password in `octets`.
    let name, password: Range<Int>
    /// The installation that the name may identify.
    let installation: InstallationID?

    /// Nil without a colon. Only the first colon separates.
    init?(_ octets: [UInt8]) {
      guard let colon = octets.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      self.octets = octets
      name = 0..<colon
      password = (colon + 1)..<octets.count
      installation = InstallationID(octets: octets.span.extracting(name))
    }
  }

  /// The mistake in a value that is not valid credentials, in words for the client. The words repeat nothing
  /// of the value.
  static func mistake(in value: Span<UInt8>) -> String {
    if begins(value, with: "basic") {
      return "The Authorization header is not Basic with the Base64 of NAME:PASSWORD."
    }
    for (scheme, name) in [("bearer", "Bearer"), ("dpop", "DPoP")] as [(StaticString, String)]
    where begins(value, with: scheme) {
      var start = scheme.utf8CodeUnitCount
      while start < value.count, value[start] == UInt8(ascii: " ") { start += 1 }
      let rest = value.extracting(start...)
      if rest.isEmpty { return "The Authorization header has no token after \(name)." }
      if begins(rest, with: "bearer") || begins(rest, with: "dpop") {
        return "The Authorization header names the scheme twice. Send \(name) once, then the token."
      }
      if rest.equals(rest.indices, lowercase: "[object object]") {
        return
          "The app sent [object Object] instead of a token. Wait for the promise, or use the object's member with the token."
      }
      return "The token after \(name) contains a space. Send the token alone."
    }
    return "The Authorization header is neither Basic nor Bearer."
  }

  /// Whether a value is a scheme alone or followed by a space.
  private static func begins(_ value: Span<UInt8>, with scheme: StaticString) -> Bool {
    let count = scheme.utf8CodeUnitCount
    return value.count >= count && value.equals(0..<count, lowercase: scheme)
      && (value.count == count || value[count] == UInt8(ascii: " "))
  }

  /// The word that an app sent because it has no token or key; nil for a possible token or key.
  static func placeholder(_ token: Span<UInt8>) -> String? {
    let words: [StaticString] = ["undefined", "null", "(null)", "nil", "none"]
    return words.first { token.equals(token.indices, lowercase: $0) }.map { "\($0)" }
  }

  /// Nil unless the value is a known scheme and one word after it. Also nil for Basic if the word is not
  /// Base64 of `user:password`.
  init?(_ value: Span<UInt8>) {
    guard let space = value.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    var start = space
    while start < value.count, value[start] == UInt8(ascii: " ") { start += 1 }
    guard start < value.count, value.firstIndex(of: UInt8(ascii: " "), from: start) == nil else { return nil }
    if value.equals(0..<space, lowercase: "basic") {
      guard let pair = Base64.decode(value.extracting(start...)).flatMap(UserPass.init) else { return nil }
      self = .basic(pair)
    } else if value.equals(0..<space, lowercase: "bearer") {
      self = .bearer(start..<value.count)
    } else if value.equals(0..<space, lowercase: "dpop") {
      self = .dpop(start..<value.count)
    } else {
      return nil
    }
  }
}

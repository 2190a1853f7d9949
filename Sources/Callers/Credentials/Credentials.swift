// The credentials of an `Authorization` field, as they were sent.

import HTTP
import JOSE
import Store
import Texts

/// The credentials of an `Authorization` field (RFC 9110 §11.6.2).
enum Credentials {
  case basic(UserPass)
  /// The range of the token in the field's value.
  case bearer(Range<Int>)
  /// The same of a token that is bound to a key (RFC 9449 §7.1).
  case dpop(Range<Int>)

  /// A user name and a password (RFC 7617 §2), in one piece as they were sent.
  struct UserPass {
    let octets: [UInt8]
    /// The ranges of both.
    let name, password: Range<Int>
    /// The installation that the name may be.
    let installation: InstallationID?

    /// Nil without a colon; only the first one divides.
    init?(_ octets: [UInt8]) {
      guard let colon = octets.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      self.octets = octets
      name = 0..<colon
      password = (colon + 1)..<octets.count
      installation = InstallationID(octets: octets.span.extracting(name))
    }
  }

  /// Whether a value names the scheme Basic, whatever follows.
  static func isBasic(_ value: Span<UInt8>) -> Bool {
    let name = 5
    return value.count >= name && value.equals(0..<name, lowercase: "basic")
      && (value.count == name || value[name] == UInt8(ascii: " "))
  }

  /// Nil for another scheme, and for Basic that is not Base64 of `user:password`.
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

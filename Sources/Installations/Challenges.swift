// Challenges for attestations. A challenge proves that an attestation is fresh, and is not stored until it is
// used.

package import JOSE
import Platform
package import Sealing

/// Creates challenges, and recognizes this server's own challenges.
///
/// A challenge is 32 bytes: its time of creation in seconds, a random number, and a code (HMAC) of both for
/// one app.
package struct Challenges: Sendable {
  /// The lifetime of a challenge, in seconds.
  package static let lifetime: Int64 = 300
  /// The number of seconds by which another instance's clock may be ahead of this one's.
  private static let leeway: Int64 = 60
  private static let contentBytes = 16
  /// The number of seconds for which a request may be repeated after its challenge has expired: ten minutes,
  /// plus the leeway for another clock.
  private static let repetition: Int64 = 600 + leeway

  private let keys: StoreKeys

  package init(keys: StoreKeys) { self.keys = keys }

  /// Makes a challenge for an app: 43 characters of base64url.
  package func make(for appID: String, at seconds: Int64) throws(OpenSSLError) -> String {
    let content = Self.bytes(of: seconds) + (try RandomBytes.make(8))
    return Base64URL.encode(content + Self.code(keys.current, content, appID))
  }

  /// The state of a text as a challenge for an app.
  package enum Standing: Hashable, Sendable {
    /// The challenge is valid, unless it was already used.
    case good
    /// The challenge has expired. A request that used it before may still be repeated.
    case over
    /// The text is not this server's challenge, belongs to another app, expired too long ago, or was made
    /// later than the leeway for clocks allows.
    case foreign
  }

  /// Checks a text as a challenge for an app, with either key during a rotation of the store key.
  package func standing(of text: String, for appID: String, at seconds: Int64) -> Standing {
    guard text.utf8.count == 43, let bytes = Base64URL.decode(text) else { return .foreign }
    let content = Array(bytes[..<Self.contentBytes])
    let code = Array(bytes[Self.contentBytes...])
    guard keys.all.contains(where: { constantTimeEqual(Self.code($0, content, appID), code) }) else {
      return .foreign
    }
    let made = Int64(bitPattern: content[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    guard made <= seconds.addingClamped(Self.leeway) else { return .foreign }
    let end = made.addingClamped(Self.lifetime)
    if seconds < end { return .good }
    return seconds < end.addingClamped(Self.repetition) ? .over : .foreign
  }

  private static func code(_ key: StoreKey, _ content: [UInt8], _ appID: String) -> [UInt8] {
    let secret = key.derived(.challenge, count: 32)
    return Array(HMAC.code(content + Array(appID.utf8), key: secret, .sha256)[..<16])
  }

  private static func bytes(of seconds: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: seconds >> Int64(56 - 8 * $0)) }
  }
}

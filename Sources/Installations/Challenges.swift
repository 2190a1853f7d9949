// Challenges for attestations, which prove that an attestation is fresh. No store has them until they are used.

package import JOSE
import Platform
package import Sealing

/// Makes challenges, and tells those of this server.
///
/// A challenge is 32 bytes: the second it was made in, a random number, and a code of both for one app.
package struct Challenges: Sendable {
  /// How many seconds a challenge is good for.
  package static let lifetime: Int64 = 300
  /// Seconds by which another instance's clock may be ahead of this one's.
  private static let leeway: Int64 = 60
  private static let contentBytes = 16
  /// How long after the end of a challenge there may be a repetition of a request that has used it: ten minutes, by another clock too.
  private static let repetition: Int64 = 600 + leeway

  private let keys: StoreKeys

  package init(keys: StoreKeys) { self.keys = keys }

  /// Makes a challenge for an app: 43 characters of base64url.
  package func make(for appID: String, at seconds: Int64) throws(OpenSSLError) -> String {
    let content = Self.bytes(of: seconds) + (try RandomBytes.make(8))
    return Base64URL.encode(content + Self.code(keys.current, content, appID))
  }

  /// What a text is as a challenge for an app.
  package enum Standing: Hashable, Sendable {
    /// It is good, if it was not used.
    case good
    /// It has expired. A request that used it before may still be repeated.
    case over
    /// It is not this server's, is another app's, or has been over for long.
    case foreign
  }

  /// What a text is as a challenge for an app, with either key during a rotation of the store key.
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

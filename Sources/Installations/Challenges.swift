// Challenges for attestations, which prove that an attestation is fresh. No store has them until they are used.

package import JOSE
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

  private let keys: StoreKeys

  package init(keys: StoreKeys) { self.keys = keys }

  /// Makes a challenge for an app: 43 characters of base64url.
  package func make(for appID: String, at seconds: Int64) throws(OpenSSLError) -> String {
    let content = Self.bytes(seconds) + (try RandomBytes.make(8))
    return Base64URL.encode(content + Self.code(keys.current, content, appID))
  }

  /// Whether a text is a challenge of this server for an app that is not over, with either key during a rotation of the store key.
  package func isValid(_ text: String, for appID: String, at seconds: Int64) -> Bool {
    guard text.utf8.count == 43, let bytes = Base64URL.decode(text) else { return false }
    let content = Array(bytes[..<Self.contentBytes])
    let code = Array(bytes[Self.contentBytes...])
    guard keys.all.contains(where: { constantTimeEqual(Self.code($0, content, appID), code) }) else {
      return false
    }
    let made = Int64(bitPattern: content[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    return made <= seconds + Self.leeway && seconds < made + Self.lifetime
  }

  private static func code(_ key: StoreKey, _ content: [UInt8], _ appID: String) -> [UInt8] {
    let secret = key.derived(.challenge, count: 32)
    return Array(HMAC.code(content + Array(appID.utf8), key: secret, .sha256)[..<16])
  }

  private static func bytes(_ seconds: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: seconds >> Int64(56 - 8 * $0)) }
  }
}

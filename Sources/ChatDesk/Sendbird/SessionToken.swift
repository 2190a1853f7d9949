// A user's session token with its lifetime. Prints only its fingerprint.

package import JOSE
import JSON
package import Platform
import Tokens

/// A session token of one user. Prints its fingerprint, never the token.
///
/// Small, because up to 100,000 of them are cached.
package final class SessionToken: Sendable {
  /// The token's octets: visible ASCII.
  package let secret: Secret
  /// The user of the token. Sendbird's SDK needs the user's ID together with the token.
  package let user: UserID
  private let digest: SHA256Digest
  /// The time at which the token expires. Its age is counted from before the request was sent, so that a
  /// delay cannot make it seem younger.
  package let expiresAt: Expiry
  /// The latest time to hand out the token: when 20% of its lifetime is left.
  let vendableUntil: Expiry

  /// The last millisecond of the year 9999.
  private static let latestEnd: Int64 = 253_402_300_799_999

  /// The token's SHA-256 in lower-case hex, to identify the token in logs.
  package var sha256: String { Hex.encode(digest.bytes) }

  /// Parses the content of a successful reply.
  ///
  /// - Parameters:
  ///   - sent: The time at which the request was sent: on the monotonic clock, and in milliseconds since
  ///     1970.
  ///   - life: The requested lifetime. A later `expires_at` does not extend it.
  init(
    parsing content: [UInt8], user: UserID, sent: (MonotonicTime, milliseconds: Int64), life: Duration
  ) throws(UnusableReply) {
    let object: JSONObject?
    do {
      object = try JSONValue(parsing: content).object
    } catch {
      throw .notJSON
    }
    guard let object else { throw .notJSON }
    guard let text = object["token"]?.string, !text.isEmpty else { throw .noToken }
    guard text.utf8.count <= SendbirdAPI.longestToken, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw .malformedToken }
    var life = life
    if let end = object["expires_at"]?.int(clampedTo: 0...Self.latestEnd) {
      life = min(life, .milliseconds(end.subtractingClamped(sent.milliseconds)))
    }
    guard life >= .seconds(1) else { throw .expired }
    let token = Array(text.utf8)
    secret = Secret(token)
    self.user = user
    digest = SHA256Digest(of: token)
    expiresAt = Expiry(sent.0 + life)
    vendableUntil = Expiry(sent.0 + life / 5 * 4)
  }
}

extension SessionToken: CustomStringConvertible, CustomReflectable {
  package var description: String { "<redacted, SHA-256 \(sha256.prefix(16))>" }
  package var customMirror: Mirror { Mirror(self, children: ["sha256": sha256]) }
}

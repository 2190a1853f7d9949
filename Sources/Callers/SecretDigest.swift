// The digest of a secret, which recognizes the secret without storing it.

package import JOSE

/// The SHA-256 digest of a secret: enough to recognize it, and never printed, like the secret itself.
public struct SecretDigest: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  package let value: SHA256Digest

  package init(_ value: SHA256Digest) { self.value = value }

  /// A digest of no known secret, for purposes without authentication.
  package static let unmatchable = SecretDigest(SHA256Digest.zero)

  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}

// The secret of the webhook that Talkdesk sends events to.

package import JOSE

/// The secret of a webhook. The webhook's path and its events contain tokens derived from the secret.
package struct HookSecret: Sendable {
  /// The minimum length of a secret, in octets.
  package static let leastBytes = 32

  private let pathToken: Secret
  private let eventToken: Secret

  /// Derives the tokens from a secret.
  package init(_ secret: Secret) {
    func derive(_ purpose: String) -> Secret {
      let bytes = HKDF.derive(
        from: secret, salt: Array("callgate outcomes".utf8), info: Array(purpose.utf8), count: 32)
      return Secret(Base64URL.encode(bytes.exposedBytes()))
    }
    pathToken = derive("path")
    eventToken = derive("event")
  }

  /// Whether a text is the secret last segment of this webhook's path. Compares in constant time.
  func hasPathToken(_ token: String) -> Bool { pathToken.isEqual(to: Array(token.utf8)) }

  /// Whether an event has this webhook's token.
  func hasEventToken(_ token: String) -> Bool { eventToken.isEqual(to: Array(token.utf8)) }

  /// The secret path of the webhook. Use it only to register the webhook at Talkdesk.
  package func exposedPath() -> String { "/hooks/talkdesk/" + pathToken.exposedString() }

  /// The secret token in events. Use it only to register the webhook at Talkdesk.
  package func exposedEventToken() -> String { eventToken.exposedString() }
}

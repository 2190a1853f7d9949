// The secret of the hook that Talkdesk sends events to.

package import JOSE

/// The secret of a hook. Its path and its events carry values derived from it.
package struct HookSecret: Sendable {
  /// How many octets a secret has at least.
  package static let leastBytes = 32

  private let pathToken: Secret
  private let eventToken: Secret

  /// Takes a secret.
  package init(_ secret: Secret) {
    func derive(_ purpose: String) -> Secret {
      let bytes = HKDF.derive(
        from: secret, salt: Array("callgate outcomes".utf8), info: Array(purpose.utf8), count: 32)
      return Secret(Base64URL.encode(bytes.exposedBytes()))
    }
    pathToken = derive("path")
    eventToken = derive("event")
  }

  /// Whether the last segment of a path is this hook's. The time tells nothing of it.
  func hasPathToken(_ token: String) -> Bool { pathToken.isEqual(to: Array(token.utf8)) }

  /// Whether an event has this hook's token.
  func hasEventToken(_ token: String) -> Bool { eventToken.isEqual(to: Array(token.utf8)) }

  /// The path of the hook: for the moment it is given to Talkdesk.
  package func exposedPath() -> String { "/hooks/talkdesk/" + pathToken.exposedString() }

  /// The token that events carry: for the moment it is given to Talkdesk.
  package func exposedEventToken() -> String { eventToken.exposedString() }
}

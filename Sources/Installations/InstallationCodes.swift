// Derives an installation's one-time passwords from the store key, so that no seed is stored.

package import Gate
package import JOSE
package import Sealing
package import Store

/// One-time passwords of installations. Their seeds depend on the store key, and on the installation's ID and
/// generation, so a new secret also means new passwords.
package struct InstallationCodes: Sendable {
  private let keys: StoreKeys

  package init(keys: StoreKeys) { self.keys = keys }

  /// The challenges for attestations, with the same store keys.
  package var challenges: Challenges { Challenges(keys: keys) }

  /// The secrets and request IDs for a first request whose attestation works only once.
  ///
  /// - Parameters:
  ///   - content: The digest of the request's content.
  ///   - owner: The user who sent the request; nil for none.
  ///   - since: The time at which the first request with this content arrived; nil if this is the first.
  package func repeatable(
    _ content: SHA256Digest, appID: String, owner: InstallationUser?, since: Instant?
  ) -> RepeatableRequest {
    // No text contains a NUL, so two different requests never have the same bytes.
    let texts = [appID] + (owner.map { [$0.callerID, $0.subject] } ?? [])
    let info = content.bytes + texts.flatMap { Array($0.utf8) + [0] }
    return RepeatableRequest(
      values: keys.all.map { key in
        let bytes = key.derived(.enrolment, info: info, count: 32 + 24).exposedBytes()
        return .init(
          secret: Base64URL.encode(Array(bytes[..<32])), requestID: Base64URL.encode(Array(bytes[32...])))
      }, since: since)
  }

  /// The current time-based code, and the seconds left of its step.
  package func code(_ installation: Installation, at seconds: Int64) -> (code: String, expiresIn: Int64) {
    (
      Self.code(keys.current, .totp, installation, OneTimePassword.step(at: seconds)),
      OneTimePassword.secondsLeft(at: seconds)
    )
  }

  /// Whether a code is that of a time step, with either key during a rotation of the store key.
  func isCode(_ code: String, of installation: Installation, step: Int64) -> Bool {
    let code = Array(code.utf8)
    return keys.all.contains { key in
      constantTimeEqual(Array(Self.code(key, .totp, installation, step).utf8), code)
    }
  }

  /// The code of a callback: the installation's password for a counter.
  package func callbackCode(_ installation: Installation, counter: Int64) -> String {
    Self.code(keys.current, .hotp, installation, counter)
  }

  /// Seals a callback's code for the store, tied to the callback.
  package func seal(_ code: String, for callback: CallbackID) throws(OpenSSLError) -> [UInt8] {
    try keys.seal(Array(code.utf8), for: .sealing, associated: callback.bytes)
  }

  /// Opens the sealed code of a callback.
  package func open(_ sealed: [UInt8], of callback: CallbackID) throws(StoreKeys.Failure) -> String {
    String(decoding: try keys.open(sealed, for: .sealing, associated: callback.bytes), as: UTF8.self)
  }

  private static func code(
    _ key: StoreKey, _ purpose: Purpose, _ installation: Installation, _ counter: Int64
  ) -> String {
    var info = installation.client.id.bytes
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      info.append(UInt8(truncatingIfNeeded: UInt64(bitPattern: installation.generation) >> shift))
    }
    // As long as the digest (RFC 4226 §4, R6).
    return OneTimePassword.code(seed: key.derived(purpose, info: info, count: 20), counter: counter)
  }
}

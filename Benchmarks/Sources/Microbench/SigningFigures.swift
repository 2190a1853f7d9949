// Measures how fast each algorithm signs client assertions and verifies tokens.

import JOSE
import JSON
import Platform
import Talkdesk
import Tokens

/// Making client assertions, and checking tokens of the same algorithm.
enum SigningFigures {
  /// The whole assertion, as each exchange makes it: claims with a fresh `jti`, JSON, Base64url and the signature.
  static func assertion(seconds: Double) throws -> [Figure] {
    let signer = try Signer(key: PrivateKey.generate(for: .ES256), algorithm: .ES256)
    var now = UnixTime(seconds: 1_700_000_000)
    let rate = try Stopwatch.rate(seconds: seconds) {
      now.seconds += 1
      keep(
        try ClientAssertion.make(
          clientID: "0a1b2c3d4e5f60718293a4b5c6d7e8f9", keyID: "b6f1c2a4-0d55-4c3e-9f0a-2f1d3c5e7a90",
          signer: signer, audience: "https://acme.talkdeskid.com/oauth/token", now: now))
    }
    return [.perSecond("ES256 client assertions", rate: rate)]
  }

  /// The signature alone, of a message as long as an assertion's.
  static func signature(seconds: Double) throws -> [Figure] {
    let key = try PrivateKey.generate(for: .ES256)
    let signer = try Signer(key: key, algorithm: .ES256)
    let message = [UInt8](repeating: UInt8(ascii: "e"), count: 400)
    let signature = try signer.sign(message)
    let signing = try Stopwatch.rate(seconds: seconds) { keep(try signer.sign(message)) }
    let verifying = Stopwatch.rate(seconds: seconds) {
      keep(key.publicKey.verify(signature: signature, of: message, algorithm: .ES256))
    }
    return [
      .perSecond("ES256 signatures", rate: signing), .perSecond("ES256 verifications", rate: verifying),
    ]
  }
}

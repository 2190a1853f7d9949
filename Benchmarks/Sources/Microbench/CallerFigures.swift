// Measures how fast the server authenticates a caller by JWT, for new tokens and for repeated ones.

import Callers
import JOSE
import JSON
import Platform

/// Finding out who sent a JWT, with the gateway's own authenticator.
enum CallerFigures {
  private static let now = UnixTime(seconds: 1_795_000_000)
  private static let moment = MonotonicTime(nanoseconds: 1_000_000_000_000)

  /// Tokens that come for the first time: the whole way from bytes to a caller.
  static func verification(seconds: Double) throws -> [Figure] {
    let issuer = try Issuer()
    let tokens = try (0..<2_000).map { try issuer.token(subject: "user-\($0)") }
    var next = tokens.count
    var authenticator = JWTAuthenticator(issuers: [])
    let rate = Stopwatch.rate(seconds: seconds) {
      if next == tokens.count {
        // One that has seen none of them.
        authenticator = issuer.authenticator()
        next = 0
      }
      authenticate(tokens[next], authenticator)
      next += 1
    }
    return [.perSecond("ES256 caller JWTs verified", rate: rate)]
  }

  /// A token that came before.
  static func repetition(seconds: Double) throws -> [Figure] {
    let issuer = try Issuer()
    let authenticator = issuer.authenticator()
    let token = try issuer.token(subject: "ann")
    let rate = Stopwatch.rate(seconds: seconds) { authenticate(token, authenticator) }
    return [.microseconds("a caller's JWT of \(token.count) bytes, again", rate: rate)]
  }

  private static func authenticate(_ token: [UInt8], _ authenticator: JWTAuthenticator) {
    guard case .caller(let caller) = authenticator.authenticate(token, fetched: false, now: now, at: moment)
    else { preconditionFailure("the benchmark's own token was refused") }
    keep(caller.subject.utf8.count)
  }

  /// An identity provider, and the caller who uses it.
  private struct Issuer {
    let signer: Signer
    let keys: JWKSet

    init() throws {
      let key = try PrivateKey.generate(for: .ES256)
      signer = try Signer(key: key, algorithm: .ES256)
      var members = key.publicKey.jwk()
      members["kid"] = "2026-11"
      let set: JSONValue = ["keys": [.object(members)]]
      keys = try JWKSet(parsing: set.serialized())
    }

    func token(subject: String) throws -> [UInt8] {
      let claims: JSONObject = [
        "iss": "https://id.shop.example", "aud": "callgate", "sub": .string(subject), "tier": "gold",
        "iat": .number(JSONNumber(now.seconds - 60)), "exp": .number(JSONNumber(now.seconds + 3600)),
        "jti": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
      ]
      let header: JSONObject = ["alg": "ES256", "kid": "2026-11", "typ": "JWT"]
      return Array(try JWS.sign(header: header, payload: claims.serialized(), with: signer).utf8)
    }

    func authenticator() -> JWTAuthenticator {
      JWTAuthenticator(issuers: [
        JWTAuthenticator.Issuer(
          id: "app-users", issuer: "https://id.shop.example", audience: "callgate", subjectClaim: "sub",
          keys: .set(keys))
      ])
    }
  }
}

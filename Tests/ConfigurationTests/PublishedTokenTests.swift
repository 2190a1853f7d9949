// Tests of caller authentication with published JWTs, valid and forged.

import Foundation
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Callers
@testable import Configuration
@testable import RoomSupport

/// Published tokens, checked against callers configured with their keys.
@Suite struct PublishedTokenTests {
  /// Before the examples of RFC 7515 expire.
  private static let now = UnixTime(seconds: 1_300_819_000)
  private let moment = MonotonicTime(nanoseconds: 1_000_000_000_000)

  /// The result for a token.
  private enum Verdict: Equatable {
    case accepted
    /// The signature is valid, and something else is wrong.
    case signed(JWTAuthenticator.Fault)
    case refused
  }

  /// An authenticator for two issuers with the same key, loaded from a configuration.
  private func authenticator(_ key: JSONValue) throws -> JWTAuthenticator {
    let isSecret = key["kty"] == "oct"
    let content: [UInt8] =
      isSecret
      ? try #require(key["k"]?.string.flatMap { Base64URL.decode($0) })
      : (["keys": [key]] as JSONValue).serialized()
    let source = isSecret ? "hs256_secret_file" : "jwks_file"
    let yaml = ["joe", "eve"].map { issuer in
      "  - { id: \(issuer), jwt: { issuer: \(issuer), audience: callgate, \(source): keys } }"
    }
    let configuration = try Fixture.load(
      "callers:\n" + yaml.joined(separator: "\n"),
      files: ["keys": ConfigurationFiles.Content(bytes: content)]
    ).configuration
    let issuers = configuration.callers.compactMap { caller -> JWTAuthenticator.Issuer? in
      guard case .jwt(let issuer) = caller.proof else { return nil }
      let keys: JWTAuthenticator.Keys? =
        switch issuer.keys {
        case .set(let set): .set(set)
        case .secret(let secret): .secret(secret)
        case .url, .unopened: nil
        }
      return keys.map {
        JWTAuthenticator.Issuer(
          id: caller.id, issuer: issuer.issuer, audience: issuer.audience,
          subjectClaim: issuer.subjectClaim, keys: $0)
      }
    }
    #expect(issuers.count == 2)
    return JWTAuthenticator(issuers: issuers)
  }

  private func verdict(_ authenticator: JWTAuthenticator, _ token: String) -> Verdict {
    switch authenticator.authenticate(Array(token.utf8), fetched: false, now: Self.now, at: moment) {
    case .caller: .accepted
    case .refused(let fault, isForged: false): .signed(fault)
    case .refused, .notOurs, .fetchFirst, .unavailable: .refused
    }
  }

  private func json(_ vector: Vector, _ column: String) throws -> JSONValue {
    try JSONValue(parsing: Array(try vector.text(column).utf8))
  }

  @Test func `of the examples and the negative tokens made from them only the examples are signed`() throws {
    var signed = 0
    for example in try Vector.table("jose/rfc7515") {
      // Only algorithms that callers may use. ES512's example has no claims.
      guard ["HS256", "RS256", "ES256"].contains(try example.text("algorithm")) else { continue }
      #expect(
        try verdict(authenticator(json(example, "key")), example.text("token"))
          == .signed(.claims(.missing(claim: "aud"))),
        "\(example)")
      signed += 1
    }
    #expect(signed == 3)
    let negatives = try Vector.table("jose/negative")
    #expect(negatives.count == 57)
    for negative in negatives {
      let token = String(decoding: try negative.octets("octets"), as: UTF8.self)
      #expect(try verdict(authenticator(json(negative, "key")), token) == .refused, "\(negative)")
    }
  }

  @Test func `every token of Wycheproof is refused`() throws {
    var count = 0
    var authenticators: [String: JWTAuthenticator?] = [:]
    for name in ["json_web_signature", "json_web_crypto"] {
      for vector in try Vector.table("wycheproof/\(name)") {
        guard try vector.text("form") == "jws", try vector.text("verdict") != "valid" else { continue }
        let keys = try vector.text("keys")
        if authenticators[keys] == nil {
          authenticators[keys] = try? authenticator(ofSet: json(vector, "keys"))
        }
        guard let authenticator = authenticators[keys] ?? nil else { continue }
        count += 1
        #expect(try verdict(authenticator, vector.text("token")) == .refused, "\(vector)")
      }
    }
    #expect(count > 200)
  }

  /// An authenticator for an issuer with a key or a set of keys; throws if this server reads none of them.
  private func authenticator(ofSet key: JSONValue) throws -> JWTAuthenticator {
    let set: JSONValue = key["keys"] == nil ? ["keys": [key]] : key
    let keys = try JWKSet(parsing: set.serialized(), symmetric: true)
    return JWTAuthenticator(issuers: [
      JWTAuthenticator.Issuer(
        id: "joe", issuer: "joe", audience: "callgate", subjectClaim: "sub", keys: .set(keys))
    ])
  }
}

import Foundation
import JOSE
import JSON
import Platform
import Testing

@testable import Gateway

/// Published vectors, which stand beside the checkout where they are available.
private enum SharedVectors {
  static let folder: String? = {
    let path =
      ProcessInfo.processInfo.environment["CALLGATE_SHARED"].map { $0 + "/vectors" } ?? "../shared/vectors"
    return FileManager.default.fileExists(atPath: path + "/jws_totp_vectors.json") ? path : nil
  }()

  static func read(_ name: String) throws -> JSONValue {
    let path = try #require(folder) + "/" + name
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    return try JSONValue(
      parsing: bytes, limits: JSONLimits(bytes: 8 << 20, depth: 32, members: 256, values: 1 << 20))
  }
}

/// Published tokens, sent to callers that are configured with their keys.
@Suite(.enabled(if: SharedVectors.folder != nil)) struct PublishedTokenTests {
  /// Before the examples of RFC 7515 expire.
  private static let now = UnixTime(seconds: 1_300_819_000)
  private let moment = MonotonicTime(nanoseconds: 1_000_000_000_000)

  /// What became of a token.
  private enum Verdict: Equatable {
    case accepted
    /// Its signature is its issuer's, and something else is wrong.
    case signed(String)
    case refused
  }

  /// The authenticator of two issuers with the same key, by way of a configuration.
  private func authenticator(_ key: JSONValue) throws -> JWTAuthenticator {
    let isSecret = key["kty"] == "oct"
    let content: [UInt8] =
      isSecret
      ? try #require(key["k"]?.string.flatMap { Base64URL.decode(Array($0.utf8)) })
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
        case .set(let set, _): .set(set)
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
    case .refused(let detail, isForged: false): .signed(detail)
    case .refused, .notOurs, .fetchFirst: .refused
    }
  }

  @Test func `of the examples and the negative tokens made from them only the examples are signed`() throws {
    let vectors = try SharedVectors.read("jws_totp_vectors.json")
    var signed = 0
    for example in try #require(vectors["jws"]?.array) where example["jwk"]?["kty"] != nil {
      // The keys here are for what callers may use; ES512's example has no claims.
      guard let token = example["compact"]?.string, let key = example["jwk"],
        ["HS256", "RS256", "ES256"].contains(example["alg"]?.string)
      else { continue }
      #expect(
        try verdict(authenticator(key), token) == .signed("The token lacks the claim aud."),
        "\(example["id"]?.string ?? "")")
      signed += 1
    }
    #expect(signed == 3)
    let negatives = try #require(vectors["jws_negative"]?.array)
    #expect(negatives.count == 57)
    for negative in negatives {
      let key = try #require(negative["jwk"])
      let token = try #require(negative["compact"]?.string)
      #expect(
        try verdict(authenticator(key), token) == .refused,
        "\(negative["id"]?.string ?? "") \(negative["why"]?.string ?? "")")
    }
  }

  @Test func `no token of Wycheproof lets anybody in`() throws {
    var count = 0
    for file in ["json_web_signature_test", "json_web_crypto_test"] {
      let groups = try SharedVectors.read("wycheproof/\(file).json")["testGroups"]?.array ?? []
      for group in groups {
        guard let key = group["public"] ?? group["private"] else { continue }
        let set: JSONValue = key["keys"] == nil ? ["keys": [key]] : key
        let authenticator: JWTAuthenticator
        do {
          let keys = try JWKSet(parsing: set.serialized(), symmetric: true)
          authenticator = JWTAuthenticator(issuers: [
            JWTAuthenticator.Issuer(
              id: "joe", issuer: "joe", audience: "callgate", subjectClaim: "sub", keys: .set(keys))
          ])
        } catch {
          continue
        }
        for test in group["tests"]?.array ?? [] where test["result"] != "valid" {
          guard let token = test["jws"]?.string else { continue }
          count += 1
          #expect(verdict(authenticator, token) == .refused, "\(file) \(test["tcId"]?.int ?? 0)")
        }
      }
    }
    #expect(count > 200)
  }
}

// Tests of who a token makes an operator.

import Gate
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Callers

@Suite struct OperatorRegistryTests {
  private static let now = UnixTime(seconds: 1_795_000_000)
  private let signer: Signer
  private let issuer: JWTIssuer

  init() throws {
    let key = try PrivateKey.generate(for: .ES256)
    signer = try Signer(key: key, algorithm: .ES256)
    issuer = JWTIssuer(
      issuer: "https://id.example", audience: "callgate-admin",
      keys: .set(try JWKSet(parsing: KeyProvider.set(["k1": key.publicKey]))), subjectClaim: "email",
      fallbackClaim: "sub")
  }

  private func registry(_ groups: [Operator.Role: [String]]? = nil) -> OperatorRegistry {
    OperatorRegistry(
      (0..<100).map {
        ConfiguredOperator(
          name: "operator \($0)", role: Operator.Role.allCases[$0 % 3],
          token: SecretDigest(digest("canary-\($0)")))
      }, adminToken: digest("canary-admin"),
      issuer: OperatorIssuer(
        issuer: issuer, roleClaim: groups == nil ? nil : "groups", groups: groups ?? [:])
    ) { _ in preconditionFailure("no key set is fetched") }
  }

  private func digest(_ text: String) -> SHA256Digest { SHA256Digest(of: Array(text.utf8)) }

  private func token(_ changes: JSONObject, without names: Set<String> = []) throws -> String {
    var claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate-admin", "sub": "b", "email": "bob@example.com",
      "exp": .number(JSONNumber(Self.now.seconds + 60)),
    ]
    for (name, value) in changes.members { claims[name] = value }
    for name in names { claims[name] = nil }
    return try JWS.sign(
      header: ["alg": "ES256", "kid": "k1"], payload: claims.serialized(), with: signer)
  }

  private func outcome(_ registry: OperatorRegistry, _ token: String) -> String {
    switch registry.identify(
      Array(token.utf8), fetched: false, now: Self.now, at: MonotonicTime(nanoseconds: 1_000_000_000))
    {
    case .by(let holder): "\(holder.identity.name) \(holder.role) \(holder.identity.by)"
    case .roleless(let identity): "\(identity.name) none"
    case .refused(_, let isGuess): isGuess ? "guess" : "refused"
    case .fetchFirst, .unavailable: "keys"
    }
  }

  @Test func `each of a hundred tokens finds its operator, and the admin token the operator admin`() {
    let registry = registry()
    for index in 0..<100 {
      let expected = "operator \(index) \(Operator.Role.allCases[index % 3]) token"
      #expect(outcome(registry, "canary-\(index)") == expected)
    }
    #expect(outcome(registry, "canary-admin") == "admin operate token")
    for wrong in ["canary-100", "", "a.b.c", "canary-1 "] { #expect(outcome(registry, wrong) == "guess") }
  }

  @Test func `a JWT has the highest role that one of its groups gives`() throws {
    let registry = registry([.operate: ["oncall", "root"], .approve: ["support"], .read: ["staff"]])
    func outcome(_ groups: JSONValue) throws -> String {
      self.outcome(registry, try token(["groups": groups]))
    }
    #expect(try outcome(["staff", "root"]) == "bob@example.com operate jwt")
    #expect(try outcome(["staff", "support"]) == "bob@example.com approve jwt")
    #expect(try outcome("staff") == "bob@example.com read jwt")
    for none in [["sales"], [], "", "staff support", 7, ["staff": true], [["staff"]], .null] as [JSONValue] {
      #expect(try outcome(none) == "bob@example.com none")
    }
    #expect(self.outcome(registry, try token([:])) == "bob@example.com none")
    #expect(self.outcome(self.registry(), try token([:])) == "bob@example.com read jwt")
  }

  @Test func `the name is the claim, else sub, and nothing that cannot be a name`() throws {
    let registry = registry()
    #expect(outcome(registry, try token([:], without: ["email"])) == "b read jwt")
    for changes in [
      ["email": " bob"], ["email": "b\u{202E}b"], ["email": ""], ["email": 7], ["email": .null],
    ]
      as [JSONObject]
    {
      #expect(outcome(registry, try token(changes)) == "refused")
    }
    #expect(outcome(registry, try token([:], without: ["email", "sub"])) == "refused")
  }

  @Test func `a genuine token that is not good is no guess, and a forged one is`() throws {
    let registry = registry()
    #expect(outcome(registry, try token(["exp": .number(JSONNumber(Self.now.seconds - 60))])) == "refused")
    #expect(outcome(registry, try token(["aud": "callgate"])) == "refused")
    #expect(outcome(registry, try token(["iss": "https://other.example"])) == "guess")
    #expect(outcome(registry, try token([:]) + "A") == "guess")
    let thumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
    #expect(outcome(registry, try token(["cnf": ["jkt": .string(thumbprint)]])) == "refused")
  }
}

// Tests of which operator a token authenticates.

import Gate
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Callers

@Suite struct OperatorRegistryTests {
  private static let now = UnixTime(seconds: 1_795_000_000)
  private let key: PrivateKey
  private let signer: Signer
  private let issuer: JWTIssuer

  init() throws {
    key = try PrivateKey.generate(for: .ES256)
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

  private func token(
    _ changes: JSONObject = [:], without names: Set<String> = [],
    header: JSONObject = ["alg": "ES256", "kid": "k1"]
  ) throws -> String {
    var claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate-admin", "sub": "b", "email": "bob@example.com",
      "exp": .number(JSONNumber(Self.now.seconds + 60)),
    ]
    for (name, value) in changes.members { claims[name] = value }
    for name in names { claims[name] = nil }
    // The signature is valid, whatever the header says.
    let input = JWS.signingInput(header: header, payload: claims.serialized())
    return JWS.token(input, signature: try signer.sign(input))
  }

  private func outcome(_ registry: OperatorRegistry, _ token: String) -> String {
    switch registry.identify(
      Array(token.utf8), fetched: false, now: Self.now, at: MonotonicTime(nanoseconds: 1_000_000_000))
    {
    case .by(let identity, let role?): "\(identity.name) \(role) \(identity.by)"
    case .by(let identity, nil): "\(identity.name) none"
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

  @Test func `the name is the claim, else sub`() throws {
    #expect(outcome(registry(), try token()) == "bob@example.com read jwt")
    #expect(outcome(registry(), try token(without: ["email"])) == "b read jwt")
    #expect(outcome(registry(), try token(without: ["email", "sub"])) == "refused")
  }

  @Test(arguments: ["Ann B.", "René", "安", "a", String(repeating: "x", count: 64)])
  func `a name has visible characters, and spaces inside`(name: String) throws {
    #expect(Operator.isName(name))
    #expect(outcome(registry(), try token(["email": .string(name)])) == "\(name) read jwt")
  }

  @Test(arguments: [
    "", " ", " bob", "bob ", "b\u{7}b", "b\nb", "b\u{0}b", "b\u{202E}b", "b\u{200B}b", "b\u{A0}b",
    "b\u{2028}b", "\u{FEFF}bob",
    "b\u{E000}b", "b\u{AD}b", "b\u{FE0F}b", String(repeating: "x", count: 65),
  ])
  func `a name with control, steering or unseen characters, or too long a one, lets nobody in`(name: String)
    throws
  {
    #expect(!Operator.isName(name))
    #expect(outcome(registry(), try token(["email": .string(name)])) == "refused")
    // A wrong claim does not fall back to sub.
    #expect(outcome(registry(), try token(["email": 7])) == "refused")
    #expect(outcome(registry(), try token(["email": .null])) == "refused")
  }

  @Test(
    arguments: [
      ("expired", ["exp": .number(JSONNumber(now.seconds - 31))]),
      ("not valid yet", ["nbf": .number(JSONNumber(now.seconds + 31))]),
      ("issued in the future", ["iat": .number(JSONNumber(now.seconds + 31))]),
      ("for another audience", ["aud": "callgate"]),
      ("for other audiences", ["aud": ["callgate", "callgate-admin-2"]]),
      ("bound to a key", ["cnf": ["jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"]]),
      ("bound to something else", ["cnf": 7]),
    ] as [(String, JSONObject)])
  func `a genuine token that is not good here is refused, and is no guess`(what: String, claims: JSONObject)
    throws
  {
    #expect(outcome(registry(), try token(claims)) == "refused", "\(what)")
  }

  @Test(arguments: ["exp", "aud"])
  func `a genuine token without a claim that it needs is refused`(claim: String) throws {
    #expect(outcome(registry(), try token(without: [claim])) == "refused")
  }

  @Test func `the clock of the issuer may differ by thirty seconds`() throws {
    for claims in [
      ["exp": .number(JSONNumber(Self.now.seconds - 29))],
      ["nbf": .number(JSONNumber(Self.now.seconds + 29))],
    ] as [JSONObject] {
      #expect(outcome(registry(), try token(claims)) == "bob@example.com read jwt")
    }
  }

  @Test func `a token of another issuer, or of none, is a guess`() throws {
    #expect(outcome(registry(), try token(["iss": "https://other.example"])) == "guess")
    #expect(outcome(registry(), try token(["iss": "https://id.example/"])) == "guess")
    #expect(outcome(registry(), try token(without: ["iss"])) == "guess")
    // `exp` is in milliseconds, as JavaScript gives it, so the claims cannot be read.
    #expect(
      outcome(registry(), try token(["exp": .number(JSONNumber(Self.now.seconds * 1000))])) == "guess")
  }

  @Test(
    arguments: [
      ("another key", ["alg": "ES256", "kid": "k2"]),
      ("a key by its path", ["alg": "ES256", "kid": "../k1"]),
      ("another algorithm", ["alg": "ES384", "kid": "k1"]), ("RSA", ["alg": "RS256", "kid": "k1"]),
      ("a shared secret", ["alg": "HS256", "kid": "k1"]), ("no algorithm", ["alg": "none", "kid": "k1"]),
      ("an extension", ["alg": "ES256", "kid": "k1", "crit": ["exp"]]),
    ] as [(String, JSONObject)])
  func `a token whose header names what the issuer does not use is a guess`(what: String, header: JSONObject)
    throws
  {
    #expect(outcome(registry(), try token(header: header)) == "guess", "\(what)")
  }

  @Test func `the public key does not sign as a shared secret, and a header brings no key`() throws {
    let stranger = try PrivateKey.generate(for: .ES256)
    let key = try #require(
      JSONValue(parsing: Array(KeyProvider.set(["k1": stranger.publicKey]))).object?["keys"]?.array?.first)
    let forger = try Signer(key: stranger, algorithm: .ES256)
    let claims = JSONValue.object(["iss": "https://id.example", "aud": "callgate-admin", "sub": "b"])
      .serialized()
    for header in [
      ["alg": "ES256", "kid": "k1"], ["alg": "ES256", "kid": "k1", "jwk": key],
      ["alg": "ES256", "jku": "https://evil.example/keys"],
    ] as [JSONObject] {
      #expect(outcome(registry(), try JWS.sign(header: header, payload: claims, with: forger)) == "guess")
    }
    let secret = try SymmetricKey(Secret(self.key.publicKey.pem()), algorithm: .HS256)
    let shared = JWS.sign(header: ["alg": "HS256", "kid": "k1"], payload: claims, with: secret)
    #expect(outcome(registry(), shared) == "guess")
    for header in [#"{"alg":"none"}"#, #"{"alg":"None","kid":"k1"}"#, #"{"alg":"","kid":"k1"}"#] {
      let bare = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(claims))."
      #expect(outcome(registry(), bare) == "guess")
    }
    #expect(outcome(registry(), try token() + "A") == "guess")
  }

  @Test func `a token that one registry has verified lets nobody in after a reload without its issuer`()
    throws
  {
    let sent = try token()
    #expect(outcome(registry(), sent) == "bob@example.com read jwt")
    let reloaded = OperatorRegistry(
      [], adminToken: digest("canary-admin"), source: { _ in preconditionFailure("no issuer") })
    #expect(outcome(reloaded, sent) == "guess")
  }
}

// Tests of which JWTs authenticate a caller.

import Gate
import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Callers

@Suite struct JWTAuthenticatorTests {
  private static let now = UnixTime(seconds: 1_795_000_000)
  private let moment = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let key: PrivateKey
  private let signer: Signer

  init() throws {
    key = try PrivateKey.generate(for: .ES256)
    signer = try Signer(key: key, algorithm: .ES256)
  }

  private func authenticator(_ keys: JWTAuthenticator.Keys) -> JWTAuthenticator {
    JWTAuthenticator(issuers: [
      JWTAuthenticator.Issuer(
        id: "app-users", issuer: "https://id.example", audience: "callgate", subjectClaim: "sub", keys: keys)
    ])
  }

  private func authenticator() throws -> JWTAuthenticator {
    authenticator(.set(try JWKSet(parsing: KeyProvider.set(["k1": key.publicKey]))))
  }

  private func token(
    header: JSONObject = ["alg": "ES256", "kid": "k1", "typ": "JWT"], _ changes: JSONObject = [:],
    without names: Set<String> = [], signer other: Signer? = nil
  ) throws -> [UInt8] {
    var claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann", "tier": "gold",
      "exp": .number(JSONNumber(Self.now.seconds + 60)),
    ]
    for (name, value) in changes.members { claims[name] = value }
    for name in names { claims[name] = nil }
    return Array(try JWS.sign(header: header, payload: claims.serialized(), with: other ?? signer).utf8)
  }

  /// The caller, or the fault of a token that is refused.
  private func outcome(
    _ authenticator: JWTAuthenticator, _ token: [UInt8], fetched: Bool = false, now: UnixTime = now
  ) -> String {
    switch authenticator.authenticate(token, fetched: fetched, now: now, at: moment) {
    case .caller(let caller): "caller \(caller.id) \(caller.subject)"
    case .notOurs(let fault), .refused(let fault, _): Self.name(fault)
    case .fetchFirst: "fetch first"
    case .unavailable: "unavailable"
    }
  }

  private static func name(_ fault: JWTAuthenticator.Fault) -> String {
    switch fault {
    case .unreadable: "unreadable"
    case .unknownIssuer: "unknown issuer"
    case .unknownKey: "unknown key"
    case .unusableKey: "unusable key"
    case .wrongAlgorithm: "wrong algorithm"
    case .wrongSignature: "wrong signature"
    case .claims(.missing(let claim)): "missing \(claim)"
    case .claims(.malformed(let claim)): "malformed \(claim)"
    case .claims(.notText(let claim)): "not a text \(claim)"
    case .claims(.outOfRange(let claim)): "out of range \(claim)"
    case .claims(.expired): "expired"
    case .claims(.notYetValid): "not yet valid"
    case .claims(.wrongAudience): "wrong audience"
    case .claims(let error): "\(error)"
    }
  }

  @Test func `what was verified before is known until it expires, and nothing else is`() throws {
    let authenticator = try authenticator()
    let token = try token()
    #expect(authenticator.known(SHA256Digest(of: token), now: Self.now) == nil)
    _ = outcome(authenticator, token)
    #expect(authenticator.known(SHA256Digest(of: token), now: Self.now)?.subject == "ann")
    #expect(authenticator.known(SHA256Digest(of: try self.token(["sub": "bob"])), now: Self.now) == nil)
    let over = UnixTime(seconds: Self.now.seconds + 60 + Int64(JWTAuthenticator.leeway))
    #expect(authenticator.known(SHA256Digest(of: token), now: over) == nil)
  }

  @Test func `a token of the issuer names its subject, and its claims are kept`() throws {
    let authenticator = try authenticator()
    let token = try token()
    for _ in 0..<2 {
      guard
        case .caller(let caller) = authenticator.authenticate(
          token, fetched: false, now: Self.now, at: moment)
      else {
        Issue.record("refused")
        return
      }
      #expect(caller.id == "app-users" && caller.subject == "ann")
      #expect(caller.claims.contains { $0.name == "tier" && $0.value == .string("gold") })
    }
  }

  @Test func `a token that was verified before expires all the same`() throws {
    let authenticator = try authenticator()
    let token = try token()
    #expect(outcome(authenticator, token) == "caller app-users ann")
    let later = UnixTime(seconds: Self.now.seconds + 91)
    #expect(outcome(authenticator, token, now: later) == "expired")
  }

  @Test func `claims that do not fit are refused`() throws {
    let authenticator = try authenticator()
    func refusal(_ changes: JSONObject, without names: Set<String> = []) throws -> String {
      outcome(authenticator, try token(changes, without: names))
    }
    #expect(try refusal(["exp": .number(JSONNumber(Self.now.seconds - 31))]) == "expired")
    #expect(try refusal(["exp": .number(JSONNumber(Self.now.seconds - 29))]) == "caller app-users ann")
    #expect(try refusal([:], without: ["exp"]) == "missing exp")
    #expect(try refusal(["nbf": .number(JSONNumber(Self.now.seconds + 31))]) == "not yet valid")
    #expect(try refusal(["aud": "other"]) == "wrong audience")
    #expect(try refusal(["aud": ["x", "callgate"]]) == "caller app-users ann")
    #expect(try refusal([:], without: ["sub"]) == "missing sub")
    #expect(try refusal(["iss": "https://evil.example"]) == "unknown issuer")
    #expect(try refusal([:], without: ["iss"]) == "missing iss")
  }

  @Test func `a subject has 1 to 255 octets and no control character`() throws {
    let authenticator = try authenticator()
    func outcome(_ subject: String) throws -> String {
      self.outcome(authenticator, try token(["sub": .string(subject)]))
    }
    for subject in [
      "", "\u{0}", "ann\u{0}x", "a\nb", "a\tb", "\u{1B}[0m", "ann\u{7F}", "ann\u{85}",
      String(repeating: "x", count: 256),
      String(repeating: "é", count: 128),
    ] {
      #expect(try outcome(subject) == "malformed sub", "\(subject.debugDescription)")
    }
    for subject in [" ", "a b", "ann\u{202E}", "\u{FEFF}", String(repeating: "x", count: 255)] {
      #expect(try outcome(subject) == "caller app-users \(subject)")
    }
  }

  @Test func `issuer, audience and key id are compared by their octets`() throws {
    for twins in equivalentNames {
      let issuer = JWTAuthenticator.Issuer(
        id: "app-users", issuer: twins[0], audience: twins[0], subjectClaim: "sub",
        keys: .set(try JWKSet(parsing: KeyProvider.set([twins[0]: key.publicKey]))))
      let authenticator = JWTAuthenticator(issuers: [issuer])
      func outcome(_ issuer: String, _ audience: String, _ keyID: String) throws -> String {
        self.outcome(
          authenticator,
          try token(
            header: ["alg": "ES256", "kid": .string(keyID)],
            ["iss": .string(issuer), "aud": .string(audience)]))
      }
      #expect(try outcome(twins[0], twins[0], twins[0]) == "caller app-users ann")
      #expect(try outcome(twins[1], twins[0], twins[0]) == "unknown issuer")
      #expect(try outcome(twins[0], twins[1], twins[0]) == "wrong audience")
      #expect(try outcome(twins[0], twins[0], twins[1]) == "unknown key")
    }
  }

  @Test func `only the issuer's key verifies, by its own algorithm`() throws {
    let authenticator = try authenticator()
    let other = try Signer(key: PrivateKey.generate(for: .ES256), algorithm: .ES256)
    #expect(outcome(authenticator, try token(signer: other)) == "wrong signature")
    #expect(
      outcome(authenticator, try token(header: ["alg": "ES256", "kid": "k2"]))
        == "unknown key")
    // The public key, used as a shared secret.
    let secret = try SymmetricKey(Secret(key.publicKey.pem()), algorithm: .HS256)
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann", "exp": 9_999_999_999,
    ]
    let confused = JWS.sign(
      header: ["alg": "HS256", "kid": "k1"], payload: claims.serialized(), with: secret)
    #expect(outcome(authenticator, Array(confused.utf8)) == "wrong algorithm")
    let none =
      Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + "." + Base64URL.encode(claims.serialized()) + "."
    #expect(outcome(authenticator, Array(none.utf8)) == "unreadable")
  }

  @Test func `of several keys the token must name one`() throws {
    let second = try PrivateKey.generate(for: .ES256)
    let keys = KeyProvider.set(["k1": key.publicKey, "k2": second.publicKey])
    let authenticator = authenticator(.set(try JWKSet(parsing: keys)))
    #expect(
      outcome(authenticator, try token(header: ["alg": "ES256"])) == "unknown key")
    #expect(outcome(authenticator, try token()) == "caller app-users ann")
  }

  @Test func `a key that is published and of no use is not called unknown`() async throws {
    var unfit = key.publicKey.jwk()
    unfit["kid"] = "k1"
    unfit["use"] = "enc"
    var other = try PrivateKey.generate(for: .ES256).publicKey.jwk()
    other["kid"] = "k2"
    func set(_ keys: [JSONObject]) throws -> JWKSet {
      try JWKSet(parsing: JSONValue.object(["keys": .array(keys.map { .object($0) })]).serialized())
    }
    let unnamed: JSONObject = ["alg": "ES256"]
    for keys in [[unfit], []] {
      #expect(outcome(authenticator(.set(try set(keys))), try token()) == "unusable key")
      #expect(outcome(authenticator(.set(try set(keys))), try token(header: unnamed)) == "unusable key")
    }
    let both = authenticator(.set(try set([unfit, other])))
    #expect(outcome(both, try token()) == "unusable key")
    #expect(outcome(both, try token(header: ["alg": "ES256", "kid": "k3"])) == "unknown key")
    #expect(
      JWTAuthenticator.Fault.unusableKey.sentence == "The issuer publishes no usable key for the token.")

    let source = KeySource(
      url: "https://id.example/jwks", transport: KeyProvider([.publishing([:])]), time: ManualTime()
    ) { _ in }
    await source.fetch()
    #expect(outcome(authenticator(.source(source)), try token(), fetched: true) == "unusable key")
  }

  @Test func `a shared secret verifies HS256`() throws {
    let secret = try SymmetricKey(Secret("canary-secret-of-32-octets-at-least"), algorithm: .HS256)
    let authenticator = authenticator(.secret(secret))
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "bob", "exp": 9_999_999_999,
    ]
    let good = JWS.sign(header: ["alg": "HS256"], payload: claims.serialized(), with: secret)
    #expect(outcome(authenticator, Array(good.utf8)) == "caller app-users bob")
    #expect(outcome(authenticator, try token()) == "wrong signature")
  }

  @Test(arguments: ["a.b.c", "..", "abc", ""]) func `what is no JWT is told from one`(text: String) throws {
    #expect(outcome(try authenticator(), Array(text.utf8)) == "unreadable")
  }

  @Test(arguments: [
    ("exp", "9999999999999", "out of range exp"), ("exp", "-1", "out of range exp"),
    ("exp", "1e400", "out of range exp"), ("exp", "\"1795000060\"", "malformed exp"),
    ("nbf", "null", "malformed nbf"), ("iat", "[]", "malformed iat"), ("iss", "1", "malformed iss"),
    ("aud", "{}", "malformed aud"), ("sub", "1", "not a text sub"),
  ])
  func `a claim that is malformed or out of range is named`(
    _ claim: String, _ value: String, _ expected: String
  ) throws {
    let changed: JSONObject = [claim: try JSONValue(parsing: Array(value.utf8))]
    #expect(outcome(try authenticator(), try token(changed)) == expected)
  }

  @Test func `a number never names a user, and counts only in the claim that names users`() throws {
    let keys = JWTAuthenticator.Keys.set(try JWKSet(parsing: KeyProvider.set(["k1": key.publicKey])))
    let authenticator = JWTAuthenticator(issuers: [
      .init(
        id: "app-users", issuer: "https://id.example", audience: "callgate", subjectClaim: "user_id",
        keys: keys)
    ])
    for number in ["4", "4.0", "12345678901234567890"] {
      let value = try JSONValue(parsing: Array(number.utf8))
      #expect(outcome(authenticator, try token(["user_id": value])) == "not a text user_id")
      #expect(outcome(authenticator, try token(["user_id": "u", "sub": value])) == "caller app-users u")
    }
    let sentence = JWTAuthenticator.Fault.claims(.notText(claim: "user_id")).sentence
    #expect(sentence.contains("user_id is not a string"))
  }

  @Test func `no sentence about a token has a value of it`() throws {
    let faults: [JWTAuthenticator.Fault] = [
      .unknownIssuer("canary"), .unreadable(.notThreeParts), .unknownKey(isNamed: true), .wrongSignature,
      .unusableKey, .wrongAlgorithm, .claims(.missing(claim: "sub")),
    ]
    #expect(!faults.contains { $0.sentence.contains("canary") })
    #expect(Set(faults.map(\.sentence)).count == faults.count)
  }

  /// 200 groups of Microsoft Entra, and what a limit of 16 KiB leaves.
  @Test(arguments: [200, 270]) func `a token with many groups is accepted`(count: Int) throws {
    let groups = (0..<count).map { JSONValue.string("0000\(1000 + $0)-1111-2222-3333-444444444444") }
    let token = try token(["groups": .array(groups)])
    #expect(token.count > 10_000)
    #expect(outcome(try authenticator(), token) == "caller app-users ann")
  }

  @Test func `verified tokens share a bounded memory, however long they are`() throws {
    let tokens = VerifiedTokens<Int>()
    func digest(_ number: Int) -> SHA256Digest { SHA256Digest(of: Array("\(number)".utf8)) }
    let size = VerifiedTokens<Int>.octets / 100
    func remember(_ number: Int, size: Int, until: Double = 100) {
      let entry = VerifiedTokens<Int>.Entry(value: number, validUntil: until, generation: 0, size: size)
      tokens.remember(digest(number), entry, now: 50)
    }
    for number in 0..<100 { remember(number, size: size, until: number < 40 ? 50 : 100) }
    #expect(tokens.count == 100)
    remember(100, size: size)
    #expect(tokens.count == 61, "the 40 that have expired go")
    #expect(tokens.value(digest(99), generation: { _ in true }, now: 50) == 99)
    for _ in 0..<5 { remember(99, size: size) }
    for number in 101..<140 { remember(number, size: size) }
    #expect(tokens.count == 100, "a token that is remembered again counts once")
    remember(140, size: size)
    #expect(tokens.count == 1, "where none has expired, all go")
    for number in 0..<VerifiedTokens<Int>.capacity { remember(1000 + number, size: 1) }
    #expect(tokens.count <= VerifiedTokens<Int>.capacity)
  }

  @Test func `a genuine token of the second of two callers is told its own fault`() throws {
    let keys = JWTAuthenticator.Keys.set(try JWKSet(parsing: KeyProvider.set(["k1": key.publicKey])))
    let authenticator = JWTAuthenticator(
      issuers: ["callgate", "other"].map {
        .init(id: $0, issuer: "https://id.example", audience: $0, subjectClaim: "sub", keys: keys)
      })
    #expect(outcome(authenticator, try token(["aud": "other"])) == "caller other ann")
    #expect(outcome(authenticator, try token(["sub": ""])) == "malformed sub")
    #expect(outcome(authenticator, try token(["aud": "other", "sub": ""])) == "malformed sub")
  }

  // MARK: Keys from a URL

  @Test func `while an issuer's keys cannot be had its tokens are not called wrong`() async throws {
    let away = KeyProvider.Reply.failure(TransportError(.connect, sent: false, detail: "refused"))
    let provider = KeyProvider([away, away, .publishing(["k1": key.publicKey])])
    let clock = ManualTime()
    let source = KeySource(url: "https://id.example/jwks", transport: provider, time: clock) { _ in }
    let authenticator = authenticator(.source(source))
    await source.fetch()
    let token = try token()
    func told(fetched: Bool) -> String {
      switch authenticator.authenticate(token, fetched: fetched, now: Self.now, at: clock.now) {
      case .unavailable(let wait): "unavailable for \(wait.components.seconds) s"
      case .caller: "caller"
      case .fetchFirst: "fetch first"
      case .refused, .notOurs: "refused"
      }
    }
    #expect(told(fetched: false) == "unavailable for 20 s")
    clock.advance(by: KeySource.pauseAfterFailure)
    #expect(told(fetched: false) == "fetch first")
    await source.fetchForUnknownKey()
    #expect(told(fetched: true) == "unavailable for 30 s")
    await source.fetch()
    #expect(told(fetched: false) == "caller")
  }

  @Test func `a key that is published right after the start is found at once`() async throws {
    let old = try PrivateKey.generate(for: .ES256).publicKey
    let provider = KeyProvider([.publishing(["k0": old]), .publishing(["k0": old, "k1": key.publicKey])])
    let clock = ManualTime()
    let source = KeySource(url: "https://id.example/jwks", transport: provider, time: clock) { _ in }
    await source.fetch()
    let authenticator = authenticator(.source(source))
    let token = try token()
    guard case .fetchFirst = authenticator.authenticate(token, fetched: false, now: Self.now, at: clock.now)
    else {
      Issue.record("nothing was fetched")
      return
    }
    await source.fetchForUnknownKey()
    #expect(outcome(authenticator, token) == "caller app-users ann")
  }

  @Test func `an unknown key causes one fetch, and not another for a while`() async throws {
    let provider = KeyProvider([.publishing(["k1": key.publicKey])])
    let clock = ManualTime()
    let source = KeySource(url: "https://id.example/jwks", transport: provider, time: clock) { _ in }
    let authenticator = authenticator(.source(source))
    let unknown = try token(header: ["alg": "ES256", "kid": "other"])
    guard case .fetchFirst = authenticator.authenticate(unknown, fetched: false, now: Self.now, at: clock.now)
    else {
      Issue.record("nothing was fetched")
      return
    }
    await source.fetchForUnknownKey()
    for _ in 0..<100 {
      guard case .refused = authenticator.authenticate(unknown, fetched: false, now: Self.now, at: clock.now)
      else {
        Issue.record("asked for another fetch")
        return
      }
    }
    #expect(outcome(authenticator, try token()) == "caller app-users ann")
    #expect(provider.count == 1)
    clock.advance(by: KeySource.Terms.issuer.shortestPause)
    guard case .fetchFirst = authenticator.authenticate(unknown, fetched: false, now: Self.now, at: clock.now)
    else {
      Issue.record("never fetched again")
      return
    }
    // A second fetch for the same token never happens.
    guard case .refused = authenticator.authenticate(unknown, fetched: true, now: Self.now, at: clock.now)
    else {
      Issue.record("fetched twice for one token")
      return
    }
  }

  @Test func `the keys are kept while the issuer is down`() async throws {
    let provider = KeyProvider([
      .publishing(["k1": key.publicKey], ["Cache-Control": "public, max-age=60"]),
      .failure(TransportError(.connect, sent: false, detail: "refused")),
    ])
    let clock = ManualTime()
    let failures = Atomic<Int>(0)
    let source = KeySource(url: "https://id.example/jwks", transport: provider, time: clock) { _ in
      failures.wrappingAdd(1, ordering: .relaxed)
    }
    let authenticator = authenticator(.source(source))
    await source.fetch()
    clock.advance(by: .seconds(3600))
    #expect(outcome(authenticator, try token()) == "caller app-users ann")
    await source.fetch()
    #expect(failures.load(ordering: .relaxed) >= 1)
    #expect(outcome(authenticator, try token(["sub": "bob"])) == "caller app-users bob")
  }

  @Test func `a key that is withdrawn no longer serves, not even for tokens that were verified before`()
    async throws
  {
    let second = try PrivateKey.generate(for: .ES256)
    let provider = KeyProvider([.publishing(["k1": key.publicKey]), .publishing(["k2": second.publicKey])])
    let source = KeySource(url: "https://id.example/jwks", transport: provider, time: ManualTime()) { _ in }
    // Another caller's keys, which do not change, must not keep a token of this one valid.
    let other = JWTAuthenticator.Issuer(
      id: "others", issuer: "https://other.example", audience: "callgate", subjectClaim: "sub",
      keys: .set(try JWKSet(parsing: KeyProvider.set(["k1": second.publicKey]))))
    let authenticator = JWTAuthenticator(issuers: [other] + authenticator(.source(source)).issuers)
    await source.fetch()
    let token = try token()
    #expect(outcome(authenticator, token) == "caller app-users ann")
    await source.fetch()
    #expect(outcome(authenticator, token) == "fetch first")
    await source.fetchForUnknownKey()
    #expect(outcome(authenticator, token) == "unknown key")
  }
}

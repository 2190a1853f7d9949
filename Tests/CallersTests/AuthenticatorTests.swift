// Tests of how the server authenticates a request when callers of every kind are configured.

import HTTP
import JOSE
import JSON
import Platform
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing
import Trust

@testable import API
@testable import Callers

/// The caller that a request authenticates as, with every kind of caller configured at once.
@Suite struct AuthenticatorTests {
  private static let now = UnixTime(seconds: 1_795_000_000)
  private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let key: PrivateKey
  private let signer: Signer
  private let authenticator: Authenticator

  init() throws {
    key = try PrivateKey.generate(for: .ES256)
    signer = try Signer(key: key, algorithm: .ES256)
    authenticator = Authenticator(
      basicCallers: [
        .init(id: "ios", username: "app", passwordDigest: SHA256Digest(of: Array("right".utf8))),
        .init(id: "android", username: "other", passwordDigest: SHA256Digest(of: Array("right".utf8))),
        .init(
          id: "kiosk", username: "kiosk", passwordDigest: SHA256Digest(of: Array(Self.long.utf8)),
          isStrong: true),
      ],
      keyCallers: [.init(id: "partner", keyDigest: SHA256Digest(of: Array("the.partner's.key".utf8)))],
      jwt: Self.users(.set(try JWKSet(parsing: KeyProvider.set(["k1": key.publicKey])))), proofs: Self.proofs)
  }

  private static let long = "twenty characters it"

  /// No caller here has a key.
  private static let proofs = ProofVerifier(
    nonces: ProofNonces(keys: [Secret([1])]), externalURLs: [], isTLS: false,
    proxies: ClientAddress(trusted: [], hops: 0), throttle: LoginThrottle())

  /// The issuer of the users' tokens, with its keys loaded.
  private static func users(_ keys: JWTAuthenticator.Keys, id: String = "users") -> JWTAuthenticator {
    JWTAuthenticator(issuers: [
      .init(
        id: id, issuer: "https://id.example", audience: "callgate", subjectClaim: "sub", keys: keys)
    ])
  }

  private func token(_ subject: String) throws -> String {
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": .string(subject),
      "exp": .number(JSONNumber(Self.now.seconds + 600)),
    ]
    return try JWS.sign(header: ["alg": "ES256", "kid": "k1"], payload: claims.serialized(), with: signer)
  }

  private func basic(_ text: String) -> String {
    "Authorization: Basic \(Base64.encode(Array(text.utf8)))"
  }

  struct NoRequest: Error {}

  /// The caller's id and subject, or the refusal's code.
  private func outcome(
    _ fields: String..., from address: String = "203.0.113.9", at now: MonotonicTime = start,
    by other: Authenticator? = nil, to path: String = "/access"
  ) throws -> String {
    let octets = Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n".utf8)
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { throw NoRequest() }
    let circumstances = Authenticator.Circumstances(
      address: try #require(IPAddress(address)), time: Self.now, now: now)
    var proof: ProofResult?
    defer { #expect(proof == nil) }
    return switch (other ?? authenticator).authenticate(request, circumstances, &proof) {
    case .caller(let caller): caller.id == caller.subject ? caller.id : "\(caller.id) \(caller.subject)"
    case .refused(let problem): problem.code.rawValue
    case .first: "fetch first"
    }
  }

  @Test func `several callers of several kinds are recognised`() throws {
    #expect(try outcome(basic("app:right")) == "ios")
    #expect(try outcome(basic("other:right")) == "android")
    #expect(try outcome("Authorization: Bearer the.partner's.key") == "partner")
    #expect(try outcome("X-API-Key: the.partner's.key") == "partner")
    #expect(try outcome("Authorization: Bearer \(try token("ann"))") == "users ann")
    #expect(try outcome() == "unauthenticated")
  }

  @Test(arguments: [
    "app:wrong", "app:", "app:right ", "App:right", "app", ":right", "nobody:right", "app:right\u{0}", "",
  ])
  func `a name or password that is not exactly right is refused, and a name that is unknown alike`(
    _ credentials: String
  ) throws {
    #expect(try outcome(basic(credentials)) == "unauthenticated")
  }

  @Test func `credentials of one kind do not serve as another`() throws {
    let token = try token("ann")
    #expect(try outcome("X-API-Key: \(token)") == "invalid_token")
    #expect(try outcome(basic("app:\(token)")) == "unauthenticated")
    #expect(try outcome(basic("the.partner's.key:")) == "unauthenticated")
    #expect(try outcome("Authorization: Bearer right") == "invalid_token")
    #expect(try outcome("X-API-Key:") == "invalid_token")
    // A wrong credential is refused even next to a right one of another kind.
    #expect(try outcome(basic("app:wrong"), "X-API-Key: the.partner's.key") == "unauthenticated")
  }

  @Test func `beside the sandbox's own users no credential counts where no caller is configured`() throws {
    let keys = JWTAuthenticator.Keys.set(try JWKSet(parsing: KeyProvider.set(["k1": key.publicKey])))
    let users = Self.users(keys, id: Caller.sandboxUsersID)
    let open = Authenticator(jwt: users, allowsAnonymous: true, proofs: Self.proofs)
    #expect(try outcome("Authorization: Bearer \(try token("ann"))", by: open) == "sandbox-users ann")
    for field in [
      "Authorization: Bearer a.b.c", "Authorization: Bearer <your token here>", "Authorization: Bearer x",
      "X-API-Key: x",
      basic("app:wrong"), "Authorization: Digest x", "X-Nothing: x",
    ] {
      #expect(try outcome(field, by: open) == "anonymous", "\(field)")
    }
    let closed = Authenticator(jwt: users, proofs: Self.proofs)
    #expect(try outcome("Authorization: Bearer x", by: closed) == "invalid_token")
  }

  @Test func `an app without a token that sends undefined or null locks out no phone beside it`() throws {
    for field in ["Authorization: Bearer undefined", "Authorization: DPoP null", "X-API-Key: null"] {
      for _ in 0..<150 { #expect(try outcome(field) == "invalid_token") }
    }
    #expect(try outcome("X-API-Key: guess") == "invalid_token")
    #expect(try outcome(basic("app:right")) == "ios")
  }

  @Test func `two Authorization fields are refused`() throws {
    #expect(throws: NoRequest.self) { try outcome(basic("app:wrong"), basic("app:right")) }
  }

  @Test func `guesses from an address lock out neither others there nor the same name elsewhere`()
    throws
  {
    let known = "Authorization: Bearer \(try token("ann"))"
    #expect(try outcome(known) == "users ann")
    for _ in 0..<10 { #expect(try outcome(basic("app:guess")) == "unauthenticated") }
    // The name has to wait at this address. Not even the right password gets another response.
    #expect(try outcome(basic("app:right")) == "rate_limited")
    #expect(try outcome(basic("other:right")) == "android")
    #expect(try outcome(basic("app:right"), from: "203.0.113.10") == "ios")
    // After a hundred failures the whole address has to wait, except for credentials that were right there
    // before.
    for guess in 0..<90 { _ = try outcome("X-API-Key: guess-\(guess)") }
    #expect(try outcome(basic("other:wrong")) == "rate_limited")
    #expect(try outcome("X-API-Key: guess") == "rate_limited")
    #expect(try outcome("Authorization: Bearer \(try token("bob"))") == "users bob")
    #expect(try outcome(known) == "users ann")
    #expect(try outcome(basic("other:right")) == "android")
    #expect(try outcome(basic("app:right"), at: Self.start + .seconds(6)) == "ios")
  }

  @Test func `an encrypted token is no guess at a key`() throws {
    // Such a token is what Auth0 issues if no audience is requested.
    let encrypted = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..aXY.Y29udGVudA.dGFn"
    for _ in 0..<100 { #expect(try outcome("Authorization: Bearer \(encrypted)") == "invalid_token") }
    #expect(try outcome("Authorization: Bearer \(encrypted)") == "rate_limited")
    #expect(try outcome("X-API-Key: guess") != "rate_limited")
    #expect(try outcome(basic("app:right")) == "ios")
  }

  @Test func `a key gets in whatever others send from its address`() throws {
    for guess in 0..<200 { _ = try outcome("X-API-Key: guess-\(guess)") }
    for field in ["X-API-Key", "Authorization: Bearer", "apikey"] {
      let field = field.contains(":") ? field + " " : field + ": "
      let path = field.hasPrefix("apikey") ? "/genesys/1/service/a" : "/access"
      #expect(try outcome(field + "the.partner's.key", to: path) == "partner", "\(field)")
      // A credential that looks like a JWT does not count as a guessed key.
      let isToken = field.contains("Bearer")
      #expect(
        try outcome(field + "the.guessed.key", to: path) == (isToken ? "invalid_token" : "rate_limited"),
        "\(field)")
    }
    // Nor do forged tokens stop a key.
    let forger = try Signer(key: PrivateKey.generate(for: .ES256), algorithm: .ES256)
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann", "exp": 9_999_999_999,
    ]
    let forged = try JWS.sign(
      header: ["alg": "ES256", "kid": "k1"], payload: claims.serialized(), with: forger)
    for _ in 0..<1_001 { _ = try outcome("Authorization: Bearer \(forged)") }
    #expect(try outcome("Authorization: Bearer the.partner's.key") == "partner")
  }

  @Test func `a password too long to guess gets in whatever others send from its address`() throws {
    for _ in 0..<10 { #expect(try outcome(basic("kiosk:old")) == "unauthenticated") }
    for guess in 0..<200 { _ = try outcome("X-API-Key: guess-\(guess)") }
    for _ in 0..<3 {
      #expect(try outcome(basic("kiosk:old")) == "rate_limited")
      #expect(try outcome(basic("kiosk:\(Self.long)")) == "kiosk")
    }
    #expect(try outcome(basic("app:right")) == "rate_limited", "this one can be guessed")
    #expect(try outcome(basic("app:\(Self.long)")) == "rate_limited")
  }

  @Test func `a password that was right at an address gets in there after a restart, despite guesses`()
    async throws
  {
    let store = memoryStore()
    try await store.migrate()
    let callers = [
      Authenticator.BasicCaller(
        id: "ios", username: "app", passwordDigest: SHA256Digest(of: Array("right".utf8)))
    ]
    func start() async -> Authenticator {
      let memory = LoginMemory(store: store, key: Secret([1]), clock: ManualTime(Self.now))
      await memory.refresh()
      return Authenticator(
        basicCallers: callers, throttle: LoginThrottle(memory: memory), proofs: Self.proofs)
    }
    let first = await start()
    #expect(try outcome(basic("app:right"), by: first) == "ios")
    await first.throttle.memory?.refresh()
    let second = await start()
    for _ in 0..<10 { #expect(try outcome(basic("app:guess"), by: second) == "unauthenticated") }
    #expect(try outcome(basic("app:guess"), by: second) == "rate_limited")
    #expect(try outcome(basic("nobody:right"), by: second) == "unauthenticated")
    #expect(try outcome(basic("app:right"), by: second) == "ios")
    // At another address the name has to wait like any guess.
    for _ in 0..<10 { _ = try outcome(basic("app:guess"), from: "203.0.113.10", by: second) }
    #expect(try outcome(basic("app:right"), from: "203.0.113.10", by: second) == "rate_limited")
    #expect(second.throttle.refusals == 2)
  }

  @Test
  func `a right token is accepted despite guesses from its address, and despite new keys of its issuer`()
    async throws
  {
    let second = try PrivateKey.generate(for: .ES256).publicKey
    let provider = KeyProvider([
      .publishing(["k1": key.publicKey]), .publishing(["k1": key.publicKey, "k2": second]),
      .publishing(["k2": second]),
    ])
    let source = KeySource(url: "https://id.example/jwks", transport: provider, time: ManualTime()) { _ in }
    await source.fetch()
    let authenticator = Authenticator(jwt: Self.users(.source(source)), proofs: Self.proofs)
    let ann = "Authorization: Bearer \(try token("ann"))"
    let bob = "Authorization: Bearer \(try token("bob"))"
    // The token was verified at another address, and only seen again at the one shared with the guesser.
    #expect(try outcome(ann, from: "198.51.100.7", by: authenticator) == "users ann")
    #expect(try outcome(ann, by: authenticator) == "users ann")
    for guess in 0..<100 { _ = try outcome("X-API-Key: guess-\(guess)", by: authenticator) }

    await source.fetch()
    #expect(try outcome(bob, by: authenticator) == "users bob")
    #expect(try outcome(ann, by: authenticator) == "users ann")
    // A reload of the configuration forgets verified tokens and keeps the failures.
    let reloaded = Authenticator(
      jwt: Self.users(.source(source)), throttle: authenticator.throttle, proofs: Self.proofs)
    #expect(try outcome(bob, by: reloaded) == "users bob")
    #expect(try outcome(ann, by: reloaded) == "users ann")

    // Passing the throttle does not make the token valid: its key is gone.
    await source.fetch()
    #expect(try outcome(ann, by: reloaded) == "fetch first")
    await source.fetchForUnknownKey()
    #expect(try outcome(ann, by: reloaded) == "invalid_token")
    #expect(try outcome(ann, from: "198.51.100.7", by: reloaded) == "invalid_token")
  }

  @Test func `forged tokens lock no user out, and get a time to retry after the first hundred`() throws {
    let other = try Signer(key: PrivateKey.generate(for: .ES256), algorithm: .ES256)
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann", "exp": 9_999_999_999,
    ]
    let forged = try JWS.sign(
      header: ["alg": "ES256", "kid": "k1"], payload: claims.serialized(), with: other)
    for _ in 0..<100 { #expect(try outcome("Authorization: Bearer \(forged)") == "invalid_token") }
    for number in 0..<50 {
      #expect(try outcome("Authorization: Bearer \(forged)") == "rate_limited")
      #expect(try outcome("Authorization: Bearer \(try token("user-\(number)"))") == "users user-\(number)")
    }
    // The token is checked again at another address, and later.
    #expect(try outcome("Authorization: Bearer \(forged)", from: "203.0.113.10") == "invalid_token")
    #expect(try outcome("Authorization: Bearer \(forged)", at: Self.start + .seconds(60)) == "invalid_token")
  }

  @Test func `bad tokens stop nothing else, and a genuine one always passes`() throws {
    let other = try Signer(key: PrivateKey.generate(for: .ES256), algorithm: .ES256)
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann", "exp": 9_999_999_999,
    ]
    let forged = try JWS.sign(
      header: ["alg": "ES256", "kid": "k1"], payload: claims.serialized(), with: other)
    let others: JSONObject = ["iss": "https://other.example"]
    let foreign = try JWS.sign(
      header: ["alg": "ES256", "kid": "k1"], payload: others.serialized(), with: other)
    for bad in [forged, foreign, "a.b.c"] {
      for _ in 0..<1_200 { _ = try outcome("Authorization: Bearer \(bad)") }
      #expect(try outcome("Authorization: Bearer \(bad)") == "rate_limited")
    }
    #expect(try outcome("Authorization: Bearer \(try token("bob"))") == "users bob")
    #expect(try outcome("Authorization: Bearer the.partner's.key") == "partner")
    #expect(try outcome("X-API-Key: the.partner's.key") == "partner")
    #expect(try outcome(basic("app:right")) == "ios")
    #expect(try outcome(basic("app:wrong")) == "unauthenticated")
    #expect(try outcome("Authorization: Bearer wrong-key") == "invalid_token")
  }

  @Test func `a JWT is no guess at an API key, even where no issuer is configured`() throws {
    let keys = Authenticator(
      keyCallers: [.init(id: "partner", keyDigest: SHA256Digest(of: Array("the.partner's.key".utf8)))],
      proofs: Self.proofs)
    for _ in 0..<100 {
      #expect(try outcome("Authorization: Bearer \(try token("ann"))", by: keys) == "invalid_token")
    }
    #expect(try outcome("Authorization: Bearer \(try token("ann"))", by: keys) == "rate_limited")
    #expect(try outcome("Authorization: Bearer the.partner's.key", by: keys) == "partner")
    #expect(try outcome("Authorization: Bearer wrong", by: keys) == "invalid_token")
  }

  @Test func `the operator is told the issuer that no caller has`() throws {
    let issuers = Mutex<[String]>([])
    let watched = Authenticator(
      jwt: Self.users(.set(try JWKSet(parsing: KeyProvider.set(["k1": key.publicKey])))), proofs: Self.proofs,
      onUnknownIssuer: { issuer in issuers.withLock { $0.append(issuer) } })
    let claims: JSONObject = ["iss": "https://id.example/", "sub": "ann"]
    let foreign = try JWS.sign(header: ["kid": "k1"], payload: claims.serialized(), with: signer)
    #expect(try outcome("Authorization: Bearer \(foreign)", by: watched) == "invalid_token")
    #expect(try outcome("Authorization: Bearer \(try token("ann"))", by: watched) == "users ann")
    #expect(issuers.withLock { $0 } == ["https://id.example/"])
  }

  @Test func `a genuine token that has expired is no guess`() throws {
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann",
      "exp": .number(JSONNumber(Self.now.seconds - 600)),
    ]
    let expired = try JWS.sign(
      header: ["alg": "ES256", "kid": "k1"], payload: claims.serialized(), with: signer)
    for _ in 0..<200 { #expect(try outcome("Authorization: Bearer \(expired)") == "invalid_token") }
    #expect(try outcome(basic("app:right")) == "ios")
  }
}

// Tests of how callers that have a key prove it: users whose token is bound to one, and installations.

import Gate
import HTTP
import JOSE
import JSON
import Platform
import Store
import StoreSupport
import TestSupport
import Testing
import Trust

@testable import API
@testable import Callers
@testable import Installations

@Suite struct ProofTests {
  private static let now = UnixTime(seconds: 1_795_000_000)
  private static let seconds = 1_795_000_000.0
  private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private static let nonces = ProofNonces(keys: [Secret([UInt8](repeating: 7, count: 32))])
  private static let secret = "the-secret"

  private let issuer: PrivateKey
  private let phone: PrivateKey
  private let clock = ManualTime()

  init() throws {
    issuer = try PrivateKey.generate(for: .ES256)
    phone = try PrivateKey.generate(for: .ES256)
  }

  private func verifier(
    _ urls: [String] = ["https://calls.example.com"], isTLS: Bool = false, hops: Int = 0,
    throttle: LoginThrottle = LoginThrottle()
  ) throws -> ProofVerifier {
    ProofVerifier(
      nonces: Self.nonces, externalURLs: urls, isTLS: isTLS,
      proxies: ClientAddress(trusted: [try CIDR("10.0.0.0/8")], hops: hops), throttle: throttle)
  }

  /// A server with users, and with the phones of two apps.
  private func authenticator(
    _ proofs: ProofVerifier? = nil, store: any Store = memoryStore(), allowsAnonymous: Bool = false,
    directory: InstallationDirectory? = nil
  ) throws -> Authenticator {
    let set = try JWKSet(parsing: KeyProvider.set(["k1": issuer.publicKey]))
    return Authenticator(
      jwt: JWTAuthenticator(issuers: [
        .init(
          id: "users", issuer: "https://id.example", audience: "callgate", subjectClaim: "sub",
          keys: .set(set))
      ]),
      installations: InstallationCallers(
        directory: directory ?? InstallationDirectory(store: store, clock: clock),
        terms: [
          "plain": InstallationTerms(), "shop": InstallationTerms(key: .optional),
          "bank": InstallationTerms(key: .required),
        ]),
      allowsAnonymous: allowsAnonymous, proofs: try proofs ?? verifier())
  }

  private func installation(
    _ app: String, key: PrivateKey? = nil, usedAt: Instant = Instant(Self.now)
  ) -> KnownInstallation {
    KnownInstallation(
      Installation(
        client: InstallationClient(
          id: InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")!, app: "Shop", detail: nil),
        appID: app, user: nil, address: "192.0.2.1", secret: SHA256Digest(of: Array(Self.secret.utf8)),
        generation: 5, createdAt: usedAt, usedAt: usedAt, key: key?.publicKey.thumbprint))
  }

  private static let basic =
    "Authorization: Basic "
    + Base64.encode(Array("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44:\(secret)".utf8))

  private func token(_ confirmation: JSONValue? = nil) throws -> String {
    var claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": "ann",
      "exp": .number(JSONNumber(Self.now.seconds + 600)),
    ]
    if let confirmation { claims["cnf"] = confirmation }
    return try JWS.sign(
      header: ["kid": "k1"], payload: claims.serialized(), with: try Signer(key: issuer, algorithm: .ES256))
  }

  private func bound() throws -> String {
    try token(["jkt": .string(Base64URL.encode(phone.publicKey.thumbprint.bytes))])
  }

  private func proof(
    by key: PrivateKey? = nil, naming named: PrivateKey? = nil,
    url: String = "https://calls.example.com/access", for token: String? = nil
  ) throws -> String {
    let key = key ?? phone
    var claims: JSONObject = [
      "jti": "one", "htm": "GET", "htu": .string(url), "iat": .number(JSONNumber(Self.now.seconds)),
      "nonce": .string(Self.nonces.nonce(now: Self.seconds)),
    ]
    if let token { claims["ath"] = .string(Base64URL.encode(SHA256.digest(Array(token.utf8)))) }
    let header: JSONObject = ["typ": "dpop+jwt", "jwk": .object((named ?? key).publicKey.jwk())]
    return "DPoP: "
      + (try JWS.sign(
        header: header, payload: claims.serialized(), with: try Signer(key: key, algorithm: .ES256)))
  }

  private struct NoRequest: Error {}

  private func request(_ fields: [String], host: String = "calls.example.com") throws -> Request {
    let octets = Array(
      "GET /access?app=shop HTTP/1.1\r\nHost: \(host)\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n".utf8)
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { throw NoRequest() }
    return request
  }

  /// A proof verified from the head of a request.
  private func verified(_ field: String, by authenticator: Authenticator) throws -> VerifiedProof {
    let circumstances = Authenticator.Circumstances(
      address: try #require(IPAddress("203.0.113.9")), time: Self.now, now: Self.start, isEarly: true)
    var result: ProofResult?
    guard
      case .first(.keyholder(let proof, _, _)) = authenticator.authenticate(
        try request([field]), circumstances, &result)
    else { throw NoRequest() }
    return proof
  }

  /// The outcome and the proof's result, after every wait that the server has to make.
  private func outcome(
    _ fields: String..., by authenticator: Authenticator? = nil, found: KnownInstallation? = nil,
    spending: ProofSpending = .spent, host: String = "calls.example.com", peer: String = "192.0.2.1",
    after head: Authenticator.KnownProof? = nil, at now: MonotonicTime = start
  ) throws -> (outcome: String, proof: ProofResult?, problem: Problem?) {
    let authenticator = try authenticator ?? self.authenticator()
    let request = try request(fields, host: host)
    var prepared: Authenticator.Prepared?
    var known = head
    var waits: [String] = []
    while true {
      var result: ProofResult?
      let circumstances = Authenticator.Circumstances(
        address: try #require(IPAddress("203.0.113.9")), time: Self.now, now: now, prepared: prepared,
        proof: known, peer: IPAddress(peer))
      switch authenticator.authenticate(request, circumstances, &result) {
      case .caller(let caller): return ((waits + [caller.id]).joined(separator: " "), result, nil)
      case .refused(let problem):
        return ((waits + [problem.code.rawValue]).joined(separator: " "), result, problem)
      case .first(let prerequisite):
        guard waits.count < 4 else { throw NoRequest() }
        switch prerequisite {
        case .installation:
          waits.append("look")
          prepared = .installation(found)
        case .keyholder(let proof, _, _):
          waits.append("look")
          prepared = .installation(found)
          known = .init(proof, known?.spending)
        case .proof(let proof):
          waits.append("spend")
          known = .init(proof, spending, holder: known?.holder)
        case .keys, .appCheckKeys: throw NoRequest()
        }
      }
    }
  }

  @Test func `an installation with a key proves it beside its secret, once for each request`() throws {
    let found = installation("shop", key: phone)
    let right = try outcome(Self.basic, proof(), found: found)
    #expect(right.outcome == "look spend installation" && right.proof == .passed)
    let replayed = try outcome(Self.basic, proof(), found: found, spending: .replayed)
    #expect(replayed.outcome == "look spend invalid_proof" && replayed.proof == .failed(.replayed))
    let unavailable = try outcome(Self.basic, proof(), found: found, spending: .unavailable)
    #expect(unavailable.outcome == "look spend store_unavailable" && unavailable.proof == .unavailable)
    // An installation stays bound to its key even if its app no longer accepts keys.
    let left = try outcome(Self.basic, found: installation("plain", key: phone))
    #expect(left.outcome == "look invalid_proof" && left.proof == .missing)
  }

  @Test
  func
    `without a proof, with several, with another phone's or a broken one it is refused before the store is asked`()
    throws
  {
    let found = installation("shop", key: phone)
    let other = try PrivateKey.generate(for: .ES256)
    let refusals = [
      (try outcome(Self.basic, found: found), ProofResult.missing, "use_dpop_nonce"),
      (try outcome(Self.basic, "DPoP: x", found: found), .failed(.malformed), "use_dpop_nonce"),
      (try outcome(Self.basic, proof(), proof(), found: found), .failed(.repeated), "invalid_dpop_proof"),
      (try outcome(Self.basic, proof(by: other), found: found), .failed(.otherKey), "invalid_dpop_proof"),
      (
        try outcome(Self.basic, proof(url: "https://calls.example.com/callbacks"), found: found),
        .failed(.wrongURL),
        "invalid_dpop_proof"
      ),
    ]
    for (actual, result, challenge) in refusals {
      #expect(actual.outcome == "look invalid_proof" && actual.proof == result)
      let fields = try #require(actual.problem).responseFields
      #expect(
        fields.values(of: "WWW-Authenticate") == ["DPoP error=\"\(challenge)\", algs=\"ES256\""])
      #expect(fields.values(of: "DPoP-Nonce") == [Self.nonces.nonce(now: Self.seconds)])
    }
    #expect(try outcome("Authorization: Basic x", proof()).outcome == "unauthenticated")
    // A valid proof does not replace the password.
    let wrong = "Authorization: Basic " + Base64.encode(Array("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44:x".utf8))
    #expect(try outcome(wrong, proof(), found: found).outcome == "look unauthenticated")
  }

  @Test
  func
    `an installation without a key goes on, is counted where it could have one, and refused where it must`()
    throws
  {
    let plain = try outcome(Self.basic, found: installation("plain"))
    #expect(plain.outcome == "look installation" && plain.proof == nil)
    let optional = try outcome(Self.basic, found: installation("shop"))
    #expect(optional.outcome == "look installation" && optional.proof == .keyless)
    let required = try outcome(Self.basic, found: installation("bank"))
    #expect(required.outcome == "look invalid_proof" && required.proof == .failed(.noKey))
  }

  @Test func `a proof alone is enough for the phones of an app that requires keys`() throws {
    let bank = installation("bank", key: phone)
    let right = try outcome(proof(), found: bank)
    #expect(right.outcome == "look spend installation" && right.proof == .passed)
    #expect(try outcome(proof(), found: bank, spending: .replayed).outcome == "look spend invalid_proof")
    #expect(try outcome(proof(), found: nil).proof == .failed(.otherKey))
    #expect(try outcome("DPoP: x", found: bank).proof == .failed(.malformed))
    // Other credentials take precedence.
    #expect(try outcome(Self.basic, proof(), found: bank).outcome == "look spend installation")
    #expect(try outcome("X-API-Key: x", proof(), found: bank).outcome == "invalid_token")
    // This app's phones do not need keys.
    #expect(try outcome(proof(), found: installation("shop", key: phone)).outcome == "look unauthenticated")
    #expect(try outcome(found: bank).outcome == "unauthenticated")
    // An invalid proof is refused even if anonymous requests are allowed.
    let open = try authenticator(allowsAnonymous: true)
    #expect(try outcome("DPoP: x", by: open).outcome == "invalid_proof")
    #expect(try outcome(by: open).outcome == "anonymous")
  }

  @Test func `a phone that was idle for too long is refused, also where its key is all it sends`() throws {
    func outcome(idle span: Duration, _ fields: String...) throws -> String {
      let found = installation("bank", key: phone, usedAt: Instant(Self.now).advanced(by: .zero - span))
      return try fields.isEmpty
        ? self.outcome(proof(), found: found).outcome
        : self.outcome(fields[0], proof(), found: found).outcome
    }
    let idle = InstallationTerms().idle
    #expect(try outcome(idle: idle - .seconds(1)) == "look spend installation")
    #expect(try outcome(idle: idle) == "look invalid_proof")
    #expect(try outcome(idle: idle - .seconds(1), Self.basic) == "look spend installation")
    #expect(try outcome(idle: idle, Self.basic) == "look unauthenticated")
  }

  @Test(arguments: [true, false])
  func `the use of a phone is saved, also where its key is all it sends`(isAlone: Bool) async throws {
    let store = memoryStore()
    try await store.migrate()
    let found = installation("bank", key: phone)
    let id = found.installation.client.id
    try await store.changeInstallation(InstallationScope(id), at: Instant(Self.now)) { _ in
      (InstallationChange(installation: found.installation), ())
    }
    let callers = InstallationCallers(
      directory: InstallationDirectory(store: store, clock: clock),
      terms: ["bank": InstallationTerms(key: .required)])
    let server = Authenticator(installations: callers, proofs: try verifier())
    let result =
      try isAlone
      ? outcome(proof(), by: server, found: found)
      : outcome(Self.basic, proof(), by: server, found: found)
    #expect(result.outcome == "look spend installation")
    try await callers.directory.saveUses()
    #expect(try await store.installation(id)?.usedAt == Instant(clock.unixTime))
  }

  @Test func `a token that is bound to a key needs a proof of that key for this token`() throws {
    let token = try bound()
    for scheme in ["DPoP", "Bearer", "dpop"] {
      let field = "Authorization: \(scheme) \(token)"
      let right = try outcome(field, proof(for: token))
      #expect(right.outcome == "spend users" && right.proof == .passed)
      #expect(try outcome(field).proof == .missing)
      #expect(try outcome(field, proof()).proof == .failed(.wrongToken))
      #expect(try outcome(field, proof(for: "another")).proof == .failed(.wrongToken))
      let other = try PrivateKey.generate(for: .ES256)
      #expect(try outcome(field, proof(by: other, for: token)).proof == .failed(.otherKey))
      #expect(try outcome(field, proof(for: token), spending: .replayed).proof == .failed(.replayed))
    }
    let plain = try self.token()
    #expect(try outcome("Authorization: Bearer \(plain)").outcome == "users")
    #expect(try outcome("Authorization: Bearer \(plain)", "DPoP: x").outcome == "users")
    #expect(try outcome("Authorization: DPoP \(plain)", proof(for: plain)).outcome == "invalid_token")
    #expect(try outcome("Authorization: DPoP x", proof(for: "x")).outcome == "invalid_token")
  }

  @Test func `a token that was verified before still needs a proof`() throws {
    let token = try bound()
    let server = try authenticator()
    for _ in 1...2 {
      #expect(
        try outcome("Authorization: Bearer \(token)", proof(for: token), by: server).outcome == "spend users")
      #expect(try outcome("Authorization: Bearer \(token)", by: server).outcome == "invalid_proof")
    }
  }

  @Test(arguments: ["x", 5, [], ["jkt": 5], ["jkt": "x"], ["jkt": .null]] as [JSONValue])
  func `a binding that cannot be read does not count as none`(_ confirmation: JSONValue) throws {
    #expect(try outcome("Authorization: Bearer \(token(confirmation))").outcome == "invalid_token")
  }

  @Test func `a binding of another kind stays as it was`() throws {
    #expect(try outcome("Authorization: Bearer \(token(["x5t#S256": "x"]))").outcome == "users")
  }

  @Test func `the URL is one of those that are configured, with the path that a proxy removes`() throws {
    let found = installation("shop", key: phone)
    let server = try authenticator(verifier(["https://a.example", "https://b.example/calls"]))
    for url in ["https://a.example/access", "https://b.example/calls/access"] {
      #expect(try outcome(Self.basic, proof(url: url), by: server, found: found).proof == .passed)
    }
    for url in ["https://b.example/access", "https://calls.example.com/access"] {
      #expect(try outcome(Self.basic, proof(url: url), by: server, found: found).proof == .failed(.wrongURL))
    }
  }

  @Test func `without configured URLs it is the request's scheme and host`() throws {
    let found = installation("shop", key: phone)
    func result(
      _ url: String, _ more: String = "X-Other: 1", isTLS: Bool = false, peer: String = "192.0.2.1",
      hops: Int = 1
    )
      throws -> ProofResult?
    {
      let server = try authenticator(verifier([], isTLS: isTLS, hops: hops))
      return try outcome(
        Self.basic, proof(url: url), more, by: server, found: found, host: "h.example:8080", peer: peer
      ).proof
    }
    let (plain, secure) = ("http://h.example:8080/access", "https://h.example:8080/access")
    #expect(try result(plain) == .passed)
    #expect(try result(secure) == .failed(.wrongURL))
    #expect(try result(secure, isTLS: true) == .passed)
    let forwarded = "X-Forwarded-Proto: https"
    #expect(try result(secure, forwarded) == .failed(.wrongURL))
    #expect(try result(secure, forwarded, peer: "10.1.2.3") == .passed)
    #expect(try result(secure, forwarded, peer: "10.1.2.3", hops: 0) == .failed(.wrongURL))
    #expect(try result(secure, "X-Forwarded-Proto: http, https", peer: "10.1.2.3") == .passed)
    #expect(try result(plain, "X-Forwarded-Proto: http, https", peer: "10.1.2.3", hops: 2) == .passed)
    #expect(try result(plain, "X-Forwarded-Proto: ftp", peer: "10.1.2.3") == .passed)
  }

  @Test func `an address has a limited number of signatures verified, and a known client's always`() throws {
    let throttle = LoginThrottle()
    let server = try authenticator(verifier(throttle: throttle))
    let found = installation("shop", key: phone)
    func result(_ proof: String) throws -> String {
      let (words, result, _) = try outcome(Self.basic, proof, by: server, found: found)
      return "\(words) \(result?.reason ?? "-")"
    }
    #expect(try result(proof()) == "look spend installation -")
    let forger = try PrivateKey.generate(for: .ES256)
    let forged = try proof(by: forger)
    // A thousand verifications at the same time. A stranger's valid signature costs as much as an invalid
    // one.
    let address = try #require(IPAddress("203.0.113.9"))
    let stranger = LoginThrottle.Credential(digest: SHA256Digest(of: []))
    for _ in 0..<997 {
      #expect(throttle.takeVerification(address: address, credential: stranger, now: Self.start) == nil)
    }
    for _ in 0..<2 { #expect(try result(forged) == "look invalid_proof other_key") }
    #expect(try result(forged) == "look rate_limited -")
    // A known client still needs its own signature.
    #expect(try result(proof(by: forger, naming: phone)) == "look invalid_proof bad_signature")
    // A fault found without verifying a signature is still reported.
    #expect(try result(proof(url: "https://b.example/access")).hasSuffix("wrong_url"))
    #expect(try result(proof()) == "look spend installation -")
  }

  @Test(arguments: [0, 999, 1000] as [Int64])
  func `the phone that its head named is looked up once within a second`(milliseconds: Int64) async throws {
    let store = memoryStore()
    let bank = installation("bank", key: phone).installation
    try await store.changeInstallation(InstallationScope(bank.client.id), at: bank.createdAt) { _ in
      (InstallationChange(installation: bank), ())
    }
    let directory = InstallationDirectory(store: store, clock: clock)
    let authenticator = try authenticator(directory: directory)
    let verified = try verified(proof(), by: authenticator)
    #expect(try await directory.look(key: verified.key)?.installation == bank)
    let now = Self.start + .milliseconds(milliseconds)
    let holder = Authenticator.KnownProof(verified, nil, holder: bank.client.id)
    let whole = try outcome(
      proof(), by: authenticator, found: installation("bank", key: phone), after: holder, at: now)
    #expect(whole.outcome == (milliseconds < 1000 ? "spend installation" : "look spend installation"))
    // A proof without a holder does not identify anybody, so the installation is looked up.
    let other = try outcome(
      proof(), by: authenticator, found: installation("bank", key: phone), after: .init(verified, nil),
      at: now)
    #expect(other.outcome == "look spend installation")
    // The installation was revoked here meanwhile.
    directory.forget(bank.client.id)
    #expect(try outcome(proof(), by: authenticator, after: holder, at: now).outcome == "look invalid_proof")
  }

  @Test func `a client that sends nothing is told how to begin where a key alone is a credential`() throws {
    let problem = try #require(try outcome().problem)
    #expect(problem.code == .unauthenticated)
    let challenges = problem.responseFields.values(of: "WWW-Authenticate")
    #expect(challenges.contains(#"DPoP error="use_dpop_nonce", algs="ES256""#))
    #expect(challenges.contains { $0.hasPrefix("Basic ") })
    #expect(problem.responseFields["DPoP-Nonce"] == Self.nonces.nonce(now: Self.seconds))
  }
}

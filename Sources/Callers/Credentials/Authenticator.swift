// Finds the caller that a request's credentials prove, or refuses the request.

package import API
import Gate
package import HTTP
package import Installations
package import JOSE
package import Platform
package import Store
import Texts
package import Trust

/// Identifies the caller of a request: HTTP Basic (RFC 7617), API keys, JWTs, or anonymous if that is
/// allowed.
///
/// It looks up a credential by a digest or a seeded hash, so a thousand callers cost the same as one. It
/// compares digests in constant time. An unknown name takes the same steps as a wrong password.
///
/// A class, because other targets would copy a structure for each request.
package final class Authenticator: Sendable {
  /// One caller that proves itself by name and password. A class, so that it is compared where it is.
  package final class BasicCaller: Sendable {
    let username: [UInt8]
    let passwordDigest: SHA256Digest
    let caller: Caller

    /// - Parameter passwordDigest: SHA-256 of the password.
    package init(id: String, username: String, passwordDigest: SHA256Digest) {
      self.username = Array(username.utf8)
      self.passwordDigest = passwordDigest
      caller = Caller(authenticated: id)
    }

    /// The hash that finds it.
    fileprivate var nameHash: Int {
      let username = username
      return username.span.seededHash
    }

    fileprivate func isNamed(_ name: borrowing Span<UInt8>) -> Bool {
      let username = username
      return name.hasSameOctets(as: username.span)
    }
  }

  /// One caller that proves itself by a key.
  package struct KeyCaller: Sendable {
    let id: String
    /// SHA-256 of the key.
    let keyDigest: SHA256Digest

    package init(id: String, keyDigest: SHA256Digest) {
      self.id = id
      self.keyDigest = keyDigest
    }
  }

  /// The result of checking a request's credentials.
  package enum Outcome {
    case caller(Caller)
    // Indirect: each request passes an outcome on several times, and nearly all are callers.
    indirect case refused(Problem)
    /// Wait for this, then authenticate again with the result.
    indirect case first(Prerequisite)
  }

  /// A value that the server must fetch before it can identify the caller.
  package enum Prerequisite: Sendable {
    /// The keys of the issuer whose token names a key that is not known yet.
    case keys(KeySource)
    /// An installation in the store. From an address that guesses, the look-up waits for a turn.
    case installation(InstallationID, InstallationDirectory, isGuarded: Bool)
    /// The installation that has the key of a proof, in the store. From an address that guesses, the look-up waits for a turn.
    case keyholder(VerifiedProof, InstallationDirectory, isGuarded: Bool)
    /// The one use of a proof. The caller is known.
    case proof(VerifiedProof)
    /// The keys of App Check, for a token that names a key that is not known yet. The caller is known.
    case appCheckKeys(KeySource)
  }

  /// The result of fetching it.
  package enum Prepared: Sendable {
    case keys
    /// The installation of the id, if there is one.
    case installation(KnownInstallation?)
    /// There was no turn in time.
    case noTurn
    case storeFailed(StoreError)
  }

  /// The address and times of a request.
  package struct Circumstances {
    /// Where the request comes from.
    package let address: IPAddress
    /// The wall clock, for tokens' dates.
    package let time: UnixTime
    /// The monotonic clock, for the throttle.
    package let now: MonotonicTime

    /// The fetched value, if this request has waited for one.
    package let prepared: Prepared?
    /// The proof of this request that was verified before a wait.
    package let proof: KnownProof?
    /// Where the connection comes from; nil where it is not known, and then no proxy is believed.
    package let peer: IPAddress?
    /// Whether this request has waited for the keys of App Check.
    package let hasFetchedAppCheckKeys: Bool

    package init(
      address: IPAddress, time: UnixTime, now: MonotonicTime, prepared: Prepared? = nil,
      hasFetchedAppCheckKeys: Bool = false, proof: KnownProof? = nil, peer: IPAddress? = nil
    ) {
      self.proof = proof
      self.peer = peer
      self.prepared = prepared
      self.hasFetchedAppCheckKeys = hasFetchedAppCheckKeys
      self.address = address
      self.time = time
      self.now = now
    }

    var hasFetchedKeys: Bool { if case .keys = prepared { true } else { false } }
  }

  /// A verified proof, and what came of its one use, if that was asked for.
  package struct KnownProof: Sendable {
    let proof: VerifiedProof
    package let spending: ProofSpending?

    package init(_ proof: VerifiedProof, _ spending: ProofSpending?) {
      self.proof = proof
      self.spending = spending
    }
  }

  /// By a seeded hash of the user name.
  private let basicCallers: [Int: [BasicCaller]]
  private let keyCallers: [SHA256Digest: Caller]
  package let jwt: JWTAuthenticator
  let allowsAnonymous: Bool
  /// Whether no caller is configured. The sandbox's own users are none.
  private let isOpen: Bool
  /// It outlives a reload, so that a reload does not clear failed logins.
  package let throttle: LoginThrottle
  /// The installations that may call, of each app that has some.
  private let installations: InstallationCallers?
  /// Whether a proof alone identifies an installation of some app.
  private let takesProofAlone: Bool
  /// Judges the proofs of callers that have a key.
  package let proofs: ProofVerifier
  /// Whether some caller may have a key: an installation, or a user whose JWT is bound to one.
  package var mayProve: Bool {
    !jwt.issuers.isEmpty || installations?.terms.values.contains { $0.key != .off } == true
  }
  private let anonymous = Caller(authenticated: Caller.anonymousID, by: .none)

  package init(
    basicCallers: [BasicCaller] = [], keyCallers: [KeyCaller] = [],
    jwt: JWTAuthenticator = JWTAuthenticator(issuers: []),
    installations: InstallationCallers? = nil, allowsAnonymous: Bool = false,
    throttle: LoginThrottle = LoginThrottle(), proofs: ProofVerifier
  ) {
    self.proofs = proofs
    takesProofAlone = installations?.terms.values.contains { $0.key == .required } ?? false
    self.installations = installations
    self.basicCallers = Dictionary(grouping: basicCallers) { $0.nameHash }
    self.keyCallers = Dictionary(
      keyCallers.map { ($0.keyDigest, Caller(authenticated: $0.id, by: .key)) }, uniquingKeysWith: { $1 })
    self.jwt = jwt
    self.allowsAnonymous = allowsAnonymous
    isOpen =
      allowsAnonymous && basicCallers.isEmpty && keyCallers.isEmpty
      && jwt.issuers.allSatisfy { $0.id.hasSameBytes(as: Caller.sandboxUsersID) }
    self.throttle = throttle
  }

  /// The authenticated caller, or the refusal. Who has a key has to prove it, whatever the endpoint.
  ///
  /// - Parameter proof: Gets the result of judging the proof, where one was judged or a key is missing.
  package func authenticate(
    _ request: borrowing Request, _ circumstances: Circumstances, _ proof: inout ProofResult?
  ) -> Outcome {
    let outcome = identify(request, circumstances, &proof)
    guard case .caller(let caller) = outcome else { return outcome }
    if let key = caller.key { return prove(key, of: caller, request, circumstances, &proof) }
    if let app = caller.installedFor, let terms = installations?.terms[app], terms.key != .off {
      proof = .keyless
      if terms.key == .required { return refused(.failed(.noKey), circumstances, &proof) }
    }
    return outcome
  }

  /// Judges the proof of a caller's key, which is good once.
  private func prove(
    _ key: SHA256Digest, of caller: Caller, _ request: borrowing Request, _ circumstances: Circumstances,
    _ result: inout ProofResult?
  ) -> Outcome {
    let proof: VerifiedProof
    switch proofs.judge(request, circumstances) {
    case .absent: return refused(.missing, circumstances, &result)
    case .failed(let fault): return refused(.failed(fault), circumstances, &result)
    case .limited(let wait): return .refused(.tooManyLogins(wait))
    case .verified(let verified): proof = verified
    }
    if caller.proof == .jwt, proof.accessToken == nil || proof.accessToken != tokenDigest(request) {
      return refused(.failed(.wrongToken), circumstances, &result)
    }
    guard proof.key == key else { return refused(.failed(.otherKey), circumstances, &result) }
    guard let spending = circumstances.proof?.spending else { return .first(.proof(proof)) }
    guard case .spent = spending else { return refused(spending.result, circumstances, &result) }
    proofs.succeeded(proof, address: circumstances.address, now: circumstances.now)
    result = .passed
    return .caller(caller)
  }

  private func refused(
    _ result: ProofResult, _ circumstances: Circumstances, _ noted: inout ProofResult?
  ) -> Outcome {
    noted = result
    guard let problem = proofs.problem(result, at: circumstances.time) else {
      preconditionFailure("a proof that holds is refused")
    }
    return .refused(problem)
  }

  /// SHA-256 of the token in `Authorization`.
  private func tokenDigest(_ request: borrowing Request) -> SHA256Digest? {
    guard let range = request.value(of: .authorization) else { return nil }
    let value = request.head.span.extracting(range)
    switch Credentials(value) {
    case .bearer(let token), .dpop(let token): return SHA256Digest(of: value.extracting(token))
    case .basic, nil: return nil
    }
  }

  /// The caller by its credentials.
  ///
  /// Credentials must be right even if anonymous callers are allowed: a wrong password never counts as no
  /// password. Only without configured callers are they ignored, because stock clients always send some.
  private func identify(
    _ request: borrowing Request, _ circumstances: Circumstances, _ proof: inout ProofResult?
  ) -> Outcome {
    if isOpen, installations == nil, jwt.issuers.isEmpty { return .caller(anonymous) }
    if let range = request.value(of: .authorization) {
      let value = request.head.span.extracting(range)
      let credentials = Credentials(value)
      if isOpen, !isOwn(credentials) { return .caller(anonymous) }
      switch credentials {
      case .basic(let pair): return basic(pair, circumstances)
      case .bearer(let token): return bearer(value.extracting(token), circumstances)
      case .dpop(let token): return bound(value.extracting(token), circumstances)
      case nil:
        return .refused(
          unauthenticated(
            Credentials.isBasic(value)
              ? "What follows Basic is not Base64 of NAME:PASSWORD."
              : "The Authorization header is neither Basic nor Bearer."))
      }
    }
    if takesProofAlone, let installations, request.value(of: .xAPIKey) == nil, gmsKey(request) == nil,
      request.value(of: .dpop) != nil
    {
      return keyholder(request, installations, circumstances, &proof)
    }
    if isOpen { return .caller(anonymous) }
    let own = request.value(of: .xAPIKey).map { SHA256Digest(of: request.head.span.extracting($0)) }
    if let range = gmsKey(request) {
      let digest = SHA256Digest(of: request.head.span.extracting(range))
      guard own == nil || own == digest else {
        return .refused(unauthenticated("The headers apikey and X-API-Key have different keys."))
      }
      return key(digest, circumstances)
    }
    if let own { return key(own, circumstances) }
    guard allowsAnonymous else {
      var problem = unauthenticated("Send the credentials that this server's operator gave you.")
      // A client whose key is its credential begins here.
      if takesProofAlone { proofs.challenge(.useNonce, at: circumstances.time, &problem) }
      return .refused(problem)
    }
    return .caller(anonymous)
  }

  /// The key in the header that GMS clients use, where they send requests to.
  private func gmsKey(_ request: borrowing Request) -> Range<Int>? {
    guard let range = request.value(of: .apiKey), request.pathStarts(with: "/genesys/")
    else { return nil }
    return range
  }

  /// Whether credentials may be an installation's, or a JWT of the sandbox's own users.
  private func isOwn(_ credentials: Credentials?) -> Bool {
    switch credentials {
    case .basic(let pair): installations != nil && pair.installation != nil
    case .bearer, .dpop: !jwt.issuers.isEmpty
    case nil: false
    }
  }

  private func basic(_ pair: Credentials.UserPass, _ circumstances: Circumstances) -> Outcome {
    let name = pair.octets.span.extracting(pair.name)
    let digest = SHA256Digest(of: pair.octets.span.extracting(pair.password))
    let hash = name.seededHash
    let credential = LoginThrottle.Credential(digest: digest, name: hash)
    let (isKnown, found) = basicCaller(name, digest, hash)
    if !isKnown, let installations, let id = pair.installation {
      return installation(id, digest, installations, circumstances)
    }
    if let refusal = tooOften(Array(pair.octets[pair.name]), credential, circumstances) {
      return .refused(refusal)
    }
    guard let found else {
      throttle.failed(
        address: circumstances.address, identity: Array(pair.octets[pair.name]), now: circumstances.now)
      return .refused(unauthenticated("The user name or the password is wrong."))
    }
    throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
    return .caller(found.caller)
  }

  /// Whether there is a caller of a user name, and the one that has the password, too.
  private func basicCaller(
    _ name: borrowing Span<UInt8>, _ digest: SHA256Digest, _ hash: Int
  ) -> (isKnown: Bool, found: BasicCaller?) {
    var isKnown = false
    for caller in basicCallers[hash] ?? [] where caller.isNamed(name) {
      isKnown = true
      if caller.passwordDigest == digest { return (true, caller) }
    }
    return (isKnown, nil)
  }

  /// The installation of an id and the digest of its secret. A right secret passes at any address. A wrong one gets the
  /// response of any wrong password.
  ///
  private func installation(
    _ id: InstallationID, _ digest: SHA256Digest, _ installations: InstallationCallers,
    _ circumstances: Circumstances
  ) -> Outcome {
    // The id, not the text: case makes no difference.
    let credential = LoginThrottle.Credential(digest: digest, name: id.hashValue)
    let refusal = tooOften(Array(id.description.utf8), credential, circumstances)
    let found: KnownInstallation?
    switch circumstances.prepared {
    case .installation(let looked): found = looked
    case .noTurn: return .refused(.tooManyWaiting)
    case .storeFailed: return .refused(.noInstallations)
    case .keys, nil:
      // A secret that is not the cached one may have been delivered a moment ago, at another instance.
      guard let known = installations.directory.known(id, now: circumstances.now),
        known.installation.secret == digest
      else {
        return .first(.installation(id, installations.directory, isGuarded: refusal != nil))
      }
      found = known
    }
    let now = Instant(circumstances.time)
    guard let found, found.installation.secret == digest, installations.use(found.installation, at: now)
    else {
      throttle.failed(
        address: circumstances.address, identity: Array(id.description.utf8), now: circumstances.now)
      return .refused(refusal ?? unauthenticated("The user name or the password is wrong."))
    }
    throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
    return .caller(Caller(authenticated: found))
  }

  /// The installation whose key made the proof, where its app lets phones prove themselves by their key alone.
  private func keyholder(
    _ request: borrowing Request, _ installations: InstallationCallers, _ circumstances: Circumstances,
    _ result: inout ProofResult?
  ) -> Outcome {
    let proof: VerifiedProof
    switch proofs.judge(request, circumstances) {
    case .absent: return refused(.missing, circumstances, &result)
    case .failed(let fault): return refused(.failed(fault), circumstances, &result)
    case .limited(let wait): return .refused(.tooManyLogins(wait))
    case .verified(let verified): proof = verified
    }
    let credential = LoginThrottle.Credential(digest: proof.key)
    let refusal = tooOften(nil, credential, circumstances)
    let found: KnownInstallation?
    switch circumstances.prepared {
    case .installation(let looked): found = looked
    case .noTurn: return .refused(.tooManyWaiting)
    case .storeFailed: return .refused(.noInstallations)
    case .keys, nil: return .first(.keyholder(proof, installations.directory, isGuarded: refusal != nil))
    }
    guard let found, found.installation.key == proof.key,
      installations.use(found.installation, at: Instant(circumstances.time))
    else {
      throttle.failed(address: circumstances.address, identity: nil, now: circumstances.now)
      return refusal.map { .refused($0) } ?? refused(.failed(.otherKey), circumstances, &result)
    }
    guard installations.terms[found.installation.appID]?.key == .required else {
      return .refused(unauthenticated("Send client_id and client_secret beside the proof."))
    }
    throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
    return .caller(Caller(authenticated: found))
  }

  /// A token that is bound to a key (RFC 9449 §7.1).
  private func bound(_ token: Span<UInt8>, _ circumstances: Circumstances) -> Outcome {
    let outcome = bearer(token, circumstances)
    guard case .caller(let caller) = outcome, caller.key == nil else { return outcome }
    return .refused(invalidToken("This token is bound to no key. Send it by the scheme Bearer."))
  }

  /// A JWT of a configured issuer, otherwise an API key.
  private func bearer(_ token: Span<UInt8>, _ circumstances: Circumstances) -> Outcome {
    let digest = SHA256Digest(of: token)
    guard !jwt.issuers.isEmpty else { return key(digest, circumstances) }
    if let caller = jwt.known(digest, now: circumstances.time) { return .caller(caller) }
    guard token.hasThreeParts else { return key(digest, circumstances) }
    // A signature cannot be guessed, so the server accepts a right token however many wrong ones come from
    // its address. It limits only the cost of verifying wrong ones.
    let credential = LoginThrottle.Credential(digest: digest)
    if let wait = throttle.waitToVerify(
      address: circumstances.address, credential: credential, now: circumstances.now)
    {
      return .refused(.tooManyLogins(wait))
    }
    var octets: [UInt8] = []
    octets.append(contentsOf: token)
    switch jwt.authenticate(
      octets, fetched: circumstances.hasFetchedKeys, now: circumstances.time, at: circumstances.now)
    {
    case .caller(let caller):
      throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
      return .caller(caller)
    case .fetchFirst(let source): return .first(.keys(source))
    case .unavailable(let wait):
      return .refused(
        Problem(
          .upstreamUnavailable, "The server cannot fetch the keys that verify this token. Try again later.",
          retryAfter: wait.wholeSecondsRoundedUp))
    case .notOurs: return key(digest, circumstances)
    case .refused(let detail, let isForged, let effort):
      // A genuine token that has expired is no guess; phones behind one address send many.
      if isForged {
        throttle.verified(address: circumstances.address, effort: effort, now: circumstances.now)
        if let refusal = tooOften(nil, credential, circumstances) { return .refused(refusal) }
        throttle.failed(address: circumstances.address, identity: nil, now: circumstances.now)
      }
      return .refused(invalidToken(detail))
    }
  }

  private func key(_ digest: SHA256Digest, _ circumstances: Circumstances) -> Outcome {
    if isOpen { return .caller(anonymous) }
    let credential = LoginThrottle.Credential(digest: digest)
    if let refusal = tooOften(nil, credential, circumstances) { return .refused(refusal) }
    guard let found = keyCallers[digest] else {
      throttle.failed(address: circumstances.address, identity: nil, now: circumstances.now)
      return .refused(invalidToken("No configured caller has this key or token."))
    }
    throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
    return .caller(found)
  }

  // MARK: Refusals

  private func tooOften(
    _ identity: @autoclosure () -> [UInt8]?, _ credential: LoginThrottle.Credential,
    _ circumstances: Circumstances
  ) -> Problem? {
    let wait = throttle.wait(
      address: circumstances.address, identity: identity(), credential: credential, now: circumstances.now)
    return wait.map { .tooManyLogins($0) }
  }

  private var takesBasic: Bool { !basicCallers.isEmpty || installations != nil }

  fileprivate static let basicChallenge = #"Basic realm="callgate", charset="UTF-8""#

  /// 401 for a Bearer credential that is wrong (RFC 6750 §3.1).
  private func invalidToken(_ detail: String) -> Problem {
    var problem = Problem(.invalidToken, detail)
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate", error="invalid_token""#)
    if takesBasic { problem.responseFields.append("WWW-Authenticate", Self.basicChallenge) }
    return problem
  }

  /// 401 with a challenge for every scheme that could succeed (RFC 9110 §11.6.1).
  private func unauthenticated(_ detail: String) -> Problem {
    var problem = Problem(.unauthenticated, detail)
    let takesBearer = !keyCallers.isEmpty || !jwt.issuers.isEmpty
    if takesBasic || !takesBearer {
      problem.responseFields.append("WWW-Authenticate", Self.basicChallenge)
    }
    if takesBearer { problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate""#) }
    return problem
  }
}

/// The credentials of an `Authorization` field (RFC 9110 §11.6.2).
enum Credentials {
  case basic(UserPass)
  /// The range of the token in the field's value.
  case bearer(Range<Int>)
  /// The same of a token that is bound to a key (RFC 9449 §7.1).
  case dpop(Range<Int>)

  /// A user name and a password (RFC 7617 §2), in one piece as they were sent.
  struct UserPass {
    let octets: [UInt8]
    /// The ranges of both.
    let name, password: Range<Int>

    /// Nil without a colon; only the first one divides.
    init?(_ octets: [UInt8]) {
      guard let colon = octets.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      self.octets = octets
      name = 0..<colon
      password = (colon + 1)..<octets.count
    }

    /// The installation that the name may be.
    var installation: InstallationID? {
      InstallationID(octets: octets.span.extracting(name))
    }
  }

  /// Whether a value names the scheme Basic, whatever follows.
  static func isBasic(_ value: Span<UInt8>) -> Bool {
    let name = 5
    return value.count >= name && value.equals(0..<name, lowercase: "basic")
      && (value.count == name || value[name] == UInt8(ascii: " "))
  }

  /// Nil for another scheme, and for Basic that is not Base64 of `user:password`.
  init?(_ value: Span<UInt8>) {
    guard let space = value.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    var start = space
    while start < value.count, value[start] == UInt8(ascii: " ") { start += 1 }
    guard start < value.count, value.firstIndex(of: UInt8(ascii: " "), from: start) == nil else { return nil }
    if value.equals(0..<space, lowercase: "basic") {
      guard let pair = Base64.decode(value.extracting(start...)).flatMap(UserPass.init) else { return nil }
      self = .basic(pair)
    } else if value.equals(0..<space, lowercase: "bearer") {
      self = .bearer(start..<value.count)
    } else if value.equals(0..<space, lowercase: "dpop") {
      self = .dpop(start..<value.count)
    } else {
      return nil
    }
  }
}

extension Span<UInt8> {
  /// Whether there are exactly two dots, as in a JWS in compact form.
  fileprivate var hasThreeParts: Bool {
    var dots = 0
    for index in indices where self[index] == UInt8(ascii: ".") { dots += 1 }
    return dots == 2
  }

  /// The hash that finds callers. Each process has its own seed.
  fileprivate var seededHash: Int {
    var hasher = Hasher()
    // The pointer lives inside the closure only.
    unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
  }
}

extension Problem {
  /// Too many logins of an address have failed.
  package static func tooManyLogins(_ wait: Duration) -> Problem {
    Problem(
      .rateLimited, "Too many logins from this address have failed. Retry after the time in Retry-After.",
      retryAfter: wait.wholeSecondsRoundedUp)
  }

  /// An installation was revoked, or got another secret, after it had proved the one it has: as any wrong password.
  package static var revoked: Problem {
    var problem = Problem(
      .unauthenticated,
      "This installation was revoked or enrolled again, so no call was requested. Send its current credentials."
    )
    problem.responseFields.append("WWW-Authenticate", Authenticator.basicChallenge)
    return problem
  }

  /// The same for a request that waited for something else than a call.
  package static var ended: Problem {
    var problem = Problem(
      .unauthenticated, "This installation was revoked or enrolled again. Send its current credentials.")
    problem.responseFields.append("WWW-Authenticate", Authenticator.basicChallenge)
    return problem
  }

  /// The store cannot be asked for an installation.
  package static var noInstallations: Problem {
    Problem(.storeUnavailable, "The server cannot check this credential right now. Try again.", retryAfter: 1)
  }
}

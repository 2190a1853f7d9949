// Finds the caller that a request's credentials prove, or refuses the request.

import API
import Gate
package import HTTP
import Installations
package import JOSE
import Platform
import Store
import Texts
package import Trust

/// Identifies the caller of a request by HTTP Basic (RFC 7617), an API key, a JWT, or the proof of an
/// installation's key (DPoP). A request without credentials is anonymous, if that is allowed.
///
/// The authenticator looks up a credential by a digest or a seeded hash, so a thousand callers cost the same
/// as one. Digests are compared in constant time. An unknown name takes the same steps as a wrong password.
///
/// A class, because other targets would copy a structure for each request.
package final class Authenticator: Sendable {
  /// A caller that authenticates with a user name and password. A class, so that comparisons do not copy it.
  package final class BasicCaller: Sendable {
    let username: [UInt8]
    let passwordDigest: SHA256Digest
    let isStrong: Bool
    let caller: Caller

    /// - Parameters:
    ///   - passwordDigest: SHA-256 of the password.
    ///   - isStrong: Whether the password cannot be guessed. The server then accepts it even while wrong
    ///     passwords come from the same address.
    package init(id: String, username: String, passwordDigest: SHA256Digest, isStrong: Bool = false) {
      self.username = Array(username.utf8)
      self.passwordDigest = passwordDigest
      self.isStrong = isStrong
      caller = Caller(authenticated: id)
    }

    /// The seeded hash of the user name, which finds the caller.
    fileprivate var nameHash: Int {
      let username = username
      return username.span.seededHash
    }

    fileprivate func isNamed(_ name: borrowing Span<UInt8>) -> Bool {
      let username = username
      return name.hasSameOctets(as: username.span)
    }
  }

  /// A caller that authenticates with an API key.
  package struct KeyCaller: Sendable {
    let id: String
    /// SHA-256 of the key.
    let keyDigest: SHA256Digest

    package init(id: String, keyDigest: SHA256Digest) {
      self.id = id
      self.keyDigest = keyDigest
    }
  }

  /// The callers with a password, by a seeded hash of their user names.
  private let basicCallers: [Int: [BasicCaller]]
  private let keyCallers: [SHA256Digest: Caller]
  package let jwt: JWTAuthenticator
  let allowsAnonymous: Bool
  /// Whether anonymous requests are allowed and no caller is configured. Installations and the sandbox's own
  /// users do not count.
  private let isOpen: Bool
  /// The throttle outlives a reload, so that a reload does not clear failed logins.
  package let throttle: LoginThrottle
  /// The installations that may send requests; nil if no app has installations.
  private let installations: InstallationCallers?
  /// Whether a proof alone identifies an installation of some app.
  private let takesProofAlone: Bool
  /// Verifies the proofs of keys.
  package let proofs: ProofVerifier
  /// Whether some caller may have a key: an installation, or a user whose JWT is bound to one.
  package var mayProve: Bool {
    !jwt.issuers.isEmpty || installations?.terms.values.contains { $0.key != .off } == true
  }
  private let anonymous = Caller(authenticated: Caller.anonymousID, by: .none)
  /// Called with the unverified issuer of each token whose issuer is unknown.
  private let onUnknownIssuer: @Sendable (String) -> Void

  package init(
    basicCallers: [BasicCaller] = [], keyCallers: [KeyCaller] = [],
    jwt: JWTAuthenticator = JWTAuthenticator(issuers: []),
    installations: InstallationCallers? = nil, allowsAnonymous: Bool = false,
    throttle: LoginThrottle = LoginThrottle(), proofs: ProofVerifier,
    onUnknownIssuer: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.onUnknownIssuer = onUnknownIssuer
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

  /// Authenticates the caller, or refuses the request. A caller with a key must prove it at every endpoint.
  ///
  /// - Parameter proof: Set to the result for the proof, if a proof was checked or a key is missing.
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

  /// Identifies the caller by its credentials.
  ///
  /// Credentials must be right even if anonymous callers are allowed: a wrong password never counts as no
  /// password. They are ignored only if no caller is configured, because stock clients always send some.
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
      case nil: return .refused(unauthenticated(Credentials.mistake(in: value)))
      }
    }
    if takesProofAlone, let installations, request.value(of: .xAPIKey) == nil, gmsKey(request) == nil,
      request.value(of: .dpop) != nil
    {
      return keyholder(request, installations, circumstances, &proof)
    }
    if isOpen { return .caller(anonymous) }
    let own = request.value(of: .xAPIKey)
    if let range = gmsKey(request) {
      let digest = SHA256Digest(of: request.head.span.extracting(range))
      if let own, SHA256Digest(of: request.head.span.extracting(own)) != digest {
        return .refused(
          unauthenticated("The headers apikey and X-API-Key have different keys. Send one of them."))
      }
      return key(request.head.span.extracting(range), digest, circumstances)
    }
    if let own {
      let sent = request.head.span.extracting(own)
      return key(sent, SHA256Digest(of: sent), circumstances)
    }
    guard allowsAnonymous else {
      var problem = unauthenticated("Send the credentials that this server's operator gave you.")
      // A client that authenticates with its key alone gets its first nonce here.
      if takesProofAlone { proofs.challenge(.useNonce, at: circumstances.time, &problem) }
      return .refused(problem)
    }
    return .caller(anonymous)
  }

  /// The key in the header that GMS clients use (`apikey`), on the paths that they call; nil elsewhere or
  /// without that header.
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
    let named = basicCaller(name, hash)
    if named == nil, let installations, let id = pair.installation {
      return installation(id, digest, installations, circumstances)
    }
    let found = named?.passwordDigest == digest ? named : nil
    // A password that cannot be guessed needs no limit. A limit would let wrong passwords from the same
    // address lock its owner out.
    if let found, found.isStrong { return .caller(found.caller) }
    func identity() -> [UInt8] { Array(pair.octets[pair.name]) }
    // An unknown name costs as much as a known one.
    func login() -> LoginMemory.Login {
      LoginMemory.Login(
        callerID: named?.caller.id ?? "", name: identity(), password: digest, address: circumstances.address,
        time: Instant(circumstances.time))
    }
    if let refusal = tooOften(identity(), credential, circumstances, login: login()) {
      return .refused(refusal)
    }
    guard let found else {
      throttle.failed(address: circumstances.address, identity: identity(), now: circumstances.now)
      return .refused(unauthenticated("The user name or password is wrong."))
    }
    if throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now) {
      throttle.memory?.note(login())
    }
    return .caller(found.caller)
  }

  /// The caller with a user name; nil if there is none.
  private func basicCaller(_ name: borrowing Span<UInt8>, _ hash: Int) -> BasicCaller? {
    for caller in basicCallers[hash] ?? [] where caller.isNamed(name) { return caller }
    return nil
  }

  /// Finds the installation with this id, and checks the digest of its secret. The right secret is accepted
  /// even from an address with too many failed logins. A wrong one gets the response of any wrong password.
  private func installation(
    _ id: InstallationID, _ digest: SHA256Digest, _ installations: InstallationCallers,
    _ circumstances: Circumstances
  ) -> Outcome {
    // The id is hashed, not the text, because case makes no difference.
    let credential = LoginThrottle.Credential(digest: digest, name: id.hashValue)
    let refusal = tooOften(Array(id.description.utf8), credential, circumstances)
    let found: KnownInstallation?
    switch circumstances.prepared {
    case .installation(let looked): found = looked
    case .noTurn: return .refused(.tooManyWaiting)
    case .storeFailed: return .refused(.noInstallations)
    case .keys, nil:
      // Another instance may just have delivered a new secret, so a secret that is not the cached one is
      // looked up.
      guard let known = installations.directory.known(id, now: circumstances.now),
        known.installation.secret == digest
      else {
        return .first(.installation(id, installations.directory, isGuarded: refusal != nil))
      }
      found = known
    }
    let now = Instant(circumstances.time)
    guard let found, found.installation.secret == digest,
      installations.use(found.installation, at: now)
        || circumstances.admitsRevoked && installations.wasLatelyRevoked(found.installation, at: now)
    else {
      throttle.failed(
        address: circumstances.address, identity: Array(id.description.utf8), now: circumstances.now)
      return .refused(refusal ?? unauthenticated("The user name or password is wrong."))
    }
    throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
    return .caller(Caller(authenticated: found))
  }

  /// Identifies the caller of a token sent as `DPoP`. Refuses a token that is not bound to a key (RFC 9449
  /// §7.1).
  private func bound(_ token: Span<UInt8>, _ circumstances: Circumstances) -> Outcome {
    let outcome = bearer(token, circumstances)
    guard case .caller(let caller) = outcome, caller.key == nil else { return outcome }
    return .refused(invalidToken("This token is not bound to a key. Send it as Authorization: Bearer TOKEN."))
  }

  /// Identifies the caller of a JWT of a configured issuer, or of an API key.
  private func bearer(_ token: Span<UInt8>, _ circumstances: Circumstances) -> Outcome {
    let digest = SHA256Digest(of: token)
    if let caller = jwt.known(digest, now: circumstances.time) { return .caller(caller) }
    guard token.hasPartsOfToken else { return key(token, digest, circumstances) }
    // An API key may have as many dots as a token.
    if let found = keyCallers[digest] { return .caller(found) }
    // A signature cannot be guessed, so the server verifies every token, no matter how many wrong ones come
    // from its address.
    var octets: [UInt8] = []
    octets.append(contentsOf: token)
    switch jwt.authenticate(
      octets, fetched: circumstances.hasFetchedKeys, now: circumstances.time, at: circumstances.now)
    {
    case .caller(let caller): return .caller(caller)
    case .fetchFirst(let source): return .first(.keys(source))
    case .unavailable(let wait):
      return .refused(
        Problem(
          .upstreamUnavailable, "The server cannot fetch the keys that verify this token.",
          tryAgainAfter: wait.wholeSecondsRoundedUp))
    case .notOurs(let fault):
      if isOpen { return .caller(anonymous) }
      if case .unknownIssuer(let issuer) = fault { onUnknownIssuer(issuer) }
      return badToken(fault, circumstances)
    case .refused(let fault, isForged: true): return badToken(fault, circumstances)
    // Phones behind one address send many tokens that have expired.
    case .refused(let fault, isForged: false): return .refused(invalidToken(fault.sentence))
    }
  }

  /// Refuses a token that no configured issuer made.
  private func badToken(_ fault: JWTAuthenticator.Fault, _ circumstances: Circumstances) -> Outcome {
    if let wait = throttle.tokens.failed(address: circumstances.address, now: circumstances.now) {
      return .refused(.tooManyLogins(wait))
    }
    return .refused(invalidToken(fault.sentence))
  }

  /// - Parameter sent: The key whose digest is `digest`.
  private func key(_ sent: Span<UInt8>, _ digest: SHA256Digest, _ circumstances: Circumstances) -> Outcome {
    if isOpen { return .caller(anonymous) }
    // The right key is accepted no matter what else comes from its address.
    if let found = keyCallers[digest] { return .caller(found) }
    // The word is a mistake of the app and not a guess. It must not lock out the other phones at that
    // address.
    if let word = Credentials.placeholder(sent) {
      return .refused(invalidToken("The app sent the word \(word) instead of a key or token."))
    }
    if let refusal = tooOften(nil, LoginThrottle.Credential(digest: digest), circumstances) {
      return .refused(refusal)
    }
    throttle.failed(address: circumstances.address, identity: nil, now: circumstances.now)
    return .refused(invalidToken(JWTAuthenticator.unknownKey))
  }

  // MARK: Refusals

  func tooOften(
    _ identity: @autoclosure () -> [UInt8]?, _ credential: LoginThrottle.Credential,
    _ circumstances: Circumstances, login: @autoclosure () -> LoginMemory.Login? = nil
  ) -> Problem? {
    let wait = throttle.wait(
      address: circumstances.address, identity: identity(), credential: credential, now: circumstances.now,
      login: login())
    return wait.map { .tooManyLogins($0) }
  }

  private var takesBasic: Bool { !basicCallers.isEmpty || installations != nil }

  static let basicChallenge = #"Basic realm="callgate", charset="UTF-8""#

  /// 401 for a wrong token or API key (RFC 6750 §3.1).
  private func invalidToken(_ detail: String) -> Problem {
    var problem = Problem(.invalidToken, detail)
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate", error="invalid_token""#)
    if takesBasic { problem.responseFields.append("WWW-Authenticate", Self.basicChallenge) }
    return problem
  }

  /// 401 with a challenge for Basic, Bearer or both, as the configured callers use them. Without such
  /// callers, the challenge is for Basic, because a 401 needs at least one (RFC 9110 §11.6.1).
  func unauthenticated(_ detail: String) -> Problem {
    var problem = Problem(.unauthenticated, detail)
    let takesBearer = !keyCallers.isEmpty || !jwt.issuers.isEmpty
    if takesBasic || !takesBearer {
      problem.responseFields.append("WWW-Authenticate", Self.basicChallenge)
    }
    if takesBearer { problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate""#) }
    return problem
  }
}

extension Span<UInt8> {
  /// Whether the text has as many dots as the compact form of a JWS (RFC 7515 §7.1) or of an encrypted token
  /// (RFC 7516 §7.1).
  fileprivate var hasPartsOfToken: Bool {
    var dots = 0
    for index in indices where self[index] == UInt8(ascii: ".") { dots += 1 }
    return dots == 2 || dots == 4
  }

  /// The hash that finds callers. Each process has its own seed.
  fileprivate var seededHash: Int {
    var hasher = Hasher()
    // The pointer lives inside the closure only.
    unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
  }
}

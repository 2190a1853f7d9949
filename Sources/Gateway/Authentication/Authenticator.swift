// From a request's credentials to a caller.

internal import HTTP
internal import JOSE
internal import Platform

/// Tells who sends a request: HTTP Basic (RFC 7617), API keys, JWTs, or nobody in particular where that is allowed.
///
/// Secrets are compared by their SHA-256 in constant time, against every configured caller, so that neither the
/// time taken nor the answer tells an unknown name from a wrong password.
struct Authenticator: Sendable {
  /// One caller that proves itself by name and password.
  struct BasicCaller: Sendable {
    let id: String
    /// SHA-256 of the user name.
    let usernameDigest: [UInt8]
    /// SHA-256 of the password.
    let passwordDigest: [UInt8]

    init(id: String, username: String, passwordDigest: [UInt8]) {
      self.id = id
      usernameDigest = SHA256.digest(Array(username.utf8))
      self.passwordDigest = passwordDigest
    }
  }

  /// One caller that proves itself by a key.
  struct KeyCaller: Sendable {
    let id: String
    /// SHA-256 of the key.
    let keyDigest: [UInt8]
  }

  /// What became of a request's credentials.
  enum Outcome {
    case caller(Caller)
    case refused(Problem)
    /// The token's key is not known yet: fetch the issuer's keys, then ask again, saying so.
    case fetchFirst(KeySource)
  }

  /// Who asks and when.
  struct Circumstances {
    /// Where the request comes from.
    let address: IPAddress
    /// The wall clock, for tokens' dates.
    let time: UnixTime
    /// The monotonic clock, for what is throttled.
    let now: MonotonicTime
    /// Whether keys were fetched for this very request.
    var hasFetched = false
  }

  let basicCallers: [BasicCaller]
  let keyCallers: [KeyCaller]
  let jwt: JWTAuthenticator
  let allowsAnonymous: Bool
  /// Outlives a reload, so that guessing is not forgiven by one.
  let throttle: LoginThrottle
  private let anonymous = Caller(authenticated: Configuration.anonymousCaller)

  init(
    basicCallers: [BasicCaller] = [], keyCallers: [KeyCaller] = [],
    jwt: JWTAuthenticator = JWTAuthenticator(issuers: []),
    allowsAnonymous: Bool = false, throttle: LoginThrottle = LoginThrottle()
  ) {
    self.basicCallers = basicCallers
    self.keyCallers = keyCallers
    self.jwt = jwt
    self.allowsAnonymous = allowsAnonymous
    self.throttle = throttle
  }

  /// The caller a request proves itself to be, or the refusal.
  ///
  /// Credentials that are sent must be right even where anonymous callers are allowed: a wrong password is never
  /// silently taken for no password. Only with nobody configured is there nothing to check them against; stock clients
  /// always send some.
  func authenticate(_ request: borrowing Request, _ circumstances: Circumstances) -> Outcome {
    if allowsAnonymous, basicCallers.isEmpty, keyCallers.isEmpty, jwt.issuers.isEmpty {
      return .caller(anonymous)
    }
    if let range = request.value(of: .authorization) {
      switch Credentials(request.head[range]) {
      case .basic(let username, let password): return basic(username, password, circumstances)
      case .bearer(let token): return bearer(token, circumstances)
      case nil: return .refused(unauthenticated("The Authorization field is neither Basic nor Bearer."))
      }
    }
    if let range = request.value(of: .xAPIKey) { return key(Array(request.head[range]), circumstances) }
    guard allowsAnonymous else {
      return .refused(unauthenticated("Send the credentials this server was configured with."))
    }
    return .caller(anonymous)
  }

  private func basic(_ username: [UInt8], _ password: [UInt8], _ circumstances: Circumstances) -> Outcome {
    let usernameDigest = SHA256.digest(username)
    let passwordDigest = SHA256.digest(password)
    let credential = usernameDigest + passwordDigest
    if let refusal = tooOften(username, credential, circumstances) { return .refused(refusal) }
    var found: Caller?
    for caller in basicCallers {
      let sameName = constantTimeEqual(caller.usernameDigest, usernameDigest)
      let samePassword = constantTimeEqual(caller.passwordDigest, passwordDigest)
      if sameName, samePassword { found = Caller(authenticated: caller.id) }
    }
    guard let found else {
      throttle.failed(address: circumstances.address, identity: username, now: circumstances.now)
      return .refused(unauthenticated("The user name or the password is wrong."))
    }
    throttle.succeeded(address: circumstances.address, credential: credential, now: circumstances.now)
    return .caller(found)
  }

  /// A JWT of a configured issuer, otherwise an API key.
  private func bearer(_ token: [UInt8], _ circumstances: Circumstances) -> Outcome {
    guard !jwt.issuers.isEmpty, token.count(where: { $0 == UInt8(ascii: ".") }) == 2 else {
      return key(token, circumstances)
    }
    let digest = SHA256.digest(token)
    // What was verified before is no guess: whoever else fails at this address does not lock its owner out. It is noted
    // for the time when it has to be verified anew, after a change of the issuer's keys or a reload.
    if let caller = jwt.known(digest, now: circumstances.time) {
      throttle.succeeded(address: circumstances.address, credential: digest, now: circumstances.now)
      return .caller(caller)
    }
    if let refusal = tooOften(nil, digest, circumstances) { return .refused(refusal) }
    switch jwt.authenticate(
      token, fetched: circumstances.hasFetched, now: circumstances.time, at: circumstances.now)
    {
    case .caller(let caller):
      throttle.succeeded(address: circumstances.address, credential: digest, now: circumstances.now)
      return .caller(caller)
    case .fetchFirst(let source): return .fetchFirst(source)
    case .notOurs: return key(token, circumstances)
    case .refused(let detail, let isForged):
      // A genuine token that has expired is no guess; phones behind one address send many.
      if isForged { throttle.failed(address: circumstances.address, identity: nil, now: circumstances.now) }
      return .refused(invalidToken(detail))
    }
  }

  private func key(_ key: [UInt8], _ circumstances: Circumstances) -> Outcome {
    let digest = SHA256.digest(key)
    if let refusal = tooOften(nil, digest, circumstances) { return .refused(refusal) }
    var found: Caller?
    for caller in keyCallers where constantTimeEqual(caller.keyDigest, digest) {
      found = Caller(authenticated: caller.id)
    }
    guard let found else {
      throttle.failed(address: circumstances.address, identity: nil, now: circumstances.now)
      return .refused(invalidToken("No configured caller has this key or token."))
    }
    throttle.succeeded(address: circumstances.address, credential: digest, now: circumstances.now)
    return .caller(found)
  }

  // MARK: Refusals

  private func tooOften(
    _ identity: [UInt8]?, _ credential: [UInt8], _ circumstances: Circumstances
  ) -> Problem? {
    let wait = throttle.wait(
      address: circumstances.address, identity: identity, credential: credential, now: circumstances.now)
    return wait.map {
      Problem(
        .rateLimited, "Too many logins from this address have failed; wait before the next.",
        retryAfter: $0.wholeSecondsRoundedUp)
    }
  }

  private static let basicChallenge = #"Basic realm="callgate", charset="UTF-8""#

  /// 401 for a Bearer credential that is wrong (RFC 6750 §3.1).
  private func invalidToken(_ detail: String) -> Problem {
    var problem = Problem(.invalidToken, detail)
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate", error="invalid_token""#)
    if !basicCallers.isEmpty { problem.responseFields.append("WWW-Authenticate", Self.basicChallenge) }
    return problem
  }

  /// 401 with a challenge for every scheme that could succeed (RFC 9110 §11.6.1).
  private func unauthenticated(_ detail: String) -> Problem {
    var problem = Problem(.unauthenticated, detail)
    let takesBearer = !keyCallers.isEmpty || !jwt.issuers.isEmpty
    if !basicCallers.isEmpty || !takesBearer {
      problem.responseFields.append("WWW-Authenticate", Self.basicChallenge)
    }
    if takesBearer { problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate""#) }
    return problem
  }
}

/// What an `Authorization` field carries (RFC 9110 §11.6.2).
enum Credentials {
  case basic(username: [UInt8], password: [UInt8])
  case bearer([UInt8])

  /// Nil for another scheme, and for Basic that is not Base64 of `user:password`.
  init?(_ value: ArraySlice<UInt8>) {
    guard let space = value.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    let rest = value[space...].drop { $0 == UInt8(ascii: " ") }
    guard !rest.isEmpty, !rest.contains(UInt8(ascii: " ")) else { return nil }
    switch String(decoding: value[..<space], as: UTF8.self).lowercased() {
    case "basic":
      guard let decoded = Base64.decode(Array(rest)),
        let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
      else { return nil }
      self = .basic(username: Array(decoded[..<colon]), password: Array(decoded[(colon + 1)...]))
    case "bearer":
      self = .bearer(Array(rest))
    default:
      return nil
    }
  }
}

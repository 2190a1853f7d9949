// From a request's credentials to a caller.

internal import HTTP
internal import JOSE

/// Tells who sends a request: HTTP Basic (RFC 7617), API keys, or nobody in particular where that is allowed.
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

  let basicCallers: [BasicCaller]
  let keyCallers: [KeyCaller]
  let allowsAnonymous: Bool
  private let anonymous = Caller(authenticated: "anonymous")

  init(basicCallers: [BasicCaller], keyCallers: [KeyCaller], allowsAnonymous: Bool) {
    self.basicCallers = basicCallers
    self.keyCallers = keyCallers
    self.allowsAnonymous = allowsAnonymous
  }

  /// The caller a request proves itself to be, or the refusal.
  ///
  /// Credentials that are sent must be right even where anonymous callers are allowed: a wrong password is never
  /// silently taken for no password.
  func authenticate(_ request: borrowing Request) throws(Problem) -> Caller {
    // With nobody configured there is nothing to check credentials against; stock clients always send some.
    if allowsAnonymous, basicCallers.isEmpty, keyCallers.isEmpty { return anonymous }
    if let range = request.value(of: .authorization) {
      guard let credentials = Credentials(request.head[range]) else {
        throw unauthenticated("The Authorization field is neither Basic nor Bearer.")
      }
      switch credentials {
      case .basic(let username, let password): return try basic(username, password)
      case .bearer(let token): return try key(token)
      }
    }
    if let range = request.value(of: .xAPIKey) {
      return try key(Array(request.head[range]))
    }
    guard allowsAnonymous else {
      throw unauthenticated("Send the credentials this server was configured with.")
    }
    return anonymous
  }

  private func basic(_ username: [UInt8], _ password: [UInt8]) throws(Problem) -> Caller {
    let usernameDigest = SHA256.digest(username)
    let passwordDigest = SHA256.digest(password)
    var found: Caller?
    for caller in basicCallers {
      let sameName = constantTimeEqual(caller.usernameDigest, usernameDigest)
      let samePassword = constantTimeEqual(caller.passwordDigest, passwordDigest)
      if sameName, samePassword { found = Caller(authenticated: caller.id) }
    }
    guard let found else { throw unauthenticated("The user name or the password is wrong.") }
    return found
  }

  private func key(_ key: [UInt8]) throws(Problem) -> Caller {
    let digest = SHA256.digest(key)
    var found: Caller?
    for caller in keyCallers where constantTimeEqual(caller.keyDigest, digest) {
      found = Caller(authenticated: caller.id)
    }
    guard let found else {
      var problem = Problem(.invalidToken, "No configured caller has this key.")
      problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate", error="invalid_token""#)
      if !basicCallers.isEmpty { problem.responseFields.append("WWW-Authenticate", Self.basicChallenge) }
      throw problem
    }
    return found
  }

  private static let basicChallenge = #"Basic realm="callgate", charset="UTF-8""#

  /// 401 with a challenge for every scheme that could succeed (RFC 9110 §11.6.1).
  private func unauthenticated(_ detail: String) -> Problem {
    var problem = Problem(.unauthenticated, detail)
    if !basicCallers.isEmpty || keyCallers.isEmpty {
      problem.responseFields.append("WWW-Authenticate", Self.basicChallenge)
    }
    if !keyCallers.isEmpty {
      problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate""#)
    }
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

// Decides whether a request may use the admin interface.

import API
import Callers
import HTTP
import JOSE
import Platform

/// How the server recognises operators: by a Bearer token on the public listener and on an admin listener
/// beyond loopback. On a loopback admin listener every client of this machine is an operator.
enum AdminAccess: Sendable {
  /// Only the token opens; without a configured one, nothing is here.
  case token
  /// Whoever reaches the listener, but no web page in a browser on this machine.
  case loopback

  /// Who guesses, and how patiently they are heard.
  struct Guesses {
    let throttle: LoginThrottle
    let address: IPAddress
    let now: MonotonicTime

    /// There is one token without a user name, so the throttle counts by address alone.
    private static let identity = Array("operator".utf8)

    /// After how long the next guess is heard; nil for now.
    func wait(_ digest: SHA256Digest) -> Duration? {
      throttle.wait(address: address, identity: Self.identity, credential: .init(digest: digest), now: now)
    }

    /// Notes that the token was right. From now on the server checks it from this address, even while others
    /// guess there.
    func succeeded(_ digest: SHA256Digest) {
      throttle.succeeded(address: address, credential: .init(digest: digest), now: now)
    }

    /// Counts a wrong one.
    func failed() { throttle.failed(address: address, identity: Self.identity, now: now) }
  }

  /// Nil where a request may pass, otherwise the refusal.
  func refusal(_ request: borrowing Request, tokenDigest: SHA256Digest?, _ guesses: Guesses) -> Problem? {
    switch self {
    case .token: Self.judgeToken(request, tokenDigest, guesses)
    case .loopback: Self.judgeBrowser(request)
    }
  }

  private static func judgeToken(
    _ request: borrowing Request, _ digest: SHA256Digest?, _ guesses: Guesses
  ) -> Problem? {
    // Without a token there is nothing to be found out here, not even that there could be.
    guard let digest else { return .noEndpoint }
    let scheme = Array("bearer ".utf8)
    guard let range = request.value(of: .authorization), request.count(of: .authorization) == 1,
      range.count > scheme.count,
      zip(request.head[range], scheme).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
    else {
      return challenge(
        Problem(.unauthenticated, "Send the operators' token as Authorization: Bearer TOKEN."), nil)
    }
    let token = SHA256Digest(of: request.head.span.extracting(range.dropFirst(scheme.count)))
    // After too many wrong tokens from an address the server refuses even the right token, unless it was
    // right there before. Otherwise the response would reveal it.
    if let wait = guesses.wait(token) {
      return Problem(
        .rateLimited, "This address sent too many wrong tokens. Retry after the time in Retry-After.",
        retryAfter: wait.wholeSecondsRoundedUp)
    }
    guard token == digest else {
      guesses.failed()
      return challenge(Problem(.invalidToken, "This is not the operators' token."), "invalid_token")
    }
    guesses.succeeded(token)
    return nil
  }

  private static func challenge(_ problem: Problem, _ error: String?) -> Problem {
    var problem = problem
    let reason = error.map { #", error="\#($0)""# } ?? ""
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate-admin""# + reason)
    return problem
  }

  private static let secFetchSite = FieldName("Sec-Fetch-Site")

  /// Refuses requests of web pages. A page of any site can make a browser on this machine send requests to
  /// loopback, but the browser reveals it. It writes `Origin` and `Sec-Fetch-Site`, and after DNS rebinding
  /// `Host` has the attacker's name. A form, or a page without permission, can send three media types. Of
  /// these the server accepts only the one that curl sends by default, and not from a browser.
  private static func judgeBrowser(_ request: borrowing Request) -> Problem? {
    guard request.value(of: .origin) == nil,
      [nil, "none", "same-origin"].contains(request.text(of: secFetchSite))
    else {
      return Problem(.denied, "Web pages may not use this interface.")
    }
    if let host = request.text(of: .host), !LocalName.isMeant(by: host) {
      return Problem(.denied, "Use this interface by its IP address, or as localhost.")
    }
    guard request.method == .post else { return nil }
    guard let contentType = request.value(of: .contentType) else { return isBrowser(request) ? noForm : nil }
    let type = request.head[contentType].prefix {
      $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t")
    }
    if type.equals(lowercase: "application/json") { return nil }
    return type.equals(lowercase: "application/x-www-form-urlencoded") && !isBrowser(request) ? nil : noForm
  }

  private static func isBrowser(_ request: borrowing Request) -> Bool {
    request.value(of: .userAgent).map { request.head[$0].starts(with: "Mozilla/".utf8) } == true
  }

  private static var noForm: Problem {
    Problem(.unsupportedMediaType, "Send JSON with Content-Type: application/json.")
  }
}

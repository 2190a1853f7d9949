// Identifies the operator who sends a request to the admin interface.

package import API
package import Callers
package import Gate
package import HTTP
import JOSE
package import Pages
package import Platform

/// The way a listener recognizes operators: by a Bearer token on the public listener and on an admin
/// listener beyond loopback. On a loopback admin listener, every client of this machine is an operator,
/// unless operators have names.
package enum AdminAccess: Sendable {
  /// Every request needs a token. If the configuration has neither tokens nor an issuer for operators, the
  /// listener has no admin interface.
  case token
  /// Every client that reaches the listener is admitted, except web pages of other origins. If operators
  /// have names, all requests but those for `/metrics` need a token.
  case loopback

  /// The operator who sends a request, or the problem if the request is refused.
  package enum Admission {
    /// The role is nil for a genuine JWT without a group that has one.
    case by(Operator.Identity, Operator.Role?)
    case refused(Problem)
    /// The server does not know the token's key yet. Fetch the keys, then try again.
    case fetchFirst(KeySource)
  }

  /// The counter of wrong tokens, and the values for checking one token: the client's address and the time.
  package struct Guesses {
    let throttle: LoginThrottle
    let address: IPAddress
    let now: MonotonicTime
    /// Wall-clock time, for the dates in JWTs.
    let time: UnixTime
    /// Whether the keys were already fetched for this token.
    let hasFetchedKeys: Bool

    package init(
      throttle: LoginThrottle, address: IPAddress, now: MonotonicTime, time: UnixTime, hasFetchedKeys: Bool
    ) {
      self.time = time
      self.hasFetchedKeys = hasFetchedKeys
      self.throttle = throttle
      self.address = address
      self.now = now
    }

    /// Tokens have no user names, so the throttle counts by address alone.
    private static let identity = Array("operator".utf8)

    /// Counts a wrong token, and returns nil. If the address has sent too many, returns how long it must
    /// wait, and does not count this one.
    func failed(_ digest: SHA256Digest) -> Duration? {
      let wait = throttle.wait(
        address: address, identity: Self.identity, credential: .init(digest: digest), now: now)
      if wait == nil { throttle.failed(address: address, identity: Self.identity, now: now) }
      return wait
    }
  }

  /// Identifies the operator who sends a request.
  package func admit(_ request: borrowing Request, _ operators: OperatorRegistry, _ guesses: Guesses)
    -> Admission
  {
    // Without an admin interface, the response is 404, as for any unknown path.
    guard isPresent(operators) else { return .refused(.noEndpoint) }
    if let problem = Self.judgeOrigin(request) { return .refused(problem) }
    guard case .loopback = self, !operators.isNamed || request.pathIs("/metrics") else {
      return Self.judgeToken(request, operators, guesses)
    }
    if let problem = Self.judgeBrowser(request) { return .refused(problem) }
    // No token is required here, so a wrong one does not count as a guess.
    if let token = Self.token(request),
      case .by(let identity, let role?) = operators.identify(
        token, fetched: true, now: guesses.time, at: guesses.now)
    {
      return .by(identity, role)
    }
    return .by(Operator.local.identity, Operator.local.role)
  }

  /// Whether this listener has an admin interface.
  private func isPresent(_ operators: OperatorRegistry) -> Bool {
    switch self {
    case .token: !operators.isEmpty
    case .loopback: true
    }
  }

  /// The operator's page; nil if this listener has no admin interface. The page contains no data, so it
  /// needs no token, and a page of any site may link to it.
  package func page(_ operators: OperatorRegistry) -> FixedDocument? {
    isPresent(operators) ? OperatorPage.page : nil
  }

  /// The style or the script of the operator's page; nil for other requests, and if this listener has no
  /// admin interface.
  package func file(for request: borrowing Request, _ operators: OperatorRegistry) -> FixedDocument? {
    guard request.method == .get || request.method == .head, isPresent(operators) else { return nil }
    return request.pathIs("/admin/operator.css")
      ? OperatorPage.styleFile : request.pathIs("/admin/operator.js") ? OperatorPage.scriptFile : nil
  }

  /// The response to browsers in place of the operator's page; nil if this listener has an admin interface,
  /// and for other clients.
  package func replacement(for request: borrowing Request, _ operators: OperatorRegistry) -> PreparedResponse?
  {
    guard !isPresent(operators), Self.isByBrowser(request) else { return nil }
    return OperatorPage.switchedOff
  }

  /// The redirect from `/admin`, as people type it, to the page; nil for any other request.
  package static func redirect(_ request: borrowing Request) -> Response? {
    guard request.pathIs("/admin"), isByBrowser(request) else { return nil }
    // Other clients get a problem document at this path.
    return Response(status: .permanentRedirect, fields: ["Location": "/admin/", "Vary": "Accept"])
  }

  private static func isByBrowser(_ request: borrowing Request) -> Bool {
    guard request.method == .get || request.method == .head else { return false }
    return request.values(of: .accept).contains { line in
      request.head[line].elements().contains { $0.starts(withLowercase: "text/html") }
    }
  }

  /// The token of a request; nil unless the request has exactly one `Authorization`, with a Bearer token.
  private static func token(_ request: borrowing Request) -> [UInt8]? {
    let scheme = Array("bearer ".utf8)
    guard let range = request.value(of: .authorization), request.count(of: .authorization) == 1,
      range.count > scheme.count,
      zip(request.head[range], scheme).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
    else { return nil }
    return Array(request.head[range.dropFirst(scheme.count)])
  }

  private static func judgeToken(
    _ request: borrowing Request, _ operators: OperatorRegistry, _ guesses: Guesses
  ) -> Admission {
    guard let token = token(request) else {
      return .refused(
        challenge(
          Problem(
            .unauthenticated,
            "Send \(operators.isNamed ? "your operator" : "the admin") token as Authorization: Bearer TOKEN."),
          nil))
    }
    switch operators.identify(
      token, fetched: guesses.hasFetchedKeys, now: guesses.time, at: guesses.now)
    {
    // A correct token passes even while others guess at its address: operators need the kill switch then.
    case .by(let identity, let role): return .by(identity, role)
    case .fetchFirst(let source): return .fetchFirst(source)
    case .unavailable(let wait):
      return .refused(
        Problem(
          .upstreamUnavailable, "The server cannot fetch the keys that verify this token.",
          tryAgainAfter: wait.wholeSecondsRoundedUp))
    case .refused(let reason, let isGuess):
      if isGuess, let wait = guesses.failed(SHA256Digest(of: token)) {
        let seconds = wait.wholeSecondsRoundedUp
        return .refused(
          Problem(
            .rateLimited,
            "Too many wrong tokens. Wait \(seconds) \(seconds == 1 ? "second" : "seconds"), or send the right one.",
            retryAfter: seconds))
      }
      return .refused(challenge(Problem(.invalidToken, reason), "invalid_token"))
    }
  }

  private static func challenge(_ problem: Problem, _ error: String?) -> Problem {
    var problem = problem
    let reason = error.map { #", error="\#($0)""# } ?? ""
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate-admin""# + reason)
    return problem
  }

  /// Refuses requests of web pages of other origins; nil for the operator's page and for clients that are not
  /// browsers.
  private static func judgeOrigin(_ request: borrowing Request) -> Problem? {
    request.isOfForeignPage
      ? Problem(.denied, "Web pages on other origins may not use this interface.") : nil
  }

  /// Refuses requests that a page of another site could make a browser on this machine send to loopback.
  /// After DNS rebinding `Host` has the attacker's name. A form, or a page without permission, can send three
  /// media types. Of these the server accepts only the one that curl sends by default, and not from a
  /// browser.
  private static func judgeBrowser(_ request: borrowing Request) -> Problem? {
    if let host = request.text(of: .host), !LocalName.isMeant(by: host) {
      return Problem(.denied, "Open the admin interface as localhost or by IP address.")
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

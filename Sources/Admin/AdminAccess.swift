// Decides whether a request may use the admin interface.

package import API
package import Callers
package import HTTP
package import JOSE
package import Pages
package import Platform

/// How the server recognises operators: by a Bearer token on the public listener and on an admin listener
/// beyond loopback. On a loopback admin listener every client of this machine is an operator.
package enum AdminAccess: Sendable {
  /// Only the token opens; without a configured one, nothing is here.
  case token
  /// Every client that reaches the listener, but no page of another site in a browser on this machine.
  case loopback

  /// Counts wrong tokens by address.
  package struct Guesses {
    let throttle: LoginThrottle
    let address: IPAddress
    let now: MonotonicTime

    /// The guesses from an address.
    package init(throttle: LoginThrottle, address: IPAddress, now: MonotonicTime) {
      self.throttle = throttle
      self.address = address
      self.now = now
    }

    /// There is one token without a user name, so the throttle counts by address alone.
    private static let identity = Array("operator".utf8)

    /// Counts a wrong token. Returns how long this address has to wait if it sent too many before; that one is not counted.
    func failed(_ digest: SHA256Digest) -> Duration? {
      let wait = throttle.wait(
        address: address, identity: Self.identity, credential: .init(digest: digest), now: now)
      if wait == nil { throttle.failed(address: address, identity: Self.identity, now: now) }
      return wait
    }
  }

  /// The refusal of a request; nil if it may pass.
  package func refusal(_ request: borrowing Request, tokenDigest: SHA256Digest?, _ guesses: Guesses)
    -> Problem?
  {
    switch self {
    case .token:
      // Without a configured token, the server sends 404 as for any unknown path.
      guard let tokenDigest else { return .noEndpoint }
      return Self.judgeOrigin(request) ?? Self.judgeToken(request, tokenDigest, guesses)
    case .loopback: return Self.judgeOrigin(request) ?? Self.judgeBrowser(request)
    }
  }

  /// The operator's page, where it is. It holds no data, so it needs no token, and a page of any site may link to it.
  package func page(tokenDigest: SHA256Digest?) -> FixedDocument? {
    switch self {
    case .token: tokenDigest == nil ? nil : OperatorPage.guarded
    case .loopback: OperatorPage.open
    }
  }

  /// The page's style or script, where the page is.
  package func file(for request: borrowing Request, tokenDigest: SHA256Digest?) -> FixedDocument? {
    guard request.method == .get || request.method == .head, page(tokenDigest: tokenDigest) != nil else {
      return nil
    }
    return request.pathIs("/admin/operator.css")
      ? OperatorPage.styleFile : request.pathIs("/admin/operator.js") ? OperatorPage.scriptFile : nil
  }

  /// The page in its place, for browsers, where there is no token; nil where there is one.
  package func replacement(for request: borrowing Request, tokenDigest: SHA256Digest?) -> PreparedResponse? {
    guard case .token = self, tokenDigest == nil, Self.isByBrowser(request) else { return nil }
    return OperatorPage.switchedOff
  }

  /// The way from `/admin`, as people type it, to the page; nil for any other request.
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

  private static func judgeToken(
    _ request: borrowing Request, _ digest: SHA256Digest, _ guesses: Guesses
  ) -> Problem? {
    let scheme = Array("bearer ".utf8)
    guard let range = request.value(of: .authorization), request.count(of: .authorization) == 1,
      range.count > scheme.count,
      zip(request.head[range], scheme).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
    else {
      return challenge(
        Problem(.unauthenticated, "Send the admin token as Authorization: Bearer TOKEN."), nil)
    }
    let token = SHA256Digest(of: request.head.span.extracting(range.dropFirst(scheme.count)))
    // The right token passes even while others guess at its address: operators need the kill switch then.
    guard token != digest else { return nil }
    if let wait = guesses.failed(token) {
      let seconds = wait.wholeSecondsRoundedUp
      return Problem(
        .rateLimited,
        "Too many wrong tokens. Wait \(seconds) \(seconds == 1 ? "second" : "seconds"), or send the right one.",
        retryAfter: seconds)
    }
    return challenge(Problem(.invalidToken, "This is not the admin token."), "invalid_token")
  }

  private static func challenge(_ problem: Problem, _ error: String?) -> Problem {
    var problem = problem
    let reason = error.map { #", error="\#($0)""# } ?? ""
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate-admin""# + reason)
    return problem
  }

  /// Refuses requests of web pages of other origins; nil for the operator's page and for clients that are no browsers.
  private static func judgeOrigin(_ request: borrowing Request) -> Problem? {
    request.isOfForeignPage
      ? Problem(.denied, "Web pages on other origins may not use this interface.") : nil
  }

  /// Refuses requests that a page of another site could make a browser on this machine send to loopback. After DNS rebinding
  /// `Host` has the attacker's name. A form, or a page without permission, can send three media types. Of these the server
  /// accepts only the one that curl sends by default, and not from a browser.
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

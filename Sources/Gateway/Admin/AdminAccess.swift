// Who may use the operators' interface.

internal import HTTP
internal import JOSE
internal import Platform

/// How operators are told from others: on the public listener and beyond loopback by a Bearer token, on a loopback
/// listener of their own by being on this machine.
enum AdminAccess: Sendable {
  /// Only the token opens; without a configured one, nothing is here.
  case token
  /// Whoever reaches the listener, but no web page in a browser on this machine.
  case loopback

  /// Nil where a request may pass, otherwise the refusal.
  func refusal(_ request: borrowing Request, tokenDigest: [UInt8]?) -> Problem? {
    switch self {
    case .token: Self.judgeToken(request, tokenDigest)
    case .loopback: Self.judgeBrowser(request)
    }
  }

  private static func judgeToken(_ request: borrowing Request, _ digest: [UInt8]?) -> Problem? {
    // Without a token there is nothing to be found out here, not even that there could be.
    guard let digest else { return .noEndpoint }
    let scheme = Array("bearer ".utf8)
    guard let range = request.value(of: .authorization), request.count(of: .authorization) == 1,
      range.count > scheme.count,
      zip(request.head[range], scheme).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
    else {
      return challenge(Problem(.unauthenticated, "Send the operators' token as a Bearer credential."), nil)
    }
    let token = request.head[range.dropFirst(scheme.count)]
    guard constantTimeEqual(SHA256.digest(Array(token)), digest) else {
      return challenge(Problem(.invalidToken, "This is not the operators' token."), "invalid_token")
    }
    return nil
  }

  private static func challenge(_ problem: Problem, _ error: String?) -> Problem {
    var problem = problem
    let reason = error.map { #", error="\#($0)""# } ?? ""
    problem.responseFields.append("WWW-Authenticate", #"Bearer realm="callgate-admin""# + reason)
    return problem
  }

  /// A page of any site can make a browser on this machine send requests to loopback. It cannot hide that it does:
  /// browsers write `Origin`, and a name that was made to point here (DNS rebinding) stands in `Host`.
  private static func judgeBrowser(_ request: borrowing Request) -> Problem? {
    guard request.value(of: .origin) == nil else {
      return Problem(.denied, "Web pages do not use this interface.")
    }
    guard let host = request.text(of: .host) else { return nil }
    let name = host.last == "]" ? host[...] : host.prefix(upTo: host.lastIndex(of: ":") ?? host.endIndex)
    let bare = name.hasPrefix("[") && name.hasSuffix("]") ? name.dropFirst().dropLast() : name
    guard bare == "localhost" || IPAddress(String(bare)) != nil else {
      return Problem(.denied, "Ask for this interface by its address, or as localhost.")
    }
    return nil
  }
}

// Explains how a server responds to a user's token, check by check, for `callgate doctor --token`.

import Callers
import Configuration
import Documents
import Gate
import HTTP
import JOSE
import Platform
import Texts
import Upstream

/// The checks of a user's token, as a server with this configuration makes them. The report never contains
/// the token or a claim's value, except for issuer, audience, `kid` and `alg`, which must match the
/// configuration and the key set.
struct TokenExamination {
  private let configuration: Configuration
  private let app: String?
  private let clock: any TimeSource
  private let transport: any HTTPTransport
  private var report = DoctorReport()

  /// The report on a token.
  ///
  /// - Parameters:
  ///   - token: The token. Blanks around it are ignored.
  ///   - app: The app that the request names; nil for none.
  static func report(
    on token: [UInt8], app: String?, _ configuration: Configuration, transport: any HTTPTransport,
    clock: any TimeSource
  ) async -> DoctorReport {
    var examination = TokenExamination(
      configuration: configuration, app: app, clock: clock, transport: transport)
    var token = token
    token.dropByteOrderMark()
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
    let end = token.lastIndex { !blanks.contains($0) }.map { $0 + 1 } ?? 0
    await examination.examine(Array(token[..<end].drop { blanks.contains($0) }))
    return examination.report
  }

  private init(
    configuration: Configuration, app: String?, clock: any TimeSource, transport: any HTTPTransport
  ) {
    (self.configuration, self.app, self.clock, self.transport) = (configuration, app, clock, transport)
  }

  private var now: Double {
    let time = clock.unixTime
    return Double(time.seconds) + Double(time.nanoseconds) / 1e9
  }

  private mutating func fail(_ check: String, _ found: String, fix: String) {
    report.fail(check, found, fix: fix, .refused)
  }

  private mutating func examine(_ token: [UInt8]) async {
    var sources: [String: KeySource] = [:]
    let authenticator = JWTAuthenticator(configuration.callers) { url in
      if let known = sources[url] { return known }
      let source = KeySource(url: url, transport: transport, time: clock) { _ in }
      sources[url] = source
      return source
    }
    let jws: JWS.Compact
    let claims: JWTClaims
    let candidates: [JWTAuthenticator.Issuer]
    do throws(JWTAuthenticator.Fault) {
      (jws, claims) = try JWTAuthenticator.read(token)
      guard examineLength(token) else { return }
      candidates = try authenticator.issuers(of: claims)
    } catch {
      explain(error, of: token, among: authenticator.issuers)
      return answer(error)
    }
    report.ok("issuer", "\(quoted(candidates[0].issuer)), of \(Self.callers(candidates))")

    for (url, source) in sources.sorted(by: { $0.key < $1.key })
    where candidates.contains(where: { $0.source === source }) {
      await report.examine(
        source, at: url, of: "\(Self.callers(candidates)): the issuer's",
        fix: "check jwks_url; until the server can read the keys, it answers this token with 503")
      guard report.count(.fail) == 0 else {
        return report.skip("key", "skipped: without the issuer's keys nothing can be verified")
      }
    }
    let outcome = authenticator.authenticate(token, fetched: true, now: clock.unixTime, at: clock.now)
    let issuer = Self.issuer(of: outcome, claims, among: candidates)
    examineSignature(jws, issuer)
    examineAudience(claims, issuer)
    examineTimes(jws, claims)
    let refusal = examineSubject(claims, issuer).flatMap { examineRules($0) }
    switch outcome {
    case .notOurs(let fault), .refused(let fault, _): answer(fault)
    case .caller(let caller):
      if let refusal { return fail("answer", refusal, fix: "see the failed check") }
      report.ok("answer", "the server accepts this token, as a user of caller \(caller.id)")
    case .fetchFirst, .unavailable:
      report.fail("answer", "503 upstream_unavailable", fix: "try again", .unreachable)
    }
  }

  private mutating func answer(_ fault: JWTAuthenticator.Fault) {
    fail("answer", "401 invalid_token: \(fault.sentence)", fix: "see the failed check")
  }

  /// The issuer entry of the caller that accepts the token. If none does: the entry for the token's audience,
  /// or the first.
  private static func issuer(
    of outcome: JWTAuthenticator.Outcome, _ claims: JWTClaims, among candidates: [JWTAuthenticator.Issuer]
  ) -> JWTAuthenticator.Issuer {
    candidates.first { candidate in
      if case .caller(let caller) = outcome { return caller.id.hasSameBytes(as: candidate.id) }
      return claims.audience?.contains(exactly: candidate.audience) == true
    } ?? candidates[0]
  }

  private static func callers(_ issuers: [JWTAuthenticator.Issuer]) -> String {
    (issuers.count == 1 ? "caller " : "callers ") + issuers.map(\.id).joined(separator: ", ")
  }

  // MARK: Form and issuer

  private mutating func examineLength(_ token: [UInt8]) -> Bool {
    let limit = configuration.limits.headerBytes
    let field = "Authorization: Bearer \r\n".utf8.count + token.count
    guard field < limit else {
      fail(
        "length",
        "431: the header has \(field) bytes, and limits.header_bytes allows \(limit) for all headers",
        fix: "raise limits.header_bytes, or let the provider leave out claims such as groups")
      return false
    }
    report.ok("length", "\(token.count) bytes; limits.header_bytes allows \(limit) for all headers")
    return true
  }

  private mutating func explain(
    _ fault: JWTAuthenticator.Fault, of token: [UInt8], among issuers: [JWTAuthenticator.Issuer]
  ) {
    switch fault {
    case .unknownIssuer(let issuer):
      let known = issuers.map { quoted($0.issuer, limit: 200) }
      fail(
        "issuer", "the token is from \(quoted(issuer, limit: 200)), and no caller has this issuer",
        fix: known.isEmpty
          ? "add a caller with jwt"
          : "compare it with callers[].jwt.issuer, final slash included: \(known.joined(separator: ", "))")
    case .claims(.missing(claim: "iss")):
      fail("issuer", "the token has no claim iss", fix: "send a token of a configured issuer")
    case .claims(let error):
      let fix =
        switch error {
        case .outOfRange(let claim),
          .malformed(let claim) where ["exp", "nbf", "iat"].contains(claim):
          "configure the provider to write \(claim) in seconds since 1970, as a number: not milliseconds, and not a string"
        case .malformed, .notText, .notJSON, .notObject, .missing, .expired, .notYetValid, .issuedInFuture,
          .livesTooLong, .wrongIssuer, .wrongAudience, .wrongType:
          "ask the provider for another token"
        }
      fail("claims", "\(error)", fix: fix)
    case .unreadable, .unknownKey, .unusableKey, .wrongAlgorithm, .wrongSignature:
      let form = Self.form(of: token)
      fail(
        "form", form?.found ?? "this is not a signed JWT: \(fault.cause)",
        fix: form?.fix ?? "copy the whole token: three parts with dots between them")
    }
  }

  /// Explains a common input that is not just a token; nil for any other input. Repeats no part of the input.
  private static func form(of text: [UInt8]) -> (found: String, fix: String)? {
    guard let first = text.first, let last = text.last else {
      return ("there is no token: the input is empty", "write the token into the file, or pipe it in with -")
    }
    if text.isUTF16 { return ("this is UTF-16 text", "save the file as UTF-8") }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
      return ("this is JSON", "give the value of its member access_token or id_token alone")
    }
    if first == last, "\"'`".utf8.contains(first) {
      return ("the token is in quotation marks", "give it without them")
    }
    let start = String(decoding: text.prefix(32), as: UTF8.self).lowercased()
    if ["bearer", "dpop", "basic", "authorization:"].contains(where: start.hasPrefix), start.contains(" ") {
      return ("this is a header with the token", "give the token alone, without Authorization and Bearer")
    }
    if text.contains(where: { $0 <= 0x20 }) {
      return ("a blank or line break is inside the token", "give the token on one line")
    }
    switch text.count(where: { $0 == UInt8(ascii: ".") }) {
    case 0:
      return (
        "this has no dots, so it is not a JWT but an opaque token or an API key",
        "give the ID token, or configure the provider to issue JWTs as access tokens"
      )
    case 4:
      return (
        "this is an encrypted token", "configure the provider to sign its tokens without encrypting them"
      )
    default: return nil
    }
  }

  // MARK: Key and signature

  private mutating func examineSignature(_ jws: JWS.Compact, _ issuer: JWTAuthenticator.Issuer) {
    let keys: JWKSet?
    switch issuer.keys {
    case .set(let set): keys = set
    case .source(let source): keys = source.set
    case .secret(let secret):
      report.ok("key", "the configured secret")
      guard jws.algorithmName == secret.algorithm.rawValue else {
        return fail(
          "algorithm",
          "the token has \(quoted(jws.algorithmName)), and the secret is for \(secret.algorithm.rawValue)",
          fix: "configure the provider's public keys with jwks_url")
      }
      report.ok("algorithm", secret.algorithm.rawValue)
      guard jws.verify(with: secret) else {
        return fail(
          "signature", "another secret signed the token", fix: "compare the secret with the provider's")
      }
      return report.ok("signature", "it is the issuer's")
    }
    let name = jws.keyID.map { "kid \(quoted($0))" }
    do throws(JWTAuthenticator.Fault) {
      try jws.verify(with: keys)
      report.ok("key", name ?? "the issuer's only key for this algorithm")
      report.ok("algorithm", jws.algorithmName)
      report.ok("signature", "it is the issuer's")
    } catch {
      switch error {
      case .unknownKey:
        fail(
          "key",
          name.map { "the issuer has no usable key with \($0)" }
            ?? "the token has no kid, and the issuer has several keys",
          fix: "get a new token: the issuer may have replaced its key")
      case .unusableKey:
        fail(
          "key",
          "the issuer publishes no usable key" + (name.map { " with \($0)" } ?? "")
            + (keys?.reasonForLeavingOut(jws.keyID).map { ": \($0)" } ?? ""),
          fix: "have the issuer publish a key for signatures: ES256, PS256, RS256, EdDSA or Ed25519")
      case .wrongAlgorithm:
        report.ok("key", name ?? "the issuer's only key")
        fail(
          "algorithm",
          "the token was signed with \(quoted(jws.algorithmName)), and the issuer's key is for another algorithm",
          fix:
            "configure the provider to sign with ES256, PS256, RS256, EdDSA or Ed25519, and to publish that key"
        )
      case .wrongSignature, .unreadable, .unknownIssuer, .claims:
        report.ok("key", name ?? "the issuer's only key for this algorithm")
        report.ok("algorithm", jws.algorithmName)
        fail(
          "signature", "the issuer's key did not make it",
          fix: "check that the token is complete, and from this environment of the provider")
      }
    }
  }

  // MARK: Claims

  private mutating func examineAudience(_ claims: JWTClaims, _ issuer: JWTAuthenticator.Issuer) {
    guard let audience = claims.audience else {
      return fail(
        "audience", "the token has no claim aud",
        fix:
          "send the provider's ID token, or configure the provider to add aud (Amazon Cognito's access tokens have none)"
      )
    }
    guard audience.contains(exactly: issuer.audience) else {
      let found = audience.prefix(8).map { quoted($0) }.joined(separator: ", ")
      return fail(
        "audience", "the token is for \(found), and caller \(issuer.id) wants \(quoted(issuer.audience))",
        fix: "set callers.\(issuer.id).jwt.audience, or request the token for that audience")
    }
    report.ok("audience", quoted(issuer.audience))
  }

  private mutating func examineTimes(_ jws: JWS.Compact, _ claims: JWTClaims) {
    do throws(JWTError) {
      try jws.validate(claims, JWTExpectations(leeway: JWTAuthenticator.leeway), now: now)
      let left = Int64(max(0, (claims.expirationTime ?? now) - now))
      report.ok("times", "the token expires in \(left) s")
    } catch {
      let clock = "get a new token, and compare this machine's clock with the provider's"
      switch error {
      case .missing(let claim):
        fail(
          "times", "the token has no claim \(claim)",
          fix: "configure the provider to let its tokens expire")
      case .expired:
        let ago = Int64(now - (claims.expirationTime ?? now))
        fail("times", "the token expired \(ago) s ago, by this machine's clock", fix: clock)
      case .wrongType:
        fail("type", "the header's typ is not JWT or at+jwt", fix: "send an access token or an ID token")
      case .notYetValid, .issuedInFuture, .livesTooLong, .notJSON, .notObject, .malformed, .notText,
        .outOfRange, .wrongIssuer, .wrongAudience:
        fail("times", "\(error), by this machine's clock", fix: clock)
      }
    }
  }

  /// Checks the subject and the proof key in the claims, and returns the caller that they name; nil after a
  /// failure.
  private mutating func examineSubject(_ claims: JWTClaims, _ issuer: JWTAuthenticator.Issuer) -> Caller? {
    do throws(JWTError) {
      let caller = try issuer.caller(claims)
      report.ok("subject", "the claim \(issuer.subjectClaim) names the user")
      if caller.key != nil {
        report.ok("proof", "the token is bound to a key (cnf): each request needs a DPoP proof")
      }
      return caller
    } catch {
      switch error {
      case .malformed(claim: "cnf"):
        fail("proof", "\(error)", fix: "configure the provider to send cnf.jkt, the SHA-256 of the key")
      case .notText(let claim):
        fail("subject", "\(error)", fix: "configure the provider to write \(claim) as a text")
      default:
        fail(
          "subject", "\(error)",
          fix:
            "set callers.\(issuer.id).jwt.subject_claim to a claim with 1 to 255 bytes and no control character"
        )
      }
      return nil
    }
  }

  /// Checks the app, and the rules about claims that apply to the caller and the app.
  ///
  /// - Returns: The server's response if the app or a rule refuses the caller.
  private mutating func examineRules(_ caller: Caller) -> String? {
    let claim = AppRegistry(configuration.servedApps).claim(
      named: app.map { .value($0) } ?? .absent, by: caller.id)
    guard case .admitted(let admitted) = claim else {
      fail("app", claim.refusal(of: caller.id), fix: "name an app that lists the caller, with --app")
      return claim.app == nil ? "404 unknown_app" : "403 denied"
    }
    if let admitted { report.ok("app", admitted.id) }
    var refusal: String?
    for rule in configuration.policy.rules where rule.mode != .off {
      guard case .claims(let claims) = rule.kind,
        rule.callers?.contains(exactly: caller.id) ?? true,
        rule.apps.map({ apps in admitted.map { apps.contains(exactly: $0.id) } ?? false }) ?? true
      else { continue }
      let actions = rule.actions.map(\.rawValue).sorted().joined(separator: ", ")
      let found = "\(rule.name) (\(actions)): \(claims.reason(caller.claims, .hidden))"
      switch (claims.allows(caller.claims), rule.mode) {
      case (true, _): report.ok("rule", found)
      case (false, .enforce):
        fail("rule", found, fix: "configure the provider to add the claim, or change require of the rule")
        refusal = refusal ?? "403 denied, by the rule \(rule.name)"
      case (false, _): report.warn("rule", found, fix: "in mode enforce the rule would refuse this user")
      }
    }
    return refusal
  }
}

extension JWTAuthenticator.Issuer {
  /// The source of fetched keys; nil if the keys are configured.
  fileprivate var source: KeySource? { if case .source(let source) = keys { source } else { nil } }
}

extension JWKSet {
  /// The reason why the set lacks the key with an ID, or any key if the ID is nil; nil if no such key was
  /// left out.
  fileprivate func reasonForLeavingOut(_ keyID: String?) -> KeyError? {
    skipped.first { keyID == nil || $0.keyID?.hasSameBytes(as: keyID ?? "") == true }?.reason
  }
}

extension JWTAuthenticator.Fault {
  /// The reason why a text is not a token; empty for any other fault.
  fileprivate var cause: String { if case .unreadable(let error) = self { "\(error)" } else { "" } }
}

extension DoctorReport {
  /// Fetches a key set, and reports whether it has usable keys and which keys were left out.
  ///
  /// - Parameters:
  ///   - url: The URL of the set. Its query may contain a secret.
  ///   - whose: The owner of the keys, such as `App Check: Google's`. Failures name only the part before the
  ///     colon.
  mutating func examine(_ source: KeySource, at url: String, of whose: String, fix: String) async {
    let name = KeySource.name(of: url)
    let subject = whose.prefix { $0 != ":" }
    switch await source.fetch() {
    case .success:
      let set = source.set
      if let set, !set.keys.isEmpty {
        ok("jwks", "\(whose) keys are at \(name)")
      } else {
        fail("jwks", "\(subject): \(name) has no usable key", fix: fix, .unreachable)
      }
      for skipped in set?.skipped ?? [] { skip("jwks", "\(subject): \(skipped.words)") }
    case .failure(.transport(let error)):
      fail("jwks", "\(subject): \(error.words(about: TalkdeskHost.host(of: url)))", fix: fix, .unreachable)
    case .failure(let failure): fail("jwks", "\(subject): \(name): \(failure)", fix: fix, .unreachable)
    }
  }
}

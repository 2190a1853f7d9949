// Authenticates callers and operators by JWTs from their own identity providers (RFC 7519, RFC 8725).

import Gate
package import JOSE
package import JSON
package import Platform
import Texts

/// Verifies the JWTs of configured issuers.
///
/// The issuer in a token only selects a configured one. Keys come from the configuration, never from the
/// token's header. Each key has its own algorithms, so `none` and a public key used as a shared secret are
/// impossible.
package struct JWTAuthenticator: Sendable {
  /// The issuer of a configured caller, or of the operators.
  package struct Issuer: Sendable {
    /// The caller's id; `admin.jwt` for the operators' issuer.
    package let id: String
    package let issuer: String
    package let audience: String
    /// The claim with the subject.
    package let subjectClaim: String
    /// The claim with the subject if a token lacks `subjectClaim`.
    let fallbackClaim: String?
    package let keys: Keys

    package init(
      id: String, issuer: String, audience: String, subjectClaim: String, fallbackClaim: String? = nil,
      keys: Keys
    ) {
      self.fallbackClaim = fallbackClaim
      self.id = id
      self.issuer = issuer
      self.audience = audience
      self.subjectClaim = subjectClaim
      self.keys = keys
    }
  }

  /// The source of an issuer's keys.
  package enum Keys: Sendable {
    case source(KeySource)
    case set(JWKSet)
    case secret(SymmetricKey)
  }

  /// The result of verifying a token.
  package enum Outcome {
    case caller(Caller)
    /// The text is not a readable JWT, or names no issuer that a configured caller has.
    case notOurs(Fault)
    /// The token is refused. `isForged`: no key of the issuer made the signature.
    case refused(Fault, isForged: Bool)
    /// The token's key is not known yet. Fetch the keys, then try again.
    case fetchFirst(KeySource)
    /// The server could not fetch the issuer's keys.
    case unavailable(retryAfter: Duration)
  }

  /// Why a token is refused.
  package enum Fault: Error, Hashable, Sendable {
    /// The text is not a signed JWT.
    case unreadable(JWSError)
    /// No caller has the token's issuer.
    case unknownIssuer(String)
    /// The issuer has no key with the token's `kid`. Without a `kid`: its set does not have exactly one key
    /// for the token's algorithm.
    case unknownKey(isNamed: Bool)
    /// The issuer publishes the named key in a form that this server cannot use, or publishes no usable key.
    case unusableKey
    /// The issuer's key is for other algorithms.
    case wrongAlgorithm
    case wrongSignature
    /// A claim or the type of the token is wrong.
    case claims(JWTError)
  }

  /// Seconds by which an issuer's clock may differ.
  package static let leeway = 30
  /// The text of the response to an unknown key.
  package static let unknownKey = "No configured caller has this key or token."
  /// The maximum size of a token in octets: the largest value of `limits.header_bytes`. The header of a
  /// request is limited to the configured value already.
  package static let maximumBytes = 1 << 20

  package let issuers: [Issuer]
  private let verified = VerifiedTokens<Caller>()

  package init(issuers: [Issuer]) { self.issuers = issuers }

  /// The authenticator of the configured callers that have users.
  ///
  /// - Parameter source: Finds the key set at a URL.
  package init(_ callers: [ConfiguredCaller], source: (String) -> KeySource) {
    self.init(
      issuers: callers.compactMap { caller in
        guard case .jwt(let issuer) = caller.proof else { return nil }
        let keys: Keys =
          switch issuer.keys {
          case .url(let url, _): .source(source(url))
          case .set(let set): .set(set)
          case .secret(let secret): .secret(secret)
          case .unopened: preconditionFailure("a configuration without its callers' keys")
          }
        return Issuer(
          id: caller.id, issuer: issuer.issuer, audience: issuer.audience,
          subjectClaim: issuer.subjectClaim, fallbackClaim: issuer.fallbackClaim, keys: keys)
      })
  }

  /// The caller of a token that was verified before with keys that are still current. Nil for any other
  /// token, and for one that has expired.
  /// - Parameter digest: The token's SHA-256.
  func known(_ digest: SHA256Digest, now: UnixTime) -> Caller? {
    verified.value(digest, generation: isCurrent, now: Self.seconds(now))
  }

  private static func seconds(_ time: UnixTime) -> Double {
    Double(time.seconds) + Double(time.nanoseconds) / 1e9
  }

  /// Verifies a token and identifies its caller.
  /// - Parameters:
  ///   - fetched: Whether the keys were already fetched for this token. One token causes at most one fetch.
  ///   - now: The wall clock, for the token's dates.
  package func authenticate(_ token: [UInt8], fetched: Bool, now: UnixTime, at moment: MonotonicTime)
    -> Outcome
  {
    let seconds = Self.seconds(now)
    let digest = SHA256Digest(of: token)
    if let caller = verified.value(digest, generation: isCurrent, now: seconds) { return .caller(caller) }

    let jws: JWS.Compact
    let claims: JWTClaims
    let candidates: [Issuer]
    do throws(Fault) {
      (jws, claims) = try Self.read(token)
      candidates = try issuers(of: claims)
    } catch {
      return .notOurs(error)
    }

    // Callers may share an issuer. The first fault after a valid signature is reported, but a wrong audience
    // gives way to a later fault: the token may be for another of these callers.
    var fault = Fault.wrongSignature
    var isForged = true
    var unavailable: Duration?
    for issuer in candidates {
      var generation = 0
      do throws(Fault) {
        switch issuer.keys {
        case .secret(let secret):
          guard jws.verify(with: secret) else { throw .wrongSignature }
        case .set(let set):
          try jws.verify(with: set)
        case .source(let source):
          switch source.keys(
            named: jws.keyID, algorithm: jws.algorithmName, fetched: fetched, now: moment)
          {
          case .keys(let keys, let current):
            generation = current
            try jws.verify(with: keys)
          case .fetchFirst: return .fetchFirst(source)
          case .unavailable(let wait):
            unavailable = min(wait, unavailable ?? wait)
            continue
          case .unknown: throw jws.lacksKey(of: source.set)
          }
        }
      } catch {
        if isForged { fault = error }
        continue
      }
      do throws(JWTError) {
        try jws.validate(
          claims, JWTExpectations(issuer: issuer.issuer, audience: issuer.audience, leeway: Self.leeway),
          now: seconds)
        let caller = try issuer.caller(claims)
        if let expiry = claims.expirationTime {
          verified.remember(
            digest,
            VerifiedTokens.Entry(
              value: caller, validUntil: expiry + Double(Self.leeway), generation: generation,
              size: token.count),
            now: seconds)
        }
        return .caller(caller)
      } catch {
        if isForged || fault == .claims(.wrongAudience) { fault = .claims(error) }
        isForged = false
      }
    }
    if isForged, let unavailable { return .unavailable(retryAfter: unavailable) }
    return .refused(fault, isForged: isForged)
  }

  /// Parses a token without verifying anything in it.
  package static func read(_ token: [UInt8]) throws(Fault) -> (JWS.Compact, JWTClaims) {
    let jws: JWS.Compact
    do throws(JWSError) {
      jws = try JWS.Compact(parsing: token, maximumBytes: maximumBytes)
    } catch {
      throw .unreadable(error)
    }
    do throws(JWTError) {
      return (jws, try JWTClaims(payload: jws.payload, maximumBytes: maximumBytes))
    } catch {
      throw .claims(error)
    }
  }

  /// The callers that have a token's issuer. The issuer is not verified yet: it only selects the keys that
  /// verify the token.
  package func issuers(of claims: JWTClaims) throws(Fault) -> [Issuer] {
    guard let claimed = claims.issuer else { throw .claims(.missing(claim: "iss")) }
    let candidates = issuers.filter { $0.issuer.hasSameBytes(as: claimed) }
    guard !candidates.isEmpty else { throw .unknownIssuer(claimed) }
    return candidates
  }

  /// Whether the keys that verified a token are still current.
  private func isCurrent(_ entry: VerifiedTokens<Caller>.Entry) -> Bool {
    issuers.contains { issuer in
      guard issuer.id.hasSameBytes(as: entry.value.id) else { return false }
      if case .source(let source) = issuer.keys { return source.generation == entry.generation }
      return true
    }
  }

}

extension JWTAuthenticator.Issuer {
  /// The caller that verified claims identify.
  package func caller(_ claims: JWTClaims) throws(JWTError) -> Caller {
    let key = try claims.confirmationKey()
    guard let claim = claims[subjectClaim] ?? fallbackClaim.flatMap({ claims[$0] }) else {
      throw .missing(claim: subjectClaim)
    }
    // A number would be another user for each way to write it: 4, 4.0, 4e0.
    guard let subject = claim.string else { throw .notText(claim: subjectClaim) }
    guard JWTClaims.isSubject(subject) else { throw .malformed(claim: subjectClaim) }
    return Caller(
      authenticated: id, by: .jwt, subject: subject,
      claims: claims.members.members.map { FactMember($0.name, FactValue($0.value)) }, key: key)
  }
}

extension JWTAuthenticator.Fault {
  /// The fault in words, for the sender of the token. The words may name claims, but never contain a claim's
  /// value.
  package var sentence: String {
    switch self {
    case .unreadable(.unsecured): "The token is not signed."
    case .unreadable(.criticalExtension): "The token requires an extension that this server does not support."
    case .unreadable(.notThreeParts):
      "The token does not have the three parts of a signed JWT. The server does not accept encrypted tokens, which have five."
    case .unreadable: "No configured caller has this key, and it is not a JWT."
    case .unknownIssuer: "The token comes from a different issuer."
    case .unknownKey(isNamed: true): "The token's key (kid) is not among the issuer's."
    case .unknownKey(isNamed: false): "The token names no key (kid), and its issuer has several."
    case .unusableKey: "The issuer publishes no usable key for the token."
    case .wrongAlgorithm: "The issuer's key does not fit the token's algorithm."
    case .wrongSignature: "The issuer's key did not sign this token."
    case .claims(let error):
      switch error {
      case .expired: "The token has expired."
      case .notYetValid: "The token is not valid yet (nbf)."
      case .issuedInFuture: "The token was issued in the future (iat)."
      case .wrongAudience: "The token is for a different audience."
      case .wrongIssuer, .wrongType, .livesTooLong: "This server does not accept tokens of this kind."
      case .notJSON, .notObject: "The token's claims are not a JSON object."
      case .missing(let claim): "The token lacks the claim \(claim)."
      case .malformed(let claim): "The token's claim \(claim) is malformed."
      case .notText(let claim):
        "The token's claim \(claim) is not a string. Configure the identity provider to send it as one."
      case .outOfRange(let claim):
        "The token's claim \(claim) is out of range. It must be in seconds since 1970, not in milliseconds."
      }
    }
  }
}

extension JWTClaims {
  /// The thumbprint of the key that a token is bound to (`cnf.jkt`, RFC 9449 §6.1). Nil without `cnf.jkt`:
  /// the server does not check other bindings, such as those to certificates.
  ///
  /// - Throws: `malformed` for a binding that cannot be read. Such a token must not count as unbound.
  fileprivate func confirmationKey() throws(JWTError) -> SHA256Digest? {
    guard let confirmation = self["cnf"] else { return nil }
    guard let members = confirmation.object else { throw .malformed(claim: "cnf") }
    guard let thumbprint = members["jkt"] else { return nil }
    guard let key = thumbprint.string.flatMap({ Base64URL.decode($0) }).flatMap({ SHA256Digest($0) }) else {
      throw .malformed(claim: "cnf")
    }
    return key
  }
}

extension JWS.Compact {
  /// Verifies the signature with the key of an issuer's set that the token names.
  package func verify(with set: JWKSet?) throws(JWTAuthenticator.Fault) {
    guard let keys = set?.candidates(named: keyID, algorithm: algorithmName) else { throw lacksKey(of: set) }
    try verify(with: keys)
  }

  /// Why a set has no key for the token.
  fileprivate func lacksKey(of set: JWKSet?) -> JWTAuthenticator.Fault {
    guard let set else { return .unknownKey(isNamed: keyID != nil) }
    guard !set.keys.isEmpty else { return .unusableKey }
    guard let keyID else { return .unknownKey(isNamed: false) }
    let isLeftOut = set.skipped.contains { $0.keyID?.hasSameBytes(as: keyID) == true }
    return isLeftOut ? .unusableKey : .unknownKey(isNamed: true)
  }

  /// - Parameter keys: The keys that the token names and that allow its algorithm.
  fileprivate func verify(with keys: [JWK]) throws(JWTAuthenticator.Fault) {
    guard !keys.isEmpty else { throw .wrongAlgorithm }
    guard keys.contains(where: { verify(with: $0) }) else { throw .wrongSignature }
  }
}

extension FactValue {
  /// A claim as rules see it.
  package init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let bool): self = .bool(bool)
    case .number(let number): self = .number(number.text)
    case .string(let text): self = .string(text)
    case .array(let elements): self = .array(elements.map { FactValue($0) })
    case .object(let object): self = .object(object.members.map { FactMember($0.name, FactValue($0.value)) })
    }
  }
}

// Authenticates callers by JWTs from their own identity provider (RFC 7519, RFC 8725).

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
  /// One configured caller.
  package struct Issuer: Sendable {
    /// The caller's id.
    let id: String
    let issuer: String
    let audience: String
    /// The claim with the subject.
    let subjectClaim: String
    let keys: Keys

    package init(id: String, issuer: String, audience: String, subjectClaim: String, keys: Keys) {
      self.id = id
      self.issuer = issuer
      self.audience = audience
      self.subjectClaim = subjectClaim
      self.keys = keys
    }
  }

  /// Where an issuer's keys are.
  package enum Keys: Sendable {
    case source(KeySource)
    case set(JWKSet)
    case secret(SymmetricKey)
  }

  /// The result of verifying a token.
  package enum Outcome {
    case caller(Caller)
    /// It is no token of a configured issuer: perhaps an API key that looks like one.
    case notOurs
    /// Refused. `isForged`: no key of the issuer made the signature, so it may be a guess. `effort`: the
    /// cost, in verifications with P-256.
    case refused(detail: String, isForged: Bool, effort: Int)
    /// Its key is not known yet: fetch, then try again.
    case fetchFirst(KeySource)
    /// The issuer's keys cannot be had at the moment.
    case unavailable(retryAfter: Duration)
  }

  /// Seconds by which an issuer's clock may differ.
  static let leeway = 30

  let issuers: [Issuer]
  private let verified = VerifiedTokens<Caller>()

  package init(issuers: [Issuer]) { self.issuers = issuers }

  /// Who sent a token that was verified before, with the keys that are still in force; nil for any other.
  /// - Parameter digest: The token's SHA-256.
  func known(_ digest: SHA256Digest, now: UnixTime) -> Caller? {
    verified.value(digest, generation: isCurrent, now: Self.seconds(now))
  }

  private static func seconds(_ time: UnixTime) -> Double {
    Double(time.seconds) + Double(time.nanoseconds) / 1e9
  }

  /// Who sent a token.
  /// - Parameters:
  ///   - fetched: Whether a fetch for this very token has been made: there is no second one.
  ///   - now: The wall clock, for the token's dates.
  package func authenticate(_ token: [UInt8], fetched: Bool, now: UnixTime, at moment: MonotonicTime)
    -> Outcome
  {
    let seconds = Self.seconds(now)
    let digest = SHA256Digest(of: token)
    if let caller = verified.value(digest, generation: isCurrent, now: seconds) { return .caller(caller) }

    let jws: JWS.Compact
    let claims: JWTClaims
    let claimed: String
    do {
      jws = try JWS.Compact(parsing: token)
      // Not verified yet: it only chooses whose keys verify it.
      claims = try JWTClaims(payload: jws.payload)
      guard let issuer = claims.issuer else { return .notOurs }
      claimed = issuer
    } catch {
      return .notOurs
    }
    let candidates = issuers.filter { $0.issuer.hasSameBytes(as: claimed) }
    guard !candidates.isEmpty else { return .notOurs }

    var refusal = "The token's signature is not the issuer's."
    var isForged = true
    var unavailable: Duration?
    var effort = 0
    for issuer in candidates {
      let key: JWK?
      var generation = 0
      switch issuer.keys {
      case .secret(let secret):
        effort += 1
        guard jws.verify(with: secret) else { continue }
        key = nil
      case .set(let set):
        key = set.key(named: jws.keyID)
        guard let key else { continue }
        effort += jws.effort(with: key)
        guard jws.verify(with: key) else { continue }
      case .source(let source):
        switch source.key(named: jws.keyID, fetched: fetched, now: moment) {
        case .key(let found, let current):
          generation = current
          key = found
          effort += jws.effort(with: found)
          guard jws.verify(with: found) else { continue }
        case .fetchFirst: return .fetchFirst(source)
        case .unavailable(let wait):
          unavailable = min(wait, unavailable ?? wait)
          continue
        case .unknown:
          refusal = "The token's key is not among the issuer's."
          continue
        }
      }
      isForged = false
      do throws(JWTError) {
        try jws.validate(
          claims, JWTExpectations(issuer: issuer.issuer, audience: issuer.audience, leeway: Self.leeway),
          now: seconds)
        guard let caller = try Self.caller(issuer, claims) else {
          refusal = "The token does not name a subject."
          continue
        }
        if let expiry = claims.expirationTime {
          verified.remember(
            digest,
            VerifiedTokens.Entry(
              value: caller, validUntil: expiry + Double(Self.leeway), generation: generation),
            now: seconds)
        }
        return .caller(caller)
      } catch {
        refusal = Self.sentence(error)
      }
    }
    if isForged, let unavailable { return .unavailable(retryAfter: unavailable) }
    return .refused(detail: refusal, isForged: isForged, effort: max(1, effort))
  }

  /// Whether the keys a token was verified with are still those in force.
  private func isCurrent(_ entry: VerifiedTokens<Caller>.Entry) -> Bool {
    issuers.contains { issuer in
      guard issuer.id.hasSameBytes(as: entry.value.id) else { return false }
      if case .source(let source) = issuer.keys { return source.generation == entry.generation }
      return true
    }
  }

  private static func caller(_ issuer: Issuer, _ claims: JWTClaims) throws(JWTError) -> Caller? {
    let key = try claims.confirmationKey()
    guard let subject = claims[issuer.subjectClaim]?.string, (1...255).contains(subject.utf8.count),
      !subject.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return nil }
    return Caller(
      authenticated: issuer.id, by: .jwt, subject: subject,
      claims: claims.members.members.map { FactMember($0.name, FactValue($0.value)) }, key: key)
  }

  /// The mistake in a token, for its sender: claims' names, never their values.
  private static func sentence(_ error: JWTError) -> String {
    switch error {
    case .expired: "The token has expired."
    case .notYetValid, .issuedInFuture: "The token is not valid yet."
    case .wrongAudience: "The token is for another audience."
    case .wrongIssuer, .wrongType, .livesTooLong, .notJSON, .notObject:
      "This server does not accept tokens of this kind."
    case .missing(let claim): "The token lacks the claim \(claim)."
    case .malformed(let claim): "The token's claim \(claim) is malformed."
    }
  }
}

extension JWTClaims {
  /// The thumbprint of the key that a token is bound to (`cnf.jkt`, RFC 9449 §6.1); nil for a token that any holder may use.
  ///
  /// - Throws: `malformed` for a binding that cannot be read. It must not count as none.
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
  /// The cost of a verification with this key, in those with P-256; 0 if the key does not fit the token's
  /// algorithm. OpenSSL has fast code for P-256 and Ed25519; the larger curves take seven to ten times as
  /// long.
  fileprivate func effort(with key: JWK) -> Int {
    switch SignatureAlgorithm(rawValue: algorithmName) {
    case let algorithm? where !key.algorithms.contains(algorithm): 0
    case .ES384, .ES512: 10
    default: 1
    }
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

// The built-in limits on enrollments by attestation: per app, per address, per token and per challenge.

import Documents
public import Platform

/// The charges for an enrollment with an attestation.
public enum AttestationLimits {
  /// The maximum number of installations per day (UTC) that one address (an IPv6 /64) may enroll by
  /// attestation alone.
  public static let perAddress: Int64 = 20
  /// The time for which the digest of a token is stored, in seconds. No token is valid for longer.
  static let tokenLife: Int64 = 7 * 86_400

  private static let token = rule(Rule.attestationToken) { () throws(Refusal) in
    .rate(try RateLimit(limit: 1, per: tokenLife * 1_000_000_000), key: .caller, onStoreFailure: .deny)
  }
  /// The time for which the digest of a challenge is stored, in seconds. This is twice a challenge's
  /// lifetime, because an instance whose clock is slow accepts the challenge for longer.
  static let challengeLife: Int64 = 600
  private static let challenge = rule(Rule.attestationChallenge) { () throws(Refusal) in
    .rate(
      try RateLimit(limit: 1, per: challengeLife * 1_000_000_000), key: .caller, onStoreFailure: .deny)
  }
  /// The time for which a client may repeat a request whose outcome is unknown, in seconds.
  static let passLife: Int64 = 600
  /// The additional time for which a pass is stored, in seconds. A pass that was given back ends at the
  /// store's time, which may be up to 10 s ahead of this machine's time. Without the margin, the pass would
  /// still look taken here.
  static let passMargin: Int64 = 20
  private static let pass = rule(Rule.attestationPass) { () throws(Refusal) in
    .rate(
      try RateLimit(limit: 1, per: (passLife + passMargin) * 1_000_000_000), key: .caller,
      onStoreFailure: .deny)
  }
  private static let address = rule(Rule.attestedAddress) { () throws(Refusal) in
    .quota(try Quota(limit: perAddress, period: .day), key: .address, onStoreFailure: .deny)
  }

  private static func rule(
    _ name: String, _ kind: () throws(Refusal) -> Rule.Kind
  ) -> AllowanceRule {
    do throws(Refusal) {
      guard let rule = AllowanceRule(Rule(builtIn: name, .enrol, try kind()), index: 0) else {
        preconditionFailure("it counts")
      }
      return rule
    } catch {
      preconditionFailure("the limit is a valid rule: \(error.message)")
    }
  }

  /// The charge for the single use of a token.
  ///
  /// - Parameter digest: SHA-256 of the token, in hex.
  public static func charge(token digest: String) -> AllowanceCharge {
    AllowanceCharge(rule: token, party: .caller(digest))
  }

  /// The charge for the single use of a challenge.
  ///
  /// - Parameter digest: SHA-256 of the challenge, in hex.
  public static func charge(challenge digest: String) -> AllowanceCharge {
    AllowanceCharge(rule: challenge, party: .caller(digest))
  }

  /// The charge for a pass, which lets the same request repeat the single use of a token or a challenge. A
  /// pass is taken together with that use, and given back once the first response is certain.
  ///
  /// - Parameters:
  ///   - digest: SHA-256 of the token or the challenge, in hex.
  ///   - request: SHA-256 of the request's content, in hex.
  public static func pass(_ digest: String, request: String) -> AllowanceCharge {
    AllowanceCharge(rule: pass, party: .caller("\(digest) \(request)"))
  }

  /// The time at which the first request took its pass; nil if there is no pass, if it was given back, or if
  /// its ten minutes have passed.
  ///
  /// - Parameter state: The state of the pass.
  public static func passTaken(_ state: AllowanceState?, at now: Instant) -> Instant? {
    guard let state else { return nil }
    let since = Instant(seconds: 0)
      .advanced(by: .nanoseconds(state.mark) - .seconds(passLife + passMargin))
    return now - since < .seconds(passLife) ? since : nil
  }

  /// Whether a key belongs to the charge or receipt of a pass.
  public static func isPass(_ key: AllowanceKey) -> Bool { key.rule == Rule.attestationPass }

  /// Whether a key belongs to the charge or receipt of a token's single use.
  public static func isToken(_ key: AllowanceKey) -> Bool { key.rule == Rule.attestationToken }

  /// The charges for an installation that an attestation alone authorizes.
  ///
  /// - Parameter perDay: The maximum number of such installations of the app per day (UTC): 1 to 1,000,000.
  public static func charges(app: String, perDay: Int, _ address: IPAddress) -> [AllowanceCharge] {
    let daily = rule(Rule.attestedApp) { () throws(Refusal) in
      .quota(try Quota(limit: Int64(perDay), period: .day), key: .app, onStoreFailure: .deny)
    }
    return [
      AllowanceCharge(rule: daily, party: .app(app)),
      AllowanceCharge(rule: self.address, party: .address(address.client)),
    ]
  }

  /// The denial of an enrollment whose charges the store refused.
  ///
  /// - Parameters:
  ///   - index: The index of the charge that could not be taken.
  ///   - states: The states of all charges.
  public static func denial(
    _ charges: [AllowanceCharge], index: Int, _ states: [AllowanceState?], at now: Instant
  ) -> Denial {
    .exhausted(charges[index].rule, states[index], at: now)
  }
}

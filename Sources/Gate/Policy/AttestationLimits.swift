// The built-in limits on enrolments by attestation: what an app, an address, one token and one challenge may make.

import Documents
public import Platform

/// What an enrolment with an attestation takes from the allowances.
public enum AttestationLimits {
  /// How many installations an attestation alone makes from one address (an IPv6 /64) in a day (UTC).
  public static let perAddress: Int64 = 20
  /// How long the digest of a token is stored: no token lives longer.
  static let tokenLife: Int64 = 7 * 86_400

  private static let token = rule(Rule.attestationToken) { () throws(Refusal) in
    .rate(try RateLimit(limit: 1, per: tokenLife * 1_000_000_000), key: .caller, onStoreFailure: .deny)
  }
  /// How long the digest of a challenge is stored: as long as one lives by a clock that is slow by as much.
  static let challengeLife: Int64 = 600
  private static let challenge = rule(Rule.attestationChallenge) { () throws(Refusal) in
    .rate(
      try RateLimit(limit: 1, per: challengeLife * 1_000_000_000), key: .caller, onStoreFailure: .deny)
  }
  /// How long a request whose answer was in doubt may be repeated.
  static let passLife: Int64 = 600
  /// How much longer it is stored. Given back, a pass ends at the store's time, which may be ahead of this machine's by half as much.
  /// There it would still look taken, but for its age.
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

  /// The one use of a token.
  ///
  /// - Parameter digest: SHA-256 of the token, in hex.
  public static func charge(token digest: String) -> AllowanceCharge {
    AllowanceCharge(rule: token, party: .caller(digest))
  }

  /// The one use of a challenge.
  ///
  /// - Parameter digest: SHA-256 of the challenge, in hex.
  public static func charge(challenge digest: String) -> AllowanceCharge {
    AllowanceCharge(rule: challenge, party: .caller(digest))
  }

  /// What lets the same request repeat the one use of a token or a challenge. It is taken together with that use, and given back once the
  /// first answer is certain.
  ///
  /// - Parameters:
  ///   - digest: SHA-256 of the token or the challenge, in hex.
  ///   - request: SHA-256 of the request's content, in hex.
  public static func pass(_ digest: String, request: String) -> AllowanceCharge {
    AllowanceCharge(rule: pass, party: .caller("\(digest) \(request)"))
  }

  /// When the first request took its pass; nil without a pass, or after its ten minutes.
  ///
  /// - Parameter state: Of the pass.
  public static func passTaken(_ state: AllowanceState?, at now: Instant) -> Instant? {
    guard let state else { return nil }
    let since = Instant(seconds: 0)
      .advanced(by: .nanoseconds(state.mark) - .seconds(passLife + passMargin))
    return now - since < .seconds(passLife) ? since : nil
  }

  /// Whether the key of a charge or a receipt is that of a pass.
  public static func isPass(_ key: AllowanceKey) -> Bool { key.rule == Rule.attestationPass }

  /// Whether the key of a charge or a receipt is that of the one use of a token.
  public static func isToken(_ key: AllowanceKey) -> Bool { key.rule == Rule.attestationToken }

  /// What an installation takes that an attestation alone authorizes.
  ///
  /// - Parameter perDay: How many of them the app has in a day (UTC): 1 to 1,000,000.
  public static func charges(app: String, perDay: Int, _ address: IPAddress) -> [AllowanceCharge] {
    let daily = rule(Rule.attestedApp) { () throws(Refusal) in
      .quota(try Quota(limit: Int64(perDay), period: .day), key: .app, onStoreFailure: .deny)
    }
    return [
      AllowanceCharge(rule: daily, party: .app(app)),
      AllowanceCharge(rule: self.address, party: .address(address.client)),
    ]
  }

  /// Why an enrolment is refused.
  ///
  /// - Parameters:
  ///   - index: The charge that could not be taken.
  ///   - states: Of all charges.
  public static func denial(
    _ charges: [AllowanceCharge], index: Int, _ states: [AllowanceState?], at now: Instant
  ) -> Denial {
    .exhausted(charges[index].rule, states[index], at: now)
  }
}

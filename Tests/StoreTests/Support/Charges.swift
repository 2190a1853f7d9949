// Makes charges for the tests as the server does: through a policy that allows a request.

import Gate
import TestSupport

@testable import Store

/// A policy of rates and quotas, and requests to it.
struct Allowances {
  let policy: Policy

  init(_ rules: [Rule]) throws { policy = try Policy(rules: rules) }

  static func rate(
    _ name: String = "rate", limit: Int64, per seconds: Double, burst: Int64? = nil,
    key: AllowanceScope = .caller, mode: Rule.Mode = .enforce
  ) throws -> Rule {
    let rate = try RateLimit(limit: limit, per: Int64(seconds * 1e9), burst: burst)
    return try Rule(name: name, mode: mode, kind: .rate(rate, key: key, onStoreFailure: .deny))
  }

  static func quota(
    _ name: String = "quota", limit: Int64, _ period: Quota.Period = .day, key: AllowanceScope = .caller,
    mode: Rule.Mode = .enforce, onFailure: FailurePolicy = .deny
  ) throws -> Rule {
    let quota = try Quota(limit: limit, period: period)
    return try Rule(name: name, mode: mode, kind: .quota(quota, key: key, onStoreFailure: onFailure))
  }

  func facts(_ caller: String = "ios-app", subject: String? = nil, at now: Instant) -> Facts {
    Facts(action: .access, callerID: caller, subject: subject, address: nil, phone: nil, instant: now)
  }

  /// The charges of a request.
  func charges(_ caller: String = "ios-app", subject: String? = nil, at now: Instant) -> [AllowanceCharge] {
    let decision = policy.decide(facts(caller, subject: subject, at: now), states: FetchedStates())
    guard case .allow(let clearance) = decision.outcome else { return [] }
    return clearance.charges
  }
}

extension ChargeOutcome {
  var isTaken: Bool { receipts != nil }

  var receipts: [AllowanceReceipt]? {
    if case .taken(let receipts) = self { receipts } else { nil }
  }

  var isRefused: Bool {
    if case .refused = self { true } else { false }
  }

  var isUnavailable: Bool {
    if case .unavailable = self { true } else { false }
  }
}

extension Instant {
  /// 2026-11-20T12:00:00Z plus some seconds.
  static func noon(_ seconds: Double = 0) -> Instant {
    let nanoseconds = Int64((seconds * 1e9).rounded())
    return Instant(
      seconds: 1_795_176_000 + nanoseconds / 1_000_000_000, nanoseconds: Int32(nanoseconds % 1_000_000_000))
  }
}

extension Store {
  /// Takes all charges of a request, or none.
  ///
  /// - Returns: `taken` or `refused`. A store that is unavailable throws instead.
  func take(_ charges: [AllowanceCharge], at now: Instant) async throws(StoreError) -> ChargeOutcome {
    guard !charges.isEmpty else { return .taken([]) }
    return try await update(charges.map(\.key), at: now) { states, now in
      let outcome = charges.take(from: states, at: now)
      return AllowanceUpdate(writes: charges.writes(of: outcome), result: outcome)
    }
  }

  /// Gives back the allowances in receipts.
  func giveBack(_ receipts: [AllowanceReceipt], at now: Instant) async throws(StoreError) {
    guard !receipts.isEmpty else { return }
    try await update(receipts.map(\.key), at: now) { states, now in
      AllowanceUpdate(writes: receipts.returns(to: states, at: now), result: ())
    }
  }
}

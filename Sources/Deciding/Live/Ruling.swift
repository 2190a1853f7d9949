// The decision on one request, with the details that its response and audit record need.

package import Gate

/// The decision on one request. It contains the request's only grant, so it cannot be copied.
package struct Ruling: ~Copyable, Sendable {
  package enum Outcome: ~Copyable, Sendable {
    /// The request is allowed, with this grant.
    case granted(Grant)
    case refused(Denial)
  }

  /// Every rule with its verdict.
  package let verdicts: RuleVerdicts
  /// The caller's remaining allowances, for the header fields of a successful response. Empty for a refusal,
  /// and for a request whose allowances the store takes with its record.
  package let statuses: [AllowanceStatus]
  /// The reason of the rule that refused or, if none did, of the first rule in audit mode that would have
  /// refused and gives a reason; otherwise nil. Only for the audit line.
  package let reason: String?
  /// Whether and how the caller proved that the phone number is theirs, by the last rule `own_number`. Nil if
  /// no such rule was evaluated, or if it allowed a proof without verifying it.
  package let ownership: NumberResult?
  private let outcome: Outcome

  /// Consumes the ruling and returns the outcome, so that the grant is used at most once.
  package consuming func concluded() -> Outcome { outcome }
}

extension Ruling {
  /// A decision after its allowances were taken, or could not be taken.
  init(_ decision: Decision, _ charged: ChargeOutcome, _ facts: Facts) {
    self.init(decision.settled(charged, at: facts.instant)) { $0.statuses }
  }

  /// A decision whose allowances the store takes with the request's record.
  init(withRecord decision: Decision, _ facts: Facts) {
    self.init(decision.settledWithRecord(at: facts.instant)) { _ in [] }
  }

  /// A decision that uses no allowances. Its statuses are what the next request would find.
  ///
  /// - Parameter use: Whether the proof of the number could be used; `.taken([])` without a proof.
  init(untaken decision: Decision, _ use: ChargeOutcome, _ facts: Facts, _ states: some AllowanceStates) {
    let policy = decision.policy
    self.init(decision.settled(use, at: facts.instant)) { _ in
      policy.statuses(for: facts, states: states)
    }
  }

  private init(_ settled: consuming Decision.Settled, statuses: (borrowing Grant) -> [AllowanceStatus]) {
    let decision: Decision
    switch consume settled {
    case .granted(let allowed, let grant):
      decision = allowed
      self.statuses = statuses(grant)
      outcome = .granted(grant)
    case .refused(let refused):
      guard let denial = refused.denial else { preconditionFailure("a refusal without a denial") }
      decision = refused
      self.statuses = []
      outcome = .refused(denial)
    }
    verdicts = decision.verdicts
    // The proof was valid, but is already used: another request was faster, or this request repeats an
    // earlier one.
    let isUsed = decision.ownership == .proof && decision.denial?.code == .numberNotProven
    ownership = isUsed ? .used : decision.ownership
    reason = decision.denial?.reason ?? decision.audited.lazy.compactMap(\.reason).first
  }
}

// The decision on one request, with the details that its response and audit record need.

package import Gate

/// A decision with its allowances taken. It holds the request's only grant, so it cannot be copied.
package struct Ruling: ~Copyable, Sendable {
  /// The outcome.
  package enum Outcome: ~Copyable, Sendable {
    /// The request is allowed, with this grant.
    case granted(Grant)
    case refused(Denial)
  }

  /// Every rule with its verdict.
  package let verdicts: RuleVerdicts
  /// The rest of the caller's allowances, for the fields of a success.
  package let statuses: [AllowanceStatus]
  /// Why a remote policy refused, or that it gave no decision: for the audit line alone.
  package let reason: String?
  /// The result of the rules about its number. Nil if there were none.
  package let ownership: NumberResult?
  private let outcome: Outcome

  /// The outcome; it can be taken once.
  package consuming func concluded() -> Outcome { outcome }
}

extension Ruling {
  /// A decision when its allowances were taken, or could not be.
  init(_ decision: Decision, _ charged: ChargeOutcome, _ facts: Facts) {
    self.init(decision.settled(charged, at: facts.instant)) { $0.statuses }
  }

  /// A decision whose allowances are taken with the request's record.
  init(withRecord decision: Decision, _ facts: Facts) {
    self.init(decision.settledWithRecord(at: facts.instant)) { _ in [] }
  }

  /// A decision that takes nothing from allowances. It shows what the next request would find.
  ///
  /// - Parameter use: The result of using the proof of the number. `.taken([])` without a proof.
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
    // Judged as good, and then refused: another request was faster, or this one repeats it.
    let isUsed = decision.ownership == .proof && decision.denial?.code == .numberNotProven
    ownership = isUsed ? .used : decision.ownership
    reason = decision.denial?.reason ?? decision.audited.lazy.compactMap(\.reason).first
  }
}

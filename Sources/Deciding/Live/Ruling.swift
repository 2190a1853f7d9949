// The decision on one request, with the details that its response and audit record need.

package import Gate

/// A decision, its allowances taken.
package struct Ruling: Sendable {
  /// What follows.
  package enum Outcome: Sendable {
    /// It may go on, with this.
    case granted(Grant)
    case refused(Denial)
  }

  /// Every rule with what became of it.
  package let verdicts: RuleVerdicts
  /// What follows.
  package let outcome: Outcome
  /// What is left of the caller's allowances, for the fields of a success.
  package let statuses: [AllowanceStatus]
  /// Why a remote policy refused, or that it gave no decision: for the audit line alone.
  package let reason: String?

  /// The grant, if it is one.
  package var grant: Grant? { if case .granted(let grant) = outcome { grant } else { nil } }
  /// The refusal, if it is one.
  var denial: Denial? { if case .refused(let denial) = outcome { denial } else { nil } }
}

extension Ruling {
  /// A decision when its allowances were taken, or could not be.
  init(_ decision: Decision, _ charged: ChargeOutcome, _ facts: Facts) {
    let (settled, grant) = decision.settled(charged, at: facts.instant)
    self.init(settled, grant, statuses: grant?.statuses ?? [])
  }

  /// A decision whose allowances stay as they are: what is told of them is what the next request would find.
  init(untaken decision: Decision, _ facts: Facts, _ states: some AllowanceStates) {
    let policy = decision.policy
    let (settled, grant) = decision.settled(.taken([]), at: facts.instant)
    self.init(settled, grant, statuses: grant == nil ? [] : policy.statuses(for: facts, states: states))
  }

  private init(_ decision: Decision, _ grant: Grant?, statuses: [AllowanceStatus]) {
    switch (decision.outcome, grant) {
    case (.deny(let denial), _): outcome = .refused(denial)
    case (.allow, let grant?): outcome = .granted(grant)
    case (.allow, nil): preconditionFailure("an allowed request that was settled has a grant")
    }
    verdicts = decision.verdicts
    self.statuses = statuses
    reason = decision.denial?.reason ?? decision.audited.lazy.compactMap(\.reason).first
  }
}

// What was decided about one request, and everything its answer and its audit line tell of that.

internal import Gate

/// A decision, its allowances taken.
struct Ruling: Sendable {
  /// What follows.
  enum Outcome: Sendable {
    /// It may go on, with this.
    case granted(Grant)
    case refused(Denial)
  }

  /// Every rule with what became of it.
  var verdicts: RuleVerdicts
  /// What rules in audit mode would have said.
  var audited: [Denial]
  /// What follows.
  var outcome: Outcome

  /// The grant, if it is one.
  var grant: Grant? { if case .granted(let grant) = outcome { grant } else { nil } }
  /// The refusal, if it is one.
  var denial: Denial? { if case .refused(let denial) = outcome { denial } else { nil } }

  /// What a remote policy gave as its reason: for the audit line alone.
  var reason: String? {
    if let reason = denial?.reason { return reason }
    return audited.lazy.compactMap(\.reason).first
  }
}

extension Ruling {
  /// A decision after its allowances were taken, or could not be.
  init(_ decision: Decision, _ grant: Grant?) {
    switch (decision.outcome, grant) {
    case (.deny(let denial), _): outcome = .refused(denial)
    case (.allow, let grant?): outcome = .granted(grant)
    case (.allow, nil): preconditionFailure("an allowed request that was settled has a grant")
    }
    verdicts = decision.verdicts
    audited = decision.audited
  }
}

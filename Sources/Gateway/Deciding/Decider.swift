// The one way to a decision: for requests, probes and explanations alike.

internal import Gate
internal import HTTP

/// Decides about requests whose caller is known: kill switch, then app, then rules. Made anew with each configuration;
/// what is stopped and what is used outlives it.
struct Decider: Sendable {
  let apps: AppRegistry
  let policy: Policy
  let stops: StopBoard
  let ledger: any AllowanceLedger
  let remotes: RemotePolicies

  // MARK: Before the rules

  /// The app of a request: the kill switch first, which goes before everything but who asks.
  /// - Parameter name: What the request names, if anything.
  func admit(_ caller: Caller, to action: Action, app name: Request.QueryItem) throws(Problem) -> App? {
    let claim = apps.claim(named: name, by: caller)
    guard !stops.stops(action, caller: caller.id, app: claim.app?.id) else { throw .stopped }
    return try claim.admitted()
  }

  // MARK: The rules

  /// What asking the rules came to.
  enum Answer: Sendable {
    /// They have decided.
    case ruled(Ruling)
    /// A remote policy has to be asked first; see `finish`.
    case waits(Evaluation, RemoteQuery)
  }

  /// Asks the rules, and takes what an allowed request takes from its allowances, without waiting for anybody.
  /// - Parameter takes: Whether allowances are taken; a probe takes none.
  @inline(__always)
  func ask(_ facts: Facts, taking takes: Bool) -> Answer {
    if let grant = policy.unconditionalGrant(for: facts) {
      return .ruled(Ruling(verdicts: .none, audited: [], outcome: .granted(grant)))
    }
    return proceed(policy.evaluation(of: facts), facts, ledger, taking: takes)
  }

  /// Goes on where `ask` had to wait: asks remote policies until the rules have decided.
  func finish(
    _ evaluation: Evaluation, _ query: RemoteQuery, _ facts: Facts, taking takes: Bool
  ) async -> Ruling {
    var (evaluation, query) = (evaluation, query)
    while true {
      evaluation.answer(await remotes.ask(query))
      switch proceed(evaluation, facts, ledger, taking: takes) {
      case .ruled(let ruling): return ruling
      case .waits(let next, let asked): (evaluation, query) = (next, asked)
      }
    }
  }

  /// What the rules would say if the allowances were as given; takes nothing.
  func explain(_ facts: Facts, _ states: some AllowanceStates) async -> Ruling {
    var evaluation = policy.evaluation(of: facts)
    while true {
      switch proceed(evaluation, facts, states, taking: false) {
      case .ruled(let ruling): return ruling
      case .waits(let next, let query):
        evaluation = next
        evaluation.answer(await remotes.ask(query))
      }
    }
  }

  /// What is left of the allowances that concern a request.
  func statuses(for facts: Facts) -> [AllowanceStatus] {
    policy.statuses(for: facts, states: ledger)
  }

  private func proceed(
    _ evaluation: consuming Evaluation, _ facts: Facts, _ states: some AllowanceStates, taking takes: Bool
  ) -> Answer {
    switch evaluation.next(states) {
    case .asks(let query): return .waits(evaluation, query)
    case .decided(let decision):
      var charged = ChargeOutcome.taken([])
      if takes, case .allow(let clearance) = decision.outcome, !clearance.charges.isEmpty {
        charged = ledger.take(clearance.charges, at: facts.instant)
      }
      let (settled, grant) = decision.settled(charged, at: facts.instant)
      return .ruled(Ruling(settled, grant))
    }
  }
}

// The one way to a decision: for requests, probes and explanations alike.

internal import Gate
internal import HTTP
internal import Store

/// Decides about requests whose caller is known: kill switch, then app, then rules. Made anew with each configuration;
/// what is stopped and what is used outlives it.
struct Decider: Sendable {
  let apps: AppRegistry
  let policy: Policy
  let stops: StopBoard
  let ledger: AllowanceLedger
  let remotes: RemotePolicies

  // MARK: Before the rules

  /// The app of a request: the kill switch first, which goes before everything but who asks.
  /// - Parameter name: What the request names, if anything.
  func admit(_ caller: Caller, to action: Action, app name: Request.QueryItem) throws(Problem) -> App? {
    let claim = apps.claim(named: name, by: caller)
    guard stops.stop(for: action, callerID: caller.id, appID: claim.app?.id) == nil else { throw .stopped }
    return try claim.admitted()
  }

  // MARK: The rules

  /// Asks the rules, and takes what an allowed request takes from its allowances, without waiting for anybody.
  ///
  /// - Parameter takes: Whether allowances are taken; a probe takes none.
  /// - Returns: The ruling; nil where a remote policy or the store has to be asked, and then `rule` does so. Nothing has
  ///   been taken then.
  func ruleAtOnce(_ facts: Facts, taking takes: Bool) -> Ruling? {
    let view = ledger.view(at: facts.instant)
    var evaluation = policy.evaluation(of: facts)
    guard case .decided(let decision) = evaluation.next(view), !view.isIncomplete else { return nil }
    guard takes else { return view.isExact ? Ruling(untaken: decision, facts, view) : nil }
    var outcome = ChargeOutcome.taken([])
    let charges = decision.charges
    if !charges.isEmpty {
      guard let taken = view.take(charges) else { return nil }
      outcome = taken
    }
    return Ruling(decision, outcome, facts)
  }

  /// Asks the rules, remote policies among them, and the store.
  func rule(_ facts: Facts, taking takes: Bool) async -> Ruling {
    let kept = await states(for: facts)
    let decision = await decide(facts, kept)
    guard takes else { return Ruling(untaken: decision, facts, kept) }
    var outcome = ChargeOutcome.taken([])
    let charges = decision.charges
    if !charges.isEmpty {
      outcome = await ledger.take(charges, at: facts.instant)
    }
    return Ruling(decision, outcome, facts)
  }

  /// Asks the rules, remote policies among them, of a request that gets nothing whatever its allowances are: those are
  /// taken for unused, and so none of them hides what stands against the request otherwise.
  func ruleBesideAllowances(_ facts: Facts) async -> Ruling {
    let unused = FetchedStates()
    return Ruling(untaken: await decide(facts, unused), facts, unused)
  }

  /// What the rules say where allowances are as given. Takes nothing.
  func decide(_ facts: Facts, _ states: any AllowanceStates & Sendable) async -> Decision {
    var evaluation = policy.evaluation(of: facts)
    while true {
      switch evaluation.next(states) {
      case .decided(let decision): return decision
      case .asks(let query): evaluation.answer(await remotes.ask(query))
      }
    }
  }

  /// What is kept of the allowances a decision about a request may look at.
  func states(for facts: Facts) async -> any AllowanceStates & Sendable {
    let charges = policy.charges(for: facts)
    guard !charges.isEmpty else { return FetchedStates() }
    do throws(StoreError) {
      return try await ledger.states(of: charges, at: facts.instant)
    } catch {
      // Each rule says what it does without its store.
      return UnavailableStates()
    }
  }
}

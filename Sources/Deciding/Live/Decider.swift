// Decides whether a request, probe or explanation is allowed: checks stops first, then the app, then the
// rules.

package import API
package import Callers
package import Gate
package import HTTP
package import Platform
package import Store

/// Verifies the proof in a request. Throws a problem if the server cannot verify it now.
package typealias NumberProver = @Sendable () async throws(Problem) -> NumberProofAnswer

/// Returns the verdict on a number. May use a lookup at Talkdesk only if `looksUp` is true.
package typealias NumberScreener =
  @Sendable (
    _ query: ScreeningQuery, _ looksUp: Bool, _ deadline: MonotonicTime?
  ) async -> ScreeningAnswer

/// Decides on requests whose caller is authenticated: first stops, then the app, then the rules. Each
/// configuration has its own decider. Stops and used allowances outlive it. A class, because a struct would
/// be copied for every request.
package final class Decider: Sendable {
  package let apps: AppRegistry
  package let policy: Policy
  package let stops: StopBoard
  /// The numbers that operators have blocked. Nil when rules are evaluated without a server.
  package let blocked: BlockedNumbers?
  package let ledger: AllowanceLedger
  let remotes: RemotePolicies
  /// Whether a Talkdesk credential is configured. A server whose apps all have chat desks needs none.
  private let hasTalkdesk: Bool
  private let liveAgents: @Sendable () -> Int64?
  private let screener: NumberScreener?

  /// - Parameter liveAgents: The number of agents available now; nil if unknown.
  package init(
    apps: AppRegistry, policy: Policy, stops: StopBoard, blocked: BlockedNumbers? = nil,
    ledger: AllowanceLedger, remotes: RemotePolicies,
    hasTalkdesk: Bool = true, screener: NumberScreener? = nil,
    liveAgents: @escaping @Sendable () -> Int64? = { nil }
  ) {
    self.apps = apps
    self.policy = policy
    self.stops = stops
    self.blocked = blocked
    self.ledger = ledger
    self.remotes = remotes
    self.hasTalkdesk = hasTalkdesk
    self.liveAgents = liveAgents
    self.screener = screener
  }

  /// The number of agents available now, for the facts of a request; nil if unknown, or if no rule needs it.
  package func agents() -> Int64? { policy.asksAgents ? liveAgents() : nil }

  // MARK: Before the rules

  /// The reason why a request is refused before the rules.
  package struct Refusal: Error {
    /// The problem for the response.
    package let problem: Problem
    /// The app of the request, if there is one.
    let app: String?
    /// The reason for operators and audit lines.
    package let reason: String

    /// The problem's code as a denial code.
    package var denialCode: DenialCode {
      guard let code = DenialCode(rawValue: problem.code.rawValue) else {
        preconditionFailure("a refusal before the rules with a code that no denial has")
      }
      return code
    }
  }

  /// Returns the app of a request, or refuses the request. Stops are checked first, right after
  /// authentication.
  ///
  /// - Parameters:
  ///   - applicant: The caller of the request.
  ///   - name: The app's name in the request, if any.
  package func admit(
    _ applicant: Applicant, to action: Action, app name: Request.QueryItem
  ) throws(Refusal) -> App? {
    guard stops.isKnown else {
      throw Refusal(
        problem: .stopsUnknown, app: nil, reason: "the database has not responded since the server started")
    }
    let caller = applicant.callerID ?? Caller.anonymousID
    let claim = apps.claim(named: name, by: caller, installedFor: applicant.installedFor)
    if let stop = stops.stop(for: action, callerID: applicant.callerID, appID: claim.app?.id) {
      throw Refusal(problem: .stopped, app: claim.app?.id, reason: stop.auditReason)
    }
    let app: App?
    do throws(Problem) {
      app = try claim.admitted()
    } catch {
      throw Refusal(problem: error, app: claim.app?.id, reason: claim.refusal(of: caller))
    }
    if let objection = apps.objection(to: action, of: applicant, for: app, hasTalkdesk: hasTalkdesk) {
      throw Refusal(problem: objection.problem, app: app?.id, reason: objection.reason)
    }
    return app
  }

  // MARK: The rules

  /// The result of the rules without waiting.
  package enum AtOnce: ~Copyable {
    case ruled(Ruling)
    /// A remote policy or the store is needed: call `ruling` with this intermediate result. No allowance has
    /// been used.
    case undecided(Preliminary)
  }

  /// The result of the rules before a remote policy or the store is queried.
  package struct Preliminary: Sendable {
    /// The decision if only its allowances must still be taken; nil if the rules must be evaluated again,
    /// with remote policies or the store.
    fileprivate let allowed: Decision?
  }

  /// Evaluates the rules without waiting.
  ///
  /// - Parameter takes: Whether an allowed request uses allowances. A probe uses none.
  package func ruleAtOnce(_ facts: Facts, taking takes: Bool) -> AtOnce {
    let states = PresumedStates()
    var evaluation = policy.evaluation(of: facts, isBlocked: isBlocked(facts))
    guard case .decided(let decision) = evaluation.next(states) else {
      return .undecided(Preliminary(allowed: nil))
    }
    guard states.wereAsked else { return .ruled(Ruling(decision, .taken([]), facts)) }
    // Use the allowances of an allowed request without reading them first: the result of the store decides.
    return .undecided(Preliminary(allowed: takes && decision.denial == nil ? decision : nil))
  }

  /// Evaluates the rules, including remote policies and the store.
  ///
  /// - Parameters:
  ///   - known: The result of `ruleAtOnce`; nil to call that first.
  ///   - deadline: The deadline of the response; nil for none.
  ///   - prover: Verifies the proof of a request that uses no allowance; nil without a proof.
  /// - Throws: A problem if there is no decision: too many requests wait for a policy, the deadline passed,
  ///   or the proof cannot be verified now. No allowance has been used then.
  package func ruling(
    _ facts: Facts, taking takes: Bool, after known: Preliminary? = nil, deadline: MonotonicTime? = nil,
    proving prover: NumberProver? = nil
  ) async throws(Problem) -> Ruling {
    let preliminary: Preliminary
    if let known {
      preliminary = known
    } else {
      switch ruleAtOnce(facts, taking: takes) {
      case .ruled(let ruling): return ruling
      case .undecided(let found): preliminary = found
      }
    }
    if let decision = preliminary.allowed { return await take(decision, facts) }
    guard takes else {
      let saved = await states(for: facts)
      let decision = try await decide(facts, saved, deadline: deadline, proving: prover)
      return Ruling(untaken: decision, await useOfProof(decision, at: facts.instant), facts, saved)
    }
    // If an earlier rule refuses a request, remote policies are not queried. Brakes come last, so their check
    // can wait until allowances are used.
    let isKnown = !policy.charges(for: facts, taking: true).isEmpty
    let saved = isKnown ? await states(for: facts) : FetchedStates()
    var decision = try await decide(facts, saved, deadline: deadline)
    if decision.waits, !isKnown { decision.wait(facts, await states(for: facts)) }
    return await take(decision, facts)
  }

  /// Evaluates the rules for a request that creates a record. The grant contains the charges, which the store
  /// takes together with the record. An exhausted allowance refuses the request here. An allowance that other
  /// requests exhaust meanwhile refuses it in the store.
  ///
  /// - Throws: The same as `ruling`.
  package func rulingOfRecord(
    _ facts: Facts, deadline: MonotonicTime? = nil, proving prover: NumberProver? = nil
  ) async throws(Problem) -> Ruling {
    let saved = await states(for: facts)
    return Ruling(
      withRecord: try await decide(facts, saved, deadline: deadline, proving: prover, looksUp: true), facts)
  }

  /// Whether an operator blocked the number. Only the facts of a callback have one.
  private func isBlocked(_ facts: Facts) -> Bool {
    guard let blocked else { return false }
    return blocked.contain(facts.phone)
  }

  /// The result of using the proof now, for a request that uses no allowance. Nothing is taken.
  private func useOfProof(_ decision: Decision, at now: Instant) async -> ChargeOutcome {
    let charges = decision.charges
    guard decision.ownership == .proof, !charges.isEmpty else { return .taken([]) }
    do throws(StoreError) {
      let states = try await ledger.states(of: charges)
      let outcome = charges.take(from: charges.map { states.saved($0.key) }, at: now)
      if case .refused = outcome { return outcome }
      return .taken([])
    } catch {
      return .unavailable
    }
  }

  /// Takes the allowances of an allowed request from the store: all of them, or none.
  private func take(_ decision: Decision, _ facts: Facts) async -> Ruling {
    let charges = decision.charges
    let taking = await ledger.take(charges, at: facts.instant)
    if case .taken(let receipts) = taking.outcome, receipts.count == charges.count {
      return Ruling(decision, taking.outcome, facts)
    }
    // With the store's states, the rules determine which rule refuses, how long to wait, and what rules in
    // audit mode would refuse.
    return Ruling(decision.again(taking.states), taking.outcome, facts)
  }

  /// Evaluates rules for a request that uses no allowances: a repeated request, or one that the rules allowed
  /// before.
  ///
  /// - Throws: The same as `ruling`.
  package func ruleAgain(
    _ facts: Facts, asking questions: Evaluation.Questions, deadline: MonotonicTime? = nil,
    proving prover: NumberProver? = nil
  ) async throws(Problem) -> Ruling {
    let decision = try await decide(
      facts, FetchedStates(), deadline: deadline, asking: questions, proving: prover)
    return Ruling(decision, .taken([]), facts)
  }

  /// The rules' decision with the given allowances. Uses no allowance.
  func decide(
    _ facts: Facts, _ states: any AllowanceStates & Sendable, deadline: MonotonicTime? = nil,
    asking questions: Evaluation.Questions = .all, proving prover: NumberProver? = nil, looksUp: Bool = false
  ) async throws(Problem) -> Decision {
    var evaluation = policy.evaluation(of: facts, asking: questions, isBlocked: isBlocked(facts))
    while true {
      switch evaluation.next(states) {
      case .decided(let decision): return decision
      case .proves(let isEnforced):
        guard let prover else {
          evaluation.answer(.unjudged)
          continue
        }
        let answer: NumberProofAnswer
        do throws(Problem) {
          answer = try await prover()
        } catch {
          guard !isEnforced else { throw error }
          answer = .unavailable
        }
        evaluation.answer(answer)
      case .screens(let query):
        evaluation.answer(await screener?(query, looksUp, deadline) ?? ScreeningAnswer.unasked)
      case .asks(let query):
        switch await remotes.ask(query, deadline: deadline) {
        case .answer(let answer): evaluation.answer(answer)
        case .late:
          guard query.isEnforced else {
            evaluation.skip()
            continue
          }
          throw .policiesTooLate
        case .overloaded(let wait):
          guard query.isEnforced else {
            evaluation.skip()
            continue
          }
          throw .policyOverloaded(retryAfter: wait)
        }
      }
    }
  }

  /// The states of the allowances that the rules may read for a request.
  package func states(for facts: Facts) async -> any AllowanceStates & Sendable {
    let charges = policy.charges(for: facts)
    guard !charges.isEmpty else { return FetchedStates() }
    do throws(StoreError) {
      return try await ledger.states(of: charges)
    } catch {
      // Each rule decides by its `on_store_failure`.
      return UnavailableStates()
    }
  }
}

extension Stop {
  /// The stop with its start, end and reason, for operators.
  package var auditReason: String {
    let (scope, id) = target.parts
    let what = action == .all ? "all requests" : "action \(action.rawValue)"
    let whose = id.isEmpty ? "everyone" : "\(scope) \(id)"
    return "an operator stopped \(what) of \(whose) at \(Instant(seconds: since).rfc3339)"
      + (until.map { " until \(Instant(seconds: $0).rfc3339)" } ?? "") + (reason.map { ": \($0)" } ?? "")
  }
}

extension Problem {
  /// The server started without its store and does not know the stops yet.
  package static let stopsUnknown = Problem(
    .storeUnavailable, "The server is waiting for its database.", tryAgainAfter: 5)
}

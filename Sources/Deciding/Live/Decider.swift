// Decides every request, probe and explanation: kill switch, app, then rules.

package import API
package import Callers
package import Gate
package import HTTP
package import Platform
package import Store

/// Verifies the proof in a request. Throws a problem if the server cannot verify it now.
package typealias NumberProver = @Sendable () async throws(Problem) -> NumberProofAnswer

/// Gets the verdict on a number. It may use a lookup at Talkdesk only if `looksUp` is true.
package typealias NumberScreener =
  @Sendable (
    _ query: ScreeningQuery, _ looksUp: Bool, _ deadline: MonotonicTime?
  ) async -> ScreeningAnswer

/// Decides about requests whose caller is known: kill switch, then app, then rules. Each configuration has its own decider. Stops
/// and the use of allowances outlive it. A class, because every request would copy a structure.
package final class Decider: Sendable {
  package let apps: AppRegistry
  package let policy: Policy
  package let stops: StopBoard
  /// The numbers that operators have blocked. Nil when rules are evaluated without a server.
  package let blocked: BlockedNumbers?
  package let ledger: AllowanceLedger
  let remotes: RemotePolicies
  /// Whether there is a Talkdesk credential, which a server whose apps all have chat desks does without.
  private let hasTalkdesk: Bool
  private let liveAgents: @Sendable () -> Int64?
  private let screener: NumberScreener?

  /// - Parameter liveAgents: How many agents are available now; nil where it is not known.
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

  /// How many agents are available now, for the facts of a request; nil where it is not known, or no rule asks.
  package func agents() -> Int64? { policy.asksAgents ? liveAgents() : nil }

  // MARK: Before the rules

  /// Why a request is refused before any rule is asked.
  package struct Refusal: Error {
    /// The problem for its response.
    package let problem: Problem
    /// The app of the request, if there is one.
    let app: String?
    /// Why, for operators.
    package let reason: String

    /// The code of its problem as that of a denial.
    package var denialCode: DenialCode {
      guard let code = DenialCode(rawValue: problem.code.rawValue) else {
        preconditionFailure("a refusal before the rules with a code that no denial has")
      }
      return code
    }
  }

  /// The app of a request. The kill switch comes first, right after authentication.
  ///
  /// - Parameters:
  ///   - applicant: Who asks.
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

  /// The result of the rules without a wait.
  package enum AtOnce: ~Copyable {
    case ruled(Ruling)
    /// A remote policy or the store must be asked: call `ruling`, with what is known so far. Nothing has been taken.
    case undecided(Preliminary)
  }

  /// What the rules say before a remote policy or the store is asked.
  package struct Preliminary: Sendable {
    /// Nil where more than the taking of allowances is left to ask.
    fileprivate let allowed: Decision?
  }

  /// Asks the rules without a wait.
  ///
  /// - Parameter takes: Whether an allowed request takes from allowances; a probe takes nothing.
  package func ruleAtOnce(_ facts: Facts, taking takes: Bool) -> AtOnce {
    let states = PresumedStates()
    var evaluation = policy.evaluation(of: facts, isBlocked: isBlocked(facts))
    guard case .decided(let decision) = evaluation.next(states) else {
      return .undecided(Preliminary(allowed: nil))
    }
    guard states.wereAsked else { return .ruled(Ruling(decision, .taken([]), facts)) }
    // An allowed request takes at once: the store's states then decide about it.
    return .undecided(Preliminary(allowed: takes && decision.denial == nil ? decision : nil))
  }

  /// Asks the rules, remote policies among them, and the store.
  ///
  /// - Parameters:
  ///   - known: What `ruleAtOnce` has found; nil to begin with that.
  ///   - deadline: The deadline of the response; nil for none.
  ///   - prover: Verifies the proof of a request that uses no allowance. Nil without a proof.
  /// - Throws: A problem if there is no decision: too many requests wait for a policy, or the deadline passed. Then nothing has been
  ///   taken.
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
    // No remote policy is asked about a request that an earlier rule refuses. Brakes come last, so they can wait for the taking.
    let isKnown = !policy.charges(for: facts, taking: true).isEmpty
    let saved = isKnown ? await states(for: facts) : FetchedStates()
    var decision = try await decide(facts, saved, deadline: deadline)
    if decision.waits, !isKnown { decision.wait(facts, await states(for: facts)) }
    return await take(decision, facts)
  }

  /// Asks the rules about a request that makes a record. Its grant has the charges, which the store takes with the record: one that is
  /// exhausted already refuses the request here, and one that others exhaust meanwhile refuses it there.
  ///
  /// - Throws: As `ruling` does.
  package func rulingOfRecord(
    _ facts: Facts, deadline: MonotonicTime? = nil, proving prover: NumberProver? = nil
  ) async throws(Problem) -> Ruling {
    let saved = await states(for: facts)
    return Ruling(
      withRecord: try await decide(facts, saved, deadline: deadline, proving: prover, looksUp: true), facts)
  }

  /// Only the facts of a callback have a number.
  private func isBlocked(_ facts: Facts) -> Bool {
    guard let blocked else { return false }
    return blocked.contain(facts.phone)
  }

  /// Whether the proof of a request that takes nothing could be used now.
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

  /// Takes the allowances of an allowed request from the store, all or none.
  private func take(_ decision: Decision, _ facts: Facts) async -> Ruling {
    let charges = decision.charges
    let taking = await ledger.take(charges, at: facts.instant)
    if case .taken(let receipts) = taking.outcome, receipts.count == charges.count {
      return Ruling(decision, taking.outcome, facts)
    }
    // The states say which rule refuses, how long to wait, and what rules in audit mode would refuse.
    return Ruling(decision.again(taking.states), taking.outcome, facts)
  }

  /// Asks rules about a request that takes no allowances: one that was made before, or that the rules have allowed before.
  ///
  /// - Throws: As `rule` does.
  package func ruleAgain(
    _ facts: Facts, asking questions: Evaluation.Questions, deadline: MonotonicTime? = nil,
    proving prover: NumberProver? = nil
  ) async throws(Problem) -> Ruling {
    let decision = try await decide(
      facts, FetchedStates(), deadline: deadline, asking: questions, proving: prover)
    return Ruling(decision, .taken([]), facts)
  }

  /// The rules' decision with the given allowances. Takes nothing.
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

  /// The states of the allowances that a decision on a request may read.
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

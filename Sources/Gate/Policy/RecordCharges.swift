// The charges of a request that creates a record, such as a callback. The store takes them in the transaction
// that saves the record.

import Synchronization

/// The charges that an allowed request still has to take. The store takes them and saves the request's record
/// in one transaction: both happen, or neither does.
public final class RecordCharges: Sendable {
  private struct State {
    var receipts: [AllowanceReceipt] = []
    var refusal: (index: Int, states: [AllowanceState?])?
    var time: Instant
  }

  /// The charges. The store takes all of them or none.
  public let charges: [AllowanceCharge]
  /// The facts of the request.
  public let facts: Facts
  private let decision: Decision
  private let state: Mutex<State>

  init(_ clearance: Clearance, of decision: Decision, at now: Instant) {
    charges = clearance.charges
    facts = clearance.facts
    self.decision = decision
    state = Mutex(State(time: now))
  }

  /// Takes every charge inside the transaction that saves the record. The transaction may run more than once;
  /// the last result counts.
  ///
  /// - Parameter states: The saved state of each charge's key, in the order of `charges`.
  public func take(from states: [AllowanceState?], at now: Instant) -> ChargeOutcome {
    let outcome = charges.take(from: states, at: now)
    state.withLock { state in
      state = State(time: now)
      switch outcome {
      case .taken(let receipts): state.receipts = receipts
      case .refused(let index, let states): state.refusal = (index, states)
      case .unavailable: break
      }
    }
    return outcome
  }

  /// Notes that nothing was taken, because the record was refused for another reason.
  public func takeNothing() { state.withLock { $0 = State(time: $0.time) } }

  /// The receipts of the charges taken with the record. If the outcome of the transaction is unknown, these
  /// charges may or may not have been taken.
  public var receipts: [AllowanceReceipt] { state.withLock { $0.receipts } }

  /// Whether saving the record used the proof. A rule in audit mode also allows a proof that was used before.
  public var usesProof: Bool { receipts.contains { $0.rule.name == Rule.numberProof } }

  /// The status of the caller's allowances, for the fields of the response.
  public var statuses: [AllowanceStatus] {
    let (receipts, time) = state.withLock { ($0.receipts, $0.time) }
    return receipts.statuses(at: time)
  }

  /// The denial and the verdicts of all rules if an allowance was exhausted when the store was about to save
  /// the record; nil otherwise.
  public var refusal: (denial: Denial, verdicts: RuleVerdicts)? {
    let (refusal, time) = state.withLock { ($0.refusal, $0.time) }
    guard let refusal else { return nil }
    let refused = ChargeOutcome.refused(index: refusal.index, states: refusal.states)
    guard case .refused(let settled) = decision.settled(refused, at: time), let denial = settled.denial else {
      preconditionFailure("a refused charge without a denial")
    }
    return (denial, settled.verdicts)
  }
}

extension Decision {
  /// The final decision on a request that creates a record. The store takes the charges when it saves the
  /// record (`Grant.charges`).
  public func settledWithRecord(at now: Instant) -> Settled {
    guard case .allow(let clearance) = outcome else { return .refused(self) }
    let charges =
      clearance.charges.isEmpty ? nil : RecordCharges(clearance, of: self, at: now)
    return .granted(self, clearance.grant([], charges, at: now))
  }
}

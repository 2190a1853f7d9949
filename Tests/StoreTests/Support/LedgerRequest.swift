// Makes requests to a ledger for the tests as the gateway does.

import Gate
import Synchronization

@testable import Store

/// A request as the gateway makes it: decide, take at once where that can be, else by the store.
struct LedgerRequest {
  var outcome: ChargeOutcome
  var decision: Decision
  var grant: Granted?
  /// Whether it needed no store.
  var isImmediate: Bool

  var retryAfter: Int64? { decision.denial?.retryAfter }
  var remaining: Int64? { grant?.statuses.first?.count.remaining }
}

extension AllowanceLedger {
  /// Makes a request, as the gateway does.
  func request(
    _ allowances: Allowances, _ caller: String = "ios-app", at now: Instant
  ) async throws -> LedgerRequest {
    let view = view(at: now)
    var decision = allowances.policy.decide(allowances.facts(caller, at: now), states: view)
    var isImmediate = true
    if view.isIncomplete {
      isImmediate = false
      let facts = allowances.facts(caller, at: now)
      do {
        let states = try await states(of: allowances.policy.charges(for: facts), at: now)
        decision = allowances.policy.decide(facts, states: states)
      } catch {
        decision = allowances.policy.decide(facts, states: UnavailableStates())
      }
    }
    guard case .allow(let clearance) = decision.outcome else {
      return LedgerRequest(outcome: .unavailable, decision: decision, grant: nil, isImmediate: isImmediate)
    }
    let outcome: ChargeOutcome
    if let taken = view.take(clearance.charges) {
      outcome = taken
    } else {
      isImmediate = false
      outcome = await take(clearance.charges, at: now)
    }
    let (settled, grant) = decision.settled(outcome, at: now).parts()
    return LedgerRequest(outcome: outcome, decision: settled, grant: grant, isImmediate: isImmediate)
  }

  /// Waits for the refills under way.
  func settle() async {
    while refilling.load(ordering: .acquiring) > 0 { await Task.yield() }
  }
}

/// What a grant says. Nothing copies a grant: tests look at this.
struct Granted: Sendable {
  let receipts: [AllowanceReceipt]
  let statuses: [AllowanceStatus]
  let phone: E164?

  init(_ grant: borrowing Grant) {
    receipts = grant.receipts
    statuses = grant.statuses
    phone = grant.phone
  }
}

extension Decision.Settled {
  /// The decision, and what its grant says.
  consuming func parts() -> (decision: Decision, grant: Granted?) {
    switch consume self {
    case .granted(let decision, let grant): (decision, Granted(grant))
    case .refused(let decision): (decision, nil)
    }
  }
}

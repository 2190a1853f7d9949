// Makes requests to a ledger for the tests as the gateway does.

import Gate

@testable import Store

/// A request as the gateway makes it: decide, take allowances from the store, and decide again if one was
/// missing.
struct LedgerRequest {
  var decision: Decision
  var grant: Granted?

  var retryAfter: Int64? { decision.denial?.retryAfter }
  var remaining: Int64? { grant?.statuses.first?.count.remaining }
}

extension AllowanceLedger {
  /// Makes a request, as the gateway does.
  func request(
    _ allowances: Allowances, _ caller: String = "ios-app", at now: Instant
  ) async throws -> LedgerRequest {
    let facts = allowances.facts(caller, at: now)
    let presumed = PresumedStates()
    let first = allowances.policy.decide(facts, states: presumed)
    guard case .allow(let clearance) = first.outcome else {
      let charges = allowances.policy.charges(for: facts)
      let decision =
        presumed.wereAsked ? allowances.policy.decide(facts, states: try await states(of: charges)) : first
      return LedgerRequest(decision: decision)
    }
    let taking = await take(clearance.charges, at: now)
    let (settled, grant) = first.again(taking.states).settled(taking.outcome, at: now).parts()
    return LedgerRequest(decision: settled, grant: grant)
  }
}

/// A copy of what a grant contains. A `Grant` itself cannot be copied.
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
  /// The decision, and a copy of its grant.
  consuming func parts() -> (decision: Decision, grant: Granted?) {
    switch consume self {
    case .granted(let decision, let grant): (decision, Granted(grant))
    case .refused(let decision): (decision, nil)
    }
  }
}

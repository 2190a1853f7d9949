// Takes allowances from a store in memory without waiting, as the ledger does with any store.

import Gate
import Store

extension MemoryStore {
  /// Takes all charges of a request; a refusal would be the benchmark's own mistake.
  func take(_ charges: [AllowanceCharge], at now: Instant) -> ChargeOutcome {
    update(charges.map(\.key)) { states in
      let outcome = charges.take(from: states, at: now)
      guard case .taken(let receipts) = outcome, receipts.count == charges.count else {
        preconditionFailure("not every allowance was taken")
      }
      return AllowanceUpdate(
        writes: receipts.map { .put($0.taken, expiry: $0.plan.expiry(of: $0.taken)) }, result: outcome)
    }
  }
}

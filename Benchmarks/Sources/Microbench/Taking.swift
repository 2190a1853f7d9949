// Counts allowances as a store does, without the store's own work.

import Gate
import Store

/// The states of allowances, for benchmarks of the rules alone.
final class Counts {
  private var states: [AllowanceKey: AllowanceState] = [:]

  /// Takes all charges of a request; a refusal would be the benchmark's own mistake.
  func take(_ charges: [AllowanceCharge], at now: Instant) -> ChargeOutcome {
    let outcome = charges.take(from: charges.map { states[$0.key] }, at: now)
    guard case .taken(let receipts) = outcome, receipts.count == charges.count else {
      preconditionFailure("not every allowance was taken")
    }
    for receipt in receipts { states[receipt.key] = receipt.taken }
    return outcome
  }
}

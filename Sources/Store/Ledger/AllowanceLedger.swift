// Counts requests against rates and quotas in the store: each take and each return is one round trip.

public import Gate

/// Takes and returns allowances in a store for requests (docs/decisions/0034-exact-allowances.md).
///
/// The steps of a request:
///
/// 1. `policy.decide(facts, states: PresumedStates())`. If this looked up no allowance, nothing more is
///    needed.
/// 2. `await ledger.take(clearance.charges, at: now)` takes all charges or none, from the current states in
///    the store.
/// 3. If an allowance was exhausted, `decision.again` decides with the states that the store had.
/// 4. `decision.settled(outcome, at: now)`, and `ledger.giveBack` if the grant is not used.
public struct AllowanceLedger: Sendable {
  private let store: any Store

  public init(store: any Store) { self.store = store }

  /// The result of taking the charges of a request.
  public struct Taking: Sendable {
    /// Whether the charges were taken.
    public let outcome: ChargeOutcome
    /// The states for the decision: those right before the charges were taken, or `UnavailableStates` if the
    /// store failed.
    public let states: any AllowanceStates & Sendable
  }

  /// Takes all charges of a request or none, in one transaction with the charges of other waiting requests.
  /// The outcome is `unavailable` if the store fails, or if this machine's clock is known to be wrong.
  public func take(_ charges: [AllowanceCharge], at now: Instant) async -> Taking {
    guard !charges.isEmpty else { return Taking(outcome: .taken([]), states: FetchedStates()) }
    do throws(StoreError) {
      try store.health.checkClock()
      let (outcome, states) = try await store.update(charges.map(\.key), at: now) { states, now in
        let outcome = charges.take(from: states, at: now)
        return AllowanceUpdate(
          writes: charges.writes(of: outcome), result: (outcome: outcome, states: states))
      }
      return Taking(outcome: outcome, states: Self.fetched(charges, states))
    } catch {
      return Taking(outcome: .unavailable, states: UnavailableStates())
    }
  }

  /// The states of allowances in the store, for decisions that do not take charges.
  public func states(of charges: [AllowanceCharge]) async throws(StoreError) -> FetchedStates {
    Self.fetched(charges, try await store.states(of: charges.map(\.key)))
  }

  private static func fetched(_ charges: [AllowanceCharge], _ states: [AllowanceState?]) -> FetchedStates {
    FetchedStates(
      Dictionary(
        zip(charges.map(\.key), states.map { $0.map { .state($0) } ?? .unused }),
        uniquingKeysWith: { first, _ in first }))
  }

  /// Gives charges back, also to a rate that other requests have used since. If the store fails, the charges
  /// stay counted.
  public func giveBack(_ receipts: [AllowanceReceipt], at now: Instant) async {
    guard !receipts.isEmpty else { return }
    do throws(StoreError) {
      try await store.update(receipts.map(\.key), at: now) { states, now in
        AllowanceUpdate(writes: receipts.returns(to: states, at: now), result: ())
      }
    } catch {
      // The charges stay counted, as after a crash. Callers never get more than they are allowed.
    }
  }
}

extension AllowanceLedger {
  /// Resets all allowances in memory to unused, for a sandbox whose clock is set back. Other stores stay
  /// unchanged.
  public func forgetMemory() { if store.sharing == .process { store.forgetAllowances() } }
}

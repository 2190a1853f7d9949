// The view that one request has of its allowances.

public import Gate

/// A request's view: it answers a policy at once, records whether it knew the answers, and takes the charges
/// of the decision.
public final class LedgerView: AllowanceStates {
  private let ledger: AllowanceLedger
  public let leavesBrakesToTaking: Bool
  private var look: Look

  /// The mutable state, in one struct: Swift checks exclusivity at each access to a variable of a class.
  private struct Look {
    var now: Instant
    /// The ids that were looked up, in order.
    var seen: [LocalID] = []
    var isIncomplete = false

    @inline(__always) mutating func lookup(_ key: borrowing AllowanceKey, _ ledger: AllowanceLedger)
      -> AllowanceLookup
    {
      let id = ledger.id(of: key)
      // Enough for most policies: growing step by step would allocate four times.
      if seen.isEmpty { seen.reserveCapacity(8) }
      seen.append(id)
      if let known = ledger.lookup(id, at: now) { return known }
      isIncomplete = true
      return .unused
    }
  }

  /// Whether the policy looked up an allowance that only the store knows. The view called it unused, so the
  /// decision is a guess.
  public var isIncomplete: Bool { look.isIncomplete }

  init(_ ledger: AllowanceLedger, at now: Instant, taking: Bool) {
    self.ledger = ledger
    leavesBrakesToTaking = taking
    look = Look(now: now)
  }

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { look.lookup(key, ledger) }

  /// A lease with a rest on these terms needs no wait. Without such a rest, only the store knows the wait.
  public func waits(for charge: AllowanceCharge) {
    if ledger.isSpent(charge, at: look.now) { look.isIncomplete = true }
  }

  /// Whether its states are exact: with a store beside, other instances may have more or less.
  public var isExact: Bool { ledger.memory != nil || look.seen.isEmpty }

  /// Takes all charges of a request, or refuses them; nil when only the store can (`AllowanceLedger.take`), and then
  /// nothing has been taken.
  ///
  /// - Parameter charges: of a decision that was made with this view.
  public func take(_ charges: [AllowanceCharge]) -> ChargeOutcome? {
    let (now, seen) = (look.now, look.seen)
    let brakes = leavesBrakesToTaking ? charges.reversed().prefix { $0.brake != nil }.count : 0
    // As many as were asked for are the same, in the policy's order; fewer are looked up again. Brakes come last.
    guard charges.count - brakes == seen.count else {
      return ledger.take(charges, charges.map { ledger.id(of: $0.key) }, at: now)
    }
    var ids = seen
    for charge in charges[seen.count...] { ids.append(ledger.id(of: charge.key)) }
    return ledger.take(charges, ids, at: now)
  }
}

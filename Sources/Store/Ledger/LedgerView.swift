// What one request sees of the allowances.

public import Gate

/// A request's view: it answers a policy at once, remembers whether it could, and takes what the policy then names.
public final class LedgerView: AllowanceStates {
  private let ledger: AllowanceLedger
  private var now: Instant
  /// The names of what was asked for, in order.
  private var seen: [LocalID] = []

  /// Whether something was asked for that only the store can tell. It was answered as unused: what was decided on it
  /// is a guess.
  public private(set) var isIncomplete = false

  init(_ ledger: AllowanceLedger, at now: Instant) {
    self.ledger = ledger
    self.now = now
  }

  /// Makes it the view of another request.
  public func reset(at now: Instant) {
    self.now = now
    seen.removeAll(keepingCapacity: true)
    isIncomplete = false
  }

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    let id = ledger.id(of: key)
    // Enough for most policies: growing step by step would allocate four times.
    if seen.isEmpty { seen.reserveCapacity(8) }
    seen.append(id)
    if let known = ledger.lookup(id, at: now) { return known }
    isIncomplete = true
    return .unused
  }

  /// Takes all charges of a request, or refuses them; nil when only the store can (`AllowanceLedger.take`), and then
  /// nothing has been taken.
  ///
  /// - Parameter charges: of a decision that was made with this view, and nothing else since its `reset`.
  public func take(_ charges: [AllowanceCharge]) -> ChargeOutcome? {
    // As many as were asked for are the same, in the policy's order; fewer are looked up again.
    ledger.take(charges, charges.count == seen.count ? seen : charges.map { ledger.id(of: $0.key) }, at: now)
  }
}

// What one request sees of the allowances.

public import Gate

/// A request's view: it answers a policy at once, remembers whether it could, and takes what the policy then names.
public final class LedgerView: AllowanceStates {
  private let ledger: AllowanceLedger
  private var now: Instant
  private var seen: [(key: AllowanceKey, id: LocalID)] = []

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
    seen.append((key, id))
    if let known = ledger.lookup(id, at: now) { return known }
    isIncomplete = true
    return .unused
  }

  /// Takes all charges of a request, or refuses them; nil when only the store can (`AllowanceLedger.take`), and then
  /// nothing has been taken.
  ///
  /// - Parameter charges: of a decision that was made with this view.
  public func take(_ charges: [AllowanceCharge]) -> ChargeOutcome? {
    var ids: [LocalID] = []
    ids.reserveCapacity(charges.count)
    var place = 0
    for charge in charges {
      // The charges stand in the order in which the policy asked.
      while place < seen.count, seen[place].key != charge.key { place += 1 }
      ids.append(place < seen.count ? seen[place].id : ledger.id(of: charge.key))
      place += 1
    }
    return ledger.take(charges, ids, at: now)
  }
}

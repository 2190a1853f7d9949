// Counts requests against rates and quotas: at once from leases where possible, otherwise through the store.

public import Gate
import Synchronization

/// Stands between requests and a store.
///
/// In front of a `MemoryStore` it answers everything exactly and at once. In front of the others it answers from
/// leases: pieces of an allowance that were counted as used, durably, before anyone used them
/// (docs/decisions/0008-leases.md). So a crash wastes some and no limit is exceeded, by one instance or by all of them
/// together.
///
/// On the way of a request, on its loop:
///
/// 1. `let view = ledger.view(at: now)`, and `policy.decide(facts, states: view)`.
/// 2. If `view.isIncomplete`, the store has to be asked: in a task, decide again with
///    `try await ledger.states(of: policy.charges(for: facts), at: now)`, or with `UnavailableStates` if that
///    throws, and take by `await ledger.take`.
/// 3. Otherwise `view.take(clearance.charges)`; nil when another request was faster and the store has to be asked:
///    `await ledger.take` in a task.
/// 4. `decision.settled(outcome, at: now)`, and `ledger.giveBack` should nothing come of the grant.
public final class AllowanceLedger: Sendable {
  enum Backing: Sendable {
    case exact(MemoryStore)
    case leased(any Store, LeaseBook)
  }

  let backing: Backing
  /// The backing again: looking at a reference costs less than taking an enumeration apart.
  let memory: MemoryStore?
  let book: LeaseBook?
  /// How many refills are under way.
  let refilling = Atomic<Int>(0)

  /// A ledger for a store; its terms follow from who shares the store unless they are given.
  public init(store: any Store, settings: LeaseSettings? = nil) {
    if let memory = store as? MemoryStore {
      backing = .exact(memory)
      self.memory = memory
      book = nil
    } else {
      let usual: LeaseSettings = store.sharing == .instances ? .shared : .alone
      let book = LeaseBook(settings ?? usual)
      backing = .leased(store, book)
      memory = nil
      self.book = book
    }
  }

  // MARK: At once

  /// A view for one request. It is not for two threads; a loop may keep one and `reset` it.
  ///
  /// - Parameter taking: Whether the request is taken from the allowances by the view where it is allowed. Then brakes are not
  ///   looked up before.
  public func view(at now: Instant, taking: Bool = false) -> LedgerView {
    LedgerView(self, at: now, taking: taking)
  }

  /// Forgets everything that was used, in front of memory only: for a sandbox whose clock goes back.
  public func forgetMemory() { memory?.forgetAllowances() }

  @inline(__always) func id(of key: borrowing AllowanceKey) -> LocalID {
    if let memory { return memory.id(of: key) }
    guard let book else { preconditionFailure("a ledger without memory and without a lease book") }
    return book.id(of: key)
  }

  /// The state as far as this instance knows it; nil if only the store does.
  @inline(__always) func lookup(_ id: LocalID, at now: Instant) -> AllowanceLookup? {
    if let memory { return memory.state(id).map { .state($0) } ?? .unused }
    return book?.state(id, at: now).map { .state($0) }
  }

  /// Whether the lease of an allowance has too little for a request of this plan.
  func isSpent(_ charge: AllowanceCharge, at now: Instant) -> Bool {
    book.map { $0.holding($0.id(of: charge.key), charge.plan, at: now) == .spent } ?? false
  }

  /// Takes all charges or refuses them; nil when only the store can.
  func take(_ charges: [AllowanceCharge], _ ids: [LocalID], at now: Instant) -> ChargeOutcome? {
    guard !charges.isEmpty else { return .taken([]) }
    if let memory { return memory.take(charges, ids, at: now) }
    guard let (outcome, refills) = book?.take(charges, ids, at: now) else { return nil }
    if !refills.isEmpty {
      refilling.add(1, ordering: .relaxed)
      Task {
        await self.refill(refills, at: now)
        self.refilling.subtract(1, ordering: .releasing)
      }
    }
    return outcome
  }
}

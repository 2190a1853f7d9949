// How a ledger gives back allowances: those of failed requests, and leases that are no longer used.

public import Gate

extension AllowanceLedger {
  /// Gives charges back. If the store fails, they stay counted.
  ///
  /// A charge to a lease goes back to the lease, any other to the store. A rate's slot cannot go back to the
  /// store once other requests have taken later slots. Then the ledger keeps it for the next request here.
  public func giveBack(_ receipts: [AllowanceReceipt], at now: Instant) async {
    guard !receipts.isEmpty else { return }
    switch backing {
    case .exact(let memory): for receipt in receipts { memory.giveBack(receipt, at: now) }
    case .leased(let store, let book):
      let rest = receipts.filter { !book.giveBack($0, book.id(of: $0.key), at: now) }
      guard !rest.isEmpty else { return }
      do throws(StoreError) {
        let isBack = try await store.update(rest.map(\.key)) { states in
          Self.giveBack(rest, to: states, at: now)
        }
        for (receipt, isBack) in zip(rest, isBack) where !isBack { await keep(receipt, book, at: now) }
      } catch {
        // It stays counted: wasted, as after a crash, and never too much.
      }
    }
  }

  /// Gives a charge back in the store if possible: a quota's always, a rate's only while no request has taken
  /// a later slot.
  private static func giveBack(
    _ receipts: [AllowanceReceipt], to states: [AllowanceState?], at now: Instant
  ) -> AllowanceUpdate<[Bool]> {
    var update = AllowanceUpdate<[Bool]>(writes: [], result: [])
    for (receipt, state) in zip(receipts, states) {
      let isSafe =
        switch receipt.plan {
        case .quota: true
        case .rate: state == receipt.taken
        }
      let rest = isSafe ? receipt.givenBack(to: state, at: now) : state
      update.writes.append(AllowanceWrite(replacing: state, by: rest, of: receipt.plan))
      update.result.append(isSafe)
    }
    return update
  }

  /// Keeps the slot of a request that got nothing, for the next one here.
  private func keep(_ receipt: AllowanceReceipt, _ book: LeaseBook, at now: Instant) async {
    guard let start = receipt.plan.giveBack(to: receipt.taken, taken: receipt.taken, at: now),
      receipt.plan.requests(from: start, through: receipt.taken, at: now) > 0
    else { return }
    let owner = Lease.Owner(key: receipt.key, plan: receipt.plan)
    let id = book.id(of: receipt.key)
    if let rest = book.add(id, owner, from: start, through: receipt.taken, size: 0, at: now) {
      await giveUp([rest], at: now)
    }
  }

  /// Returns the rest of leases to the store, as far as that is safe.
  func giveUp(_ remainders: [Remainder], at now: Instant) async {
    guard case .leased(let store, _) = backing else { return }
    for start in stride(from: 0, to: remainders.count, by: 128) {
      let some = remainders[start..<min(start + 128, remainders.count)]
      do throws(StoreError) {
        try await store.update(some.map(\.owner.key)) { states in
          AllowanceUpdate(writes: zip(some, states).map { $0.write(to: $1, at: now) }, result: ())
        }
      } catch {
        // It stays counted, as after a crash.
        return
      }
    }
  }

  /// Gives back unused leases; for a task that does so every few seconds.
  public func sweep(at now: Instant) async {
    guard case .leased(_, let book) = backing else { return }
    await giveUp(book.sweep(at: now), at: now)
  }

  /// Gives back all leases, and leases no more: for an orderly end, before the store is closed. Requests are still
  /// answered, by the store alone.
  public func close(at now: Instant) async {
    guard case .leased(_, let book) = backing else { return }
    await giveUp(book.sweep(at: now, isLast: true), at: now)
  }

  /// How many allowances have leases or are known to be exhausted; 0 in front of memory, which needs none.
  var leaseCount: Int {
    guard case .leased(_, let book) = backing else { return 0 }
    return book.count
  }
}

extension Remainder {
  /// The store's state after the remainder is returned.
  func write(to state: AllowanceState?, at now: Instant) -> AllowanceWrite {
    guard var state else { return .keep }
    switch owner.plan {
    case .quota:
      guard state.mark == through.mark else { return .keep }
      state.count = max(0, state.count - max(0, through.count - from.count))
    case .rate:
      // Only while no request has taken a place after it: the rule would count those places twice.
      guard state == through else { return .keep }
      state = from
      if state.mark < now.nanosecondsSinceEpoch { return .remove }
    }
    return .put(state, expiry: owner.plan.expiry(of: state))
  }
}

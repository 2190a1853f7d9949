// How a ledger asks its store, and leases more of an allowance in the same operation.

public import Gate

extension AllowanceLedger {
  /// The states of allowances in the store, without the unused rest of this instance's leases. For decisions that take nothing, for
  /// `/availability`, and for requests whose view is incomplete.
  public func states(of charges: [AllowanceCharge], at now: Instant) async throws(StoreError) -> FetchedStates
  {
    var states: [AllowanceKey: AllowanceLookup] = [:]
    var missing: [(charge: AllowanceCharge, left: Int64?)] = []
    for charge in charges {
      let key = charge.key
      switch backing {
      case .exact(let memory): states[key] = memory.state(memory.id(of: key)).map { .state($0) } ?? .unused
      case .leased(_, let book):
        switch book.holding(book.id(of: key), charge.plan, at: now) {
        case .none, .spent: missing.append((charge, nil))
        case .left(let left) where book.settings.isShared: missing.append((charge, left))
        case .left(let left): states[key] = Self.state(charge.plan, left: left, at: now)
        }
      }
    }
    if case .leased(let store, let book) = backing, !missing.isEmpty {
      for ((charge, left), state) in zip(missing, try await store.states(of: missing.map(\.charge.key))) {
        guard let left else {
          book.note(book.id(of: charge.key), state, at: now)
          states[charge.key] = state.map { .state($0) } ?? .unused
          continue
        }
        let others = charge.plan.count(of: state, at: now).remaining
        states[charge.key] = Self.state(charge.plan, left: left + others, at: now)
      }
    }
    return FetchedStates(states)
  }

  private static func state(_ plan: AllowancePlan, left: Int64, at now: Instant) -> AllowanceLookup {
    plan.state(used: max(0, plan.full - left), at: now).map { .state($0) } ?? .unused
  }

  /// Takes all charges of a request or none: from leases where there are some, and from the store. `unavailable` when
  /// the store fails.
  public func take(_ charges: [AllowanceCharge], at now: Instant) async -> ChargeOutcome {
    let ids = charges.map { id(of: $0.key) }
    if let outcome = take(charges, ids, at: now) { return outcome }
    guard case .leased(let store, let book) = backing else {
      preconditionFailure("the memory backing gave no outcome")
    }
    let (here, requests) = book.takeEach(charges, ids, at: now)
    let rest = charges.indices.filter { here[$0] == nil }
    let asked = rest.map { charges[$0] }
    let wanted = rest.map { requests[$0] }
    let share = book.settings.share
    do throws(StoreError) {
      let take = try await store.update(asked.map(\.key)) { states in
        Self.take(asked, wanted, share: share, from: states, at: now)
      }
      switch take.outcome {
      case .taken(let receipts):
        var next = 0
        var all = here
        for (place, index) in rest.enumerated() {
          guard next < receipts.count, receipts[next].key == asked[place].key else {
            book.note(ids[index], take.seen[place], at: now, ends: wanted[place].extra > 0)
            continue
          }
          let receipt = receipts[next]
          all[index] = receipt
          await keep(ids[index], receipt, through: take.kept[next], size: wanted[place].extra, at: now)
          next += 1
        }
        return .taken(all.compactMap { $0 })
      case .refused(let place, let states):
        // Note all of them: `Retry-After` follows from all, and must not follow from an old state of some.
        for (place, index) in rest.enumerated() {
          book.note(ids[index], states[place], at: now, ends: wanted[place].extra > 0)
        }
        await giveBack(here.compactMap { $0 }, at: now)
        // The charges taken here go back. The wait does not depend on them.
        var found = [AllowanceState?](repeating: nil, count: charges.count)
        for (place, index) in rest.enumerated() { found[index] = states[place] }
        return .refused(index: rest[place], states: found)
      case .unavailable: preconditionFailure("a store returned unavailable instead of throwing")
      }
    } catch {
      for (place, index) in rest.enumerated() where wanted[place].extra > 0 { book.settle(ids[index]) }
      await giveBack(here.compactMap { $0 }, at: now)
      return .unavailable
    }
  }

  /// The result of a request at the store: its charges, and what the server leases in addition.
  private struct StoreTake: Sendable {
    var outcome: ChargeOutcome
    /// For each receipt, the state that the store saves: after the charge and the lease.
    var kept: [AllowanceState] = []
    /// For each charge, the store's state before.
    var seen: [AllowanceState?]
  }

  private static func take(
    _ charges: [AllowanceCharge], _ requests: [LeaseBook.LeaseRequest], share: Int64,
    from kept: [AllowanceState?],
    at now: Instant
  ) -> AllowanceUpdate<StoreTake> {
    // Tails go back first, also if the request is then refused: its `Retry-After` counts from there.
    var states = kept
    var writes = [AllowanceWrite](repeating: .keep, count: charges.count)
    for index in charges.indices {
      guard let tail = requests[index].tail, states[index] == tail.through else { continue }
      states[index] = tail.from
      writes[index] = AllowanceWrite(replacing: kept[index], by: tail.from, of: charges[index].plan)
    }
    var take = StoreTake(outcome: charges.take(from: states, at: now), seen: states)
    if case .taken(let receipts) = take.outcome {
      var next = 0
      for index in charges.indices {
        guard next < receipts.count, receipts[next].key == charges[index].key else { continue }
        let plan = charges[index].plan
        let taken = receipts[next].taken
        let through =
          lease(plan, upTo: requests[index].extra, share: share, from: taken, at: now)?.state ?? taken
        take.kept.append(through)
        writes[index] = .put(through, expiry: plan.expiry(of: through))
        next += 1
      }
    }
    return AllowanceUpdate(writes: writes, result: take)
  }

  /// A lease of at most a share of the rest. The remainder is for other requests: a client that retries after `Retry-After` then
  /// succeeds.
  private static func lease(
    _ plan: AllowancePlan, upTo size: Int64, share: Int64, from state: AllowanceState?, at now: Instant
  ) -> (state: AllowanceState, count: Int64)? {
    guard size > 0 else { return nil }
    return plan.take(upTo: min(size, plan.count(of: state, at: now).remaining / share), from: state, at: now)
  }

  /// Puts the lease of a receipt into the book.
  private func keep(
    _ id: LocalID, _ receipt: AllowanceReceipt, through: AllowanceState, size: Int64, at now: Instant
  ) async {
    guard case .leased(_, let book) = backing else { return }
    guard receipt.taken < through else {
      if size > 0 { book.settle(id, quietUntil: Self.later(now)) }
      return book.expireSnapshot(id)
    }
    let plan = receipt.plan
    let rest = book.add(
      id, Lease.Owner(key: receipt.key, plan: plan), from: receipt.taken, through: through, size: size,
      beyond: plan.count(of: through, at: now).remaining, at: now)
    if let rest { await giveUp([rest], at: now) }
  }

  /// Fetches more for leases that are half used, in the background.
  func refill(_ refills: [Refill], at now: Instant) async {
    guard case .leased(let store, let book) = backing else { return }
    let share = book.settings.share
    do throws(StoreError) {
      let leases = try await store.update(refills.map(\.key)) { states in
        var writes: [AllowanceWrite] = []
        var leases: [(from: AllowanceState, through: AllowanceState)?] = []
        for (refill, state) in zip(refills, states) {
          guard case .taken(let first) = refill.plan.take(from: state, at: now),
            let lease = Self.lease(refill.plan, upTo: refill.size, share: share, from: state, at: now)
          else {
            writes.append(.keep)
            leases.append(nil)
            continue
          }
          writes.append(.put(lease.state, expiry: refill.plan.expiry(of: lease.state)))
          leases.append((refill.plan.start(before: first, was: state, at: now), lease.state))
        }
        return AllowanceUpdate(writes: writes, result: leases)
      }
      for (refill, lease) in zip(refills, leases) {
        guard let lease else {
          book.settle(refill.id, quietUntil: Self.later(now))
          continue
        }
        let owner = Lease.Owner(key: refill.key, plan: refill.plan)
        let rest = book.add(
          refill.id, owner, from: lease.from, through: lease.through, size: refill.size,
          beyond: refill.plan.count(of: lease.through, at: now).remaining, at: now)
        if let rest { await giveUp([rest], at: now) }
      }
    } catch {
      // A failed refill costs nothing: a request that needs more gets the error.
      for refill in refills { book.settle(refill.id, quietUntil: Self.later(now)) }
    }
  }

  /// The earliest time to try again after a refill without result.
  private static func later(_ now: Instant) -> Int64 { now.nanosecondsSinceEpoch + 500_000_000 }
}

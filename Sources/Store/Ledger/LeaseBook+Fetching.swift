// How leases are added to the book, refilled and removed.

import Gate
import Synchronization

extension LeaseBook {
  /// A request to the store for a charge that cannot be taken here.
  struct LeaseRequest: Sendable {
    /// How many more than one.
    var extra: Int64 = 0
    /// A piece of a rate that is too short for a request. It has left the book. If the store's state still
    /// equals its end, counting continues from its beginning, and nothing is lost between two leases.
    var tail: Tail?
  }

  /// The ends of a range that is given up.
  struct Tail: Sendable {
    var from, through: AllowanceState
  }

  /// Takes each charge that can be taken here, and lists the requests to the store for the others.
  func takeEach(
    _ charges: [AllowanceCharge], _ ids: [LocalID], at now: Instant
  ) -> (receipts: [AllowanceReceipt?], requests: [LeaseRequest]) {
    var receipts = [AllowanceReceipt?](repeating: nil, count: charges.count)
    var requests = [LeaseRequest](repeating: LeaseRequest(), count: charges.count)
    for (index, charge) in charges.enumerated() {
      pages.with(ids[index]) { page in
        let isHot = page.heat.touch(ids[index], at: now, within: settings.heat)
        let mayLease = isHot && !closed.load(ordering: .relaxed)
        if let place = page.leases.place(of: ids[index]) {
          page.leases.update(place) { lease in
            receipts[index] = takeOne(charge, &lease, at: now)
            if receipts[index] == nil { requests[index] = request(&lease, charge.plan, mayLease, at: now) }
          }
        } else if mayLease, page.leases.count < mostPerPage {
          let place = page.leases.insert(ids[index])
          page.leases.update(place) { requests[index] = request(&$0, charge.plan, true, at: now) }
        }
      }
    }
    return (receipts, requests)
  }

  private func takeOne(_ charge: AllowanceCharge, _ lease: inout Lease, at now: Instant) -> AllowanceReceipt?
  {
    guard lease.isOpen, lease.terms == charge.plan.terms,
      case .taken(let receipts) = [charge].take(from: [lease.from], at: now), var receipt = receipts.first,
      receipt.taken <= lease.through
    else { return nil }
    lease.from = receipt.taken
    lease.used = now.nanosecondsSinceEpoch
    receipt.left = left(lease, after: receipt, at: now)
    return receipt
  }

  private func request(
    _ lease: inout Lease, _ plan: AllowancePlan, _ mayLease: Bool, at now: Instant
  ) -> LeaseRequest {
    var request = LeaseRequest()
    if lease.kind == .range {
      if lease.isOpen, let owner = lease.owner, owner.plan.leavesTail(to: plan) {
        request.tail = Tail(from: lease.from, through: lease.through)
      }
      lease.kind = .none
    }
    let time = now.nanosecondsSinceEpoch
    if mayLease, !lease.isRefilling, time >= lease.quietUntil {
      lease.isRefilling = true
      lease.used = time
      lease.isPassed = false
      request.extra = nextSize(lease, at: time)
    }
    return request
  }

  /// Ends a fetch that brought nothing: no other before a time.
  func settle(_ id: LocalID, quietUntil time: Int64 = 0) {
    pages.with(id) { page in
      guard let place = page.leases.place(of: id) else { return }
      page.leases.update(place) { lease in
        lease.isRefilling = false
        lease.quietUntil = time
      }
    }
  }

  /// Remembers the store's state for a moment. So repeated requests to an exhausted allowance are refused
  /// here, and an audit rule does not cost a trip to the store each time.
  ///
  /// - Parameter ends: whether this also ends a fetch that brought nothing.
  func note(_ id: LocalID, _ state: AllowanceState?, at now: Instant, ends: Bool = false) {
    let state = state ?? Lease.unused
    pages.with(id) { page in
      // Leases have the other half of the slots for themselves.
      guard page.leases.place(of: id) != nil || page.leases.count < mostPerPage / 2 else { return }
      let place = page.leases.insert(id)
      page.leases.update(place) { lease in
        if ends { lease.isRefilling = false }
        // An open lease is worth more.
        guard !lease.isOpen else { return }
        lease.owner = nil
        lease.kind = .known
        lease.from = state
        lease.through = state
        lease.used = now.nanosecondsSinceEpoch
        lease.knownUntil = now.nanosecondsSinceEpoch + Self.snapshotLifetime
      }
    }
  }

  /// After a request took from the store: the earlier snapshot of its state is out of date.
  func expireSnapshot(_ id: LocalID) {
    pages.with(id) { page in
      guard let place = page.leases.place(of: id) else { return }
      page.leases.update(place) { lease in
        lease.isPassed = true
        lease.beyond = 0
        lease.knownUntil = 0
      }
    }
  }

  /// Adds a range that the store has counted.
  ///
  /// - Parameters:
  ///   - size: how many were requested; 0 for a request given back, of which the store does not know.
  ///   - beyond: how many the store has left after it.
  /// - Returns: the part of this range, or of the old one, that does not fit.
  func add(
    _ id: LocalID, _ owner: Lease.Owner, from: AllowanceState, through: AllowanceState, size: Int64,
    beyond: Int64 = 0, at now: Instant
  ) -> Remainder? {
    let new = Remainder(owner: owner, from: from, through: through)
    return pages.with(id) { page in
      let place = page.leases.place(of: id)
      guard !closed.load(ordering: .relaxed), place != nil || page.leases.count < mostPerPage else {
        if let place { page.leases.update(place) { $0.isRefilling = false } }
        return new
      }
      return page.leases.update(place ?? page.leases.insert(id)) { lease in
        let others = settings.isShared || lease.isPassed ? 0 : beyond
        if size > 0 {
          lease.isRefilling = false
          lease.quietUntil = 0
          lease.size = size
          lease.synced = now.nanosecondsSinceEpoch
        }
        var old: Remainder?
        if lease.isOpen, let kept = lease.owner {
          if kept.terms == owner.terms {
            if lease.through == from {
              lease.extend(through: through, owner.plan)
              lease.beyond = others
              return nil
            }
            if lease.floor == through, lease.from == lease.floor {
              lease.floor = from
              lease.from = from
              return nil
            }
            // Less is left of a quota's period that is over than of the present one: nothing.
            if kept.plan.requests(from: lease.from, through: lease.through, at: now)
              > owner.plan.requests(from: from, through: through, at: now)
            {
              lease.beyond = 0
              return new
            }
          }
          old = Remainder(owner: kept, from: lease.from, through: lease.through)
        }
        lease.owner = owner
        lease.terms = owner.terms
        lease.kind = .range
        lease.floor = from
        lease.from = from
        lease.extend(through: through, owner.plan)
        lease.beyond = others
        lease.used = now.nanosecondsSinceEpoch
        return old
      }
    }
  }

  /// Puts a request back into the range it was taken from, or that follows it; false where there is none.
  func giveBack(_ receipt: AllowanceReceipt, _ id: LocalID, at now: Instant) -> Bool {
    let plan = receipt.plan
    let taken = receipt.taken
    return pages.with(id) { page in
      guard let place = page.leases.place(of: id) else { return false }
      return page.leases.update(place) { lease in
        if lease.kind == .known {
          // There may be a rest again: ask the store.
          lease.knownUntil = 0
          return false
        }
        guard lease.kind == .range, lease.terms == plan.terms, lease.floor <= taken,
          taken <= lease.from,
          let from = plan.giveBack(to: lease.from, taken: taken, at: now)
        else { return false }
        if lease.floor == taken {
          // The request before the range's first: the requests used since move down with the range's
          // beginning.
          guard let floor = plan.giveBack(to: lease.floor, taken: taken, at: now) else { return false }
          lease.floor = floor
        }
        guard lease.floor <= from else { return false }
        lease.from = from
        return true
      }
    }
  }

  /// Removes idle and expired leases; with `isLast` all of them.
  ///
  /// - Returns: the rests of the leases.
  func sweep(at now: Instant, isLast: Bool = false) -> [Remainder] {
    if isLast { closed.store(true, ordering: .relaxed) }
    let time = now.nanosecondsSinceEpoch
    var remainders: [Remainder] = []
    pages.eachPage { page in
      page.leases.purgeAll { lease in
        switch lease.kind {
        case .none: return isLast || !lease.isRefilling
        case .known: return isLast || (time >= lease.knownUntil && !lease.isRefilling)
        case .range:
          guard isLast || (!lease.isRefilling && time - lease.used >= idle) else { return false }
          if let owner = lease.owner, lease.left(owner.plan, at: now) > 0 {
            remainders.append(Remainder(owner: owner, from: lease.from, through: lease.through))
          }
          return true
        }
      }
    }
    return remainders
  }

  /// The number of allowances here.
  var count: Int {
    var count = 0
    pages.eachPage { count += $0.leases.count }
    return count
  }
}

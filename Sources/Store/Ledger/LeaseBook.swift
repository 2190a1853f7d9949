// The leases of this process: taken from at once, refilled and returned beside the requests.

internal import Gate
internal import Platform
internal import Synchronization

/// What an allowance here is, and what is to be fetched for it.
struct Refill: Sendable {
  let id: LocalID
  let key: AllowanceKey
  let plan: AllowancePlan
  let size: Int64
}

/// What is left of a lease that is not kept.
struct Remainder: Sendable {
  let owner: Lease.Owner
  let from: AllowanceState
  let through: AllowanceState
}

/// The table of leases. Nothing here waits or asks the store.
final class LeaseBook: Sendable {
  struct Page: Sendable {
    var leases = CompactTable<Lease>(empty: .empty)
    var heat = HeatSketch()
  }

  let settings: LeaseSettings
  let pages = ShardedPages<Page> { Page() }
  private let maker = LocalIDMaker()
  let closed = Atomic<Bool>(false)
  let mostPerPage: Int
  let idle: Int64
  private let freshness: Int64?
  /// How long what the store said is shown: so often an exhausted allowance costs a trip, whoever hammers.
  static let belief: Int64 = 1_000_000_000

  init(_ settings: LeaseSettings) {
    self.settings = settings
    mostPerPage = max(1, settings.entries / ShardedPages<Page>.shardCount)
    idle = settings.idle.nanosecondsClamped
    freshness = settings.freshness?.nanosecondsClamped
  }

  @inline(__always) func id(of key: borrowing AllowanceKey) -> LocalID { maker.id(of: key) }

  // MARK: At once

  /// The state to show a policy; nil when only the store can tell.
  @inline(__always) func state(_ id: LocalID, at now: Instant) -> AllowanceState? {
    pages.with(id) { page in
      guard let place = page.leases.place(of: id) else { return nil }
      return page.leases.read(place) { lease in
        switch lease.kind {
        case .none: nil
        case .range: lease.isReady(at: now) ? lease.from : nil
        case .known: lease.isBelieved(at: now.nanosecondsSinceEpoch) ? lease.from : nil
        }
      }
    }
  }

  /// Whether there is a range.
  func isLeased(_ id: LocalID) -> Bool {
    pages.with(id) { page in
      page.leases.place(of: id).map { page.leases.read($0) { $0.kind == .range } } ?? false
    }
  }

  /// What may be told of a lease to someone who does not take; nil where a request does not fit into one. Then the store
  /// has to be asked: what is left here is no measure of how long to wait.
  func toldState(_ id: LocalID, _ plan: AllowancePlan, at now: Instant) -> AllowanceState? {
    pages.with(id) { page in
      guard let place = page.leases.place(of: id) else { return nil }
      return page.leases.read(place) { lease in
        guard lease.kind == .range, lease.terms == plan.terms, lease.left(plan, at: now) > 0,
          case .taken = plan.take(from: lease.from, at: now)
        else { return nil }
        return told(plan, from: lease.from, Glimpse(lease), at: now) ?? lease.from
      }
    }
  }

  /// What a request sees of a lease.
  struct Glimpse {
    var kind = Lease.Kind.none
    var through = AllowanceState(mark: 0, count: 0)
    var isTop = false
    var synced: Int64 = 0
    var passed = Lease.nowhere

    init() {}

    init(_ lease: borrowing Lease) {
      kind = lease.kind
      through = lease.through
      isTop = lease.isTop
      synced = lease.synced
      passed = lease.passed
    }
  }

  /// Takes all charges from leases, or refuses them by what the store has just said; nil when only the store can do
  /// it, and then nothing has been taken.
  func take(_ charges: [AllowanceCharge], _ ids: [LocalID], at now: Instant) -> (ChargeOutcome, [Refill])? {
    var states = [AllowanceState?](repeating: nil, count: charges.count)
    var glimpses = [Glimpse](repeating: Glimpse(), count: charges.count)
    var refills: [Refill] = []
    let time = now.nanosecondsSinceEpoch
    let outcome: ChargeOutcome? = pages.withAll(ids) { page, index in
      guard let place = page.leases.place(of: ids[index]) else { return false }
      return page.leases.read(place) { lease in
        guard
          lease.kind == .known
            ? lease.isBelieved(at: time) : lease.isReady(at: now) && lease.terms == charges[index].plan.terms
        else { return false }
        states[index] = lease.from
        glimpses[index] = Glimpse(lease)
        return true
      }
    } decide: {
      switch charges.take(from: states, at: now) {
      case .unavailable: return nil
      case .refused(let index, let states):
        return glimpses[index].kind == .known ? .refused(index: index, states: states) : nil
      case .taken(var receipts):
        for index in charges.indices {
          guard let place = receipts.place(for: charges, index) else {
            // An exhausted audit rule.
            guard glimpses[index].kind == .known else { return nil }
            continue
          }
          let taken = receipts[place].taken
          guard glimpses[index].kind == .range, taken <= glimpses[index].through else { return nil }
          if freshness != nil || !glimpses[index].isTop {
            receipts[place].told = told(receipts[place].plan, from: taken, glimpses[index], at: now)
          }
        }
        return .taken(receipts)
      }
    } write: { page, index, outcome in
      guard case .taken(let receipts) = outcome, let receipt = receipts.place(for: charges, index),
        let place = page.leases.place(of: ids[index])
      else { return }
      let size = page.leases.update(place) { lease -> Int64? in
        lease.from = receipts[receipt].taken
        lease.used = time
        guard lease.isHalfUsed, !lease.isRefilling, time >= lease.quietUntil, !closed.load(ordering: .relaxed)
        else {
          return nil
        }
        lease.isRefilling = true
        return nextSize(lease, at: time)
      }
      if let size {
        refills.append(Refill(id: ids[index], key: charges[index].key, plan: charges[index].plan, size: size))
      }
    }
    return outcome.map { ($0, refills) }
  }

  /// What to tell of what is left. Nil, which is what follows from the state, where nobody else takes; where others do,
  /// what the store had left when it was asked last, if that is fresh; otherwise no more than what is surely here, and
  /// what was left after a request that nobody but this process can have made.
  func told(
    _ plan: AllowancePlan, from: AllowanceState, _ lease: Glimpse, at now: Instant
  ) -> AllowanceState? {
    if lease.isTop, freshness == nil { return nil }
    var count = plan.requests(from: from, through: lease.through, at: now)
    if freshness == nil, lease.through < lease.passed {
      count += plan.count(of: lease.passed, at: now).remaining
    }
    let age = now.nanosecondsSinceEpoch - lease.synced
    // The clock was put back: not all of the lease can be used already.
    if age < 0 { count = min(count, plan.count(of: from, at: now).remaining) }
    if lease.isTop, let freshness, age >= 0, age <= freshness {
      count = max(count, plan.count(of: lease.through, at: now).remaining)
    }
    return plan.state(used: max(0, plan.full - count), at: now)
  }

  /// What to tell with the receipt of a request that the store counted; nil where that follows from the receipt. Nobody
  /// but this process takes, but it may have a lease that was fetched meanwhile, and have used some of it.
  func told(_ id: LocalID, after receipt: AllowanceReceipt, at now: Instant) -> AllowanceState? {
    guard freshness == nil else { return nil }
    return pages.with(id) { page in
      guard let place = page.leases.place(of: id) else { return nil }
      return page.leases.read(place) { lease in
        guard lease.kind == .range, lease.terms == receipt.plan.terms,
          !lease.isTop || lease.from != receipt.taken
        else { return nil }
        return told(receipt.plan, from: lease.from, Glimpse(lease), at: now) ?? lease.from
      }
    }
  }

  /// Four times as many when the last lease was used up at once, half as many when it lasted.
  func nextSize(_ lease: borrowing Lease, at time: Int64) -> Int64 {
    guard lease.size > 0 else { return settings.first }
    let age = time - lease.synced
    if age < 250_000_000 { return min(settings.most, lease.size * 4) }
    return age > 2_000_000_000 ? max(2, lease.size / 2) : min(settings.most, lease.size)
  }
}

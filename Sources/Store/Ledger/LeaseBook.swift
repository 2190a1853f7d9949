// The leases that this process holds; requests take from them without asking the store.

import Gate
import Platform
import Synchronization

/// An allowance with the lease to fetch for it.
struct Refill: Sendable {
  let id: LocalID
  let key: AllowanceKey
  let plan: AllowancePlan
  let size: Int64
}

/// The rest of a lease that is not kept.
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
  /// How long a snapshot of the store's state is used: an exhausted allowance costs at most one query in this time.
  static let snapshotLifetime: Int64 = 1_000_000_000

  init(_ settings: LeaseSettings) {
    self.settings = settings
    mostPerPage = max(1, settings.entries / ShardedPages<Page>.shardCount)
    idle = settings.idle.nanosecondsClamped
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

  /// The known rest of an allowance.
  enum Holding: Equatable {
    /// There is no lease.
    case none
    /// There is a lease, and no request of this plan fits into it. How long to wait, only the store can say.
    case spent
    /// So many requests are certainly left.
    case left(Int64)
  }

  /// The known rest for requests of a plan.
  func holding(_ id: LocalID, _ plan: AllowancePlan, at now: Instant) -> Holding {
    pages.with(id) { page in
      guard let place = page.leases.place(of: id) else { return .none }
      return page.leases.read(place) { lease in
        guard lease.kind == .range else { return .none }
        guard lease.terms == plan.terms, lease.left(plan, at: now) > 0,
          case .taken = plan.take(from: lease.from, at: now)
        else { return .spent }
        // After the clock was put back, not all of the lease can be used already.
        let most = plan.count(of: lease.from, at: now).remaining
        return .left(min(most, Snapshot(lease).left(plan, after: lease.from, at: now)))
      }
    }
  }

  /// A request's view of a lease.
  private struct Snapshot {
    var kind = Lease.Kind.none
    var through = AllowanceState(mark: 0, count: 0)
    var beyond: Int64 = 0

    init() {}

    init(_ lease: borrowing Lease) {
      kind = lease.kind
      through = lease.through
      beyond = lease.beyond
    }

    /// How many are certainly left after a request: the rest of the lease, and of the store beside it.
    func left(_ plan: AllowancePlan, after taken: AllowanceState, at now: Instant) -> Int64 {
      plan.requests(from: taken, through: through, at: now) + beyond
    }
  }

  /// How many are certainly left after a request was taken from a lease.
  func left(_ lease: borrowing Lease, after receipt: AllowanceReceipt, at now: Instant) -> Int64 {
    Snapshot(lease).left(receipt.plan, after: receipt.taken, at: now)
  }

  /// Takes all charges from leases, or refuses them by the store's last state. Returns nil, and takes
  /// nothing, if only the store can decide.
  func take(_ charges: [AllowanceCharge], _ ids: [LocalID], at now: Instant) -> (ChargeOutcome, [Refill])? {
    var states = [AllowanceState?](repeating: nil, count: charges.count)
    var leases = [Snapshot](repeating: Snapshot(), count: charges.count)
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
        leases[index] = Snapshot(lease)
        return true
      }
    } decide: {
      switch charges.take(from: states, at: now) {
      case .unavailable: return nil
      case .refused(let index, let states):
        return leases[index].kind == .known ? .refused(index: index, states: states) : nil
      case .taken(var receipts):
        for index in charges.indices {
          guard let place = receipts.place(for: charges, index) else {
            // An exhausted audit rule.
            guard leases[index].kind == .known else { return nil }
            continue
          }
          let taken = receipts[place].taken
          guard leases[index].kind == .range, taken <= leases[index].through else { return nil }
          receipts[place].left = leases[index].left(receipts[place].plan, after: taken, at: now)
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
        lease.isPassed = false
        return nextSize(lease, at: time)
      }
      if let size {
        refills.append(Refill(id: ids[index], key: charges[index].key, plan: charges[index].plan, size: size))
      }
    }
    return outcome.map { ($0, refills) }
  }

  /// Four times as many when the last lease was used up at once, half as many when it lasted.
  func nextSize(_ lease: borrowing Lease, at time: Int64) -> Int64 {
    guard lease.size > 0 else { return settings.first }
    let age = time - lease.synced
    if age < 250_000_000 { return min(settings.most, lease.size * 4) }
    return age > 2_000_000_000 ? max(2, lease.size / 2) : min(settings.most, lease.size)
  }
}

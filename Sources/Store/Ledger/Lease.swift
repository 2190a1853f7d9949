// A part of an allowance that the store has counted as used and that this process may still use.

import Gate

/// A range of an allowance's states, from the last one used here up to the last one that the store has
/// counted.
///
/// For a quota it is a range of counts within one period. For a rate it is a range of arrival times. Each
/// request occupies its own interval of the range, and none that has already begun. So all instances together
/// never allow more than exact counting in one instance would. A lease that is not used in time loses its
/// value, and so expires.
struct Lease: Sendable {
  /// Whose, and how it is counted.
  final class Owner: Sendable {
    let key: AllowanceKey
    let plan: AllowancePlan
    let terms: UInt64

    init(key: AllowanceKey, plan: AllowancePlan) {
      self.key = key
      self.plan = plan
      terms = plan.terms
    }
  }

  /// The kind of entry for an allowance.
  enum Kind: UInt8, Sendable {
    /// Nothing: it has just been added.
    case none
    /// A range.
    case range
    /// `from` is the store's state of a moment ago. A policy may read it, but no request can be taken from
    /// it.
    case known
  }

  var owner: Owner?
  /// The owner's, at hand.
  var terms: UInt64 = 0
  var kind = Kind.none
  /// Whether more is being fetched.
  var isRefilling = false
  /// How many the store had left after `through`, if only this process takes from it; 0 once a request has.
  var beyond: Int64 = 0
  /// Whether a request was taken from the store during a fetch. The store may have counted it after the
  /// fetched range.
  var isPassed = false
  /// How many the last lease had.
  var size: Int64 = 0
  /// The start of the range. A state below it is not ours, so nothing can be given back there.
  var floor = AllowanceState(mark: 0, count: 0)
  /// The state after the last use here.
  var from = AllowanceState(mark: 0, count: 0)
  /// The state the store has.
  var through = AllowanceState(mark: 0, count: 0)
  /// The last state from which a request fits.
  var last = AllowanceState(mark: 0, count: 0)
  /// When a quota's period ends, in seconds since the epoch; never for a rate, whose times end by themselves.
  var ends: Int64 = .max
  /// When the store last added to it, in nanoseconds since the epoch.
  var synced: Int64 = 0
  /// When it was last used.
  var used: Int64 = 0
  /// Before this no more is fetched.
  var quietUntil: Int64 = 0
  /// Until when a known state is shown.
  var knownUntil: Int64 = 0

  /// An unused slot.
  static let empty = Lease()
  /// The state of a known allowance without a row in the store: unused, for a rate and for a quota.
  static let unused = AllowanceState(mark: 0, count: 0)

  /// Whether a policy may still read the store's state of a moment ago.
  @inline(__always) func isBelieved(at time: Int64) -> Bool {
    // Not longer because the clock was put back.
    kind == .known && used <= time && time < knownUntil
  }

  /// Whether anything may be left; a rate's may have expired.
  @inline(__always) var isOpen: Bool { kind == .range && from < through }

  /// Whether a request fits: the same as `left > 0`, without its divisions.
  @inline(__always) func isReady(at now: Instant) -> Bool {
    guard kind == .range, from <= last else { return false }
    return ends == .max
      ? AllowanceState(mark: now.nanosecondsSinceEpoch, count: 0) <= last : now.seconds < ends
  }

  /// Makes it the range up to a state.
  mutating func extend(through state: AllowanceState, _ plan: AllowancePlan) {
    through = state
    switch plan {
    case .quota(let quota):
      last = AllowanceState(mark: state.mark, count: state.count - 1)
      ends = quota.end(of: state)
    case .rate(let rate):
      // A request takes per / limit nanoseconds, the remainder in parts of the limit.
      let (nanoseconds, parts) = rate.per.quotientAndRemainder(dividingBy: rate.limit)
      let isBorrowed = state.count < parts
      last = AllowanceState(
        mark: state.mark - nanoseconds - (isBorrowed ? 1 : 0),
        count: state.count - parts + (isBorrowed ? rate.limit : 0))
      ends = .max
    }
  }

  /// Whether half has been used.
  @inline(__always) var isHalfUsed: Bool {
    floor.mark == through.mark
      ? (from.count - floor.count) * 2 >= through.count - floor.count
      : from.mark - floor.mark >= (through.mark - floor.mark) / 2
  }

  /// How many requests are left in it.
  func left(_ plan: AllowancePlan, at now: Instant) -> Int64 {
    kind == .range ? plan.requests(from: from, through: through, at: now) : 0
  }
}

extension AllowanceState {
  /// Later arrival, or later period, or more of the same.
  @inline(__always) static func < (a: Self, b: Self) -> Bool {
    a.mark != b.mark ? a.mark < b.mark : a.count < b.count
  }

  @inline(__always) static func <= (a: Self, b: Self) -> Bool { !(b < a) }
}

extension AllowancePlan {
  /// A number that is equal for plans that count alike. A lease under other terms is void.
  var terms: UInt64 {
    switch self {
    case .rate(let rate):
      return mixed(
        mixed(UInt64(bitPattern: rate.limit), UInt64(bitPattern: rate.per)), UInt64(bitPattern: rate.burst))
    case .quota(let quota):
      let period: UInt64 =
        switch quota.period {
        case .day: 1
        case .week: 2
        case .month: 3
        }
      return mixed(UInt64(bitPattern: quota.limit), period)
    }
  }

  /// Whether the rest of a lease, too small for another request of a plan, goes back to the store with that
  /// request. A rate leaves a piece of time. A quota leaves nothing, unless the rule was changed and a whole
  /// lease of the old plan is left.
  func leavesTail(to other: AllowancePlan) -> Bool {
    switch (self, other) {
    case (.rate, .rate): true
    case (.quota, .quota): terms != other.terms
    case (.rate, .quota), (.quota, .rate): false
    }
  }

  /// How many requests fit between two states.
  func requests(from: AllowanceState, through: AllowanceState, at now: Instant) -> Int64 {
    switch self {
    case .quota:
      // Of a period that is over nothing is left.
      guard from.mark == through.mark, from.count < through.count,
        case .taken(let next) = take(from: from, at: now),
        next.mark == from.mark
      else { return 0 }
      return through.count - from.count
    case .rate(let rate):
      // A state is nanoseconds, and a fraction in parts of the limit; a request is `per` parts (AllowanceState).
      let start = max(from, AllowanceState(mark: now.nanosecondsSinceEpoch, count: 0))
      guard start < through else { return 0 }
      // Dividing 128 bits takes many times as long, and seldom has to be.
      let (span, isFar) = through.mark.subtractingReportingOverflow(start.mark)
      let (product, isLarge) = span.multipliedReportingOverflow(by: rate.limit)
      let (sum, isLarger) = product.addingReportingOverflow(through.count - start.count)
      if !isFar, !isLarge, !isLarger { return sum / rate.per }
      let parts =
        (Int128(through.mark) - Int128(start.mark)) * Int128(rate.limit) + Int128(through.count)
        - Int128(start.count)
      return Int64(clamping: parts / Int128(rate.per))
    }
  }

  /// Takes as many requests as there are, up to a number.
  func take(upTo most: Int64, from state: AllowanceState?, at now: Instant) -> (
    state: AllowanceState, count: Int64
  )? {
    guard most > 0, case .taken(var taken) = take(from: state, at: now) else { return nil }
    var count: Int64 = 1
    switch self {
    case .quota(let quota):
      count = max(1, min(most, quota.limit - taken.count + 1))
      taken.count += count - 1
    case .rate:
      while count < most, case .taken(let next) = take(from: taken, at: now) {
        taken = next
        count += 1
      }
    }
    return (taken, count)
  }

  /// The state from which a first request was taken, as far as a lease is concerned: no earlier than now.
  func start(before first: AllowanceState, was state: AllowanceState?, at now: Instant) -> AllowanceState {
    switch self {
    case .quota: return AllowanceState(mark: first.mark, count: first.count - 1)
    case .rate:
      let present = AllowanceState(mark: now.nanosecondsSinceEpoch, count: 0)
      return state.map { max($0, present) } ?? present
    }
  }

  private func max(_ a: AllowanceState, _ b: AllowanceState) -> AllowanceState { a < b ? b : a }
  private func max(_ a: Int64, _ b: Int64) -> Int64 { a < b ? b : a }

  private func mixed(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let (high, low) = (a ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: b ^ 0xD1B5_4A32_D192_ED03)
    return high ^ low
  }
}

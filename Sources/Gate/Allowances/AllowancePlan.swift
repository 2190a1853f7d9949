// Computes the state of a rate or quota after a request is taken or given back. A state is two numbers, which
// is all that stores save.

/// The outcome of taking one request.
public enum AllowanceTaking: Hashable, Sendable {
  /// The request was taken; this is the new state.
  case taken(AllowanceState)
  /// Nothing is left. A request after this many whole seconds succeeds if no other request is faster. The
  /// value is a day outside the zone's table, where a quota has no period.
  case refused(retryAfter: Int64)
}

/// The remaining requests of an allowance and its limit, as `RateLimit` fields show them to clients.
public struct AllowanceCount: Hashable, Sendable {
  /// The number of requests per window; never less than `remaining`.
  public var limit: Int64
  /// The window in seconds.
  public var window: Int64
  /// The number of requests available at once now.
  public var remaining: Int64
  /// The seconds, rounded up. For a quota: until the next period begins. For a rate: until all requests are
  /// available again, or until one is if none is left.
  public var reset: Int64

  public init(limit: Int64, window: Int64, remaining: Int64, reset: Int64) {
    self.limit = limit
    self.window = window
    self.remaining = remaining
    self.reset = reset
  }
}

/// How an allowance is counted. Every function is pure: state and time in, result out. So a store can call it
/// inside its own transaction.
public enum AllowancePlan: Sendable {
  case rate(RateLimit)
  case quota(Quota)

  /// Takes one request from the allowance.
  public func take(from state: AllowanceState?, at now: Instant) -> AllowanceTaking {
    switch self {
    case .rate(let rate): rate.take(from: state, at: now)
    // Outside the zone's table there is no calendar period, so nothing is allowed.
    case .quota(let quota): quota.take(from: state, at: now) ?? .refused(retryAfter: 86_400)
    }
  }

  /// The state after giving back one request; nil if there is no saved state.
  ///
  /// - Parameters:
  ///   - state: the saved state.
  ///   - taken: the state right after the charge, from the receipt.
  public func giveBack(to state: AllowanceState?, taken: AllowanceState, at now: Instant) -> AllowanceState? {
    switch self {
    case .rate(let rate): rate.giveBack(to: state, taken: taken, at: now)
    case .quota(let quota): quota.giveBack(to: state, taken: taken)
    }
  }

  /// The remaining requests at an instant, and the limit.
  public func count(of state: AllowanceState?, at now: Instant) -> AllowanceCount {
    switch self {
    case .rate(let rate): rate.count(of: state, at: now)
    case .quota(let quota): quota.count(of: state, at: now)
    }
  }

  /// The state after taking `used` requests at one instant; nil for 0 requests, and for a quota outside its
  /// zone's table.
  public func state(used: Int64, at now: Instant) -> AllowanceState? {
    switch self {
    case .rate(let rate): rate.state(used: used, at: now)
    case .quota(let quota): quota.state(used: used, at: now)
    }
  }

  /// The number of requests available at once if none was used.
  public var full: Int64 {
    switch self {
    case .rate(let rate): rate.burst
    case .quota(let quota): quota.limit
    }
  }

  /// The time from which a store may delete a state, in seconds since the epoch. From then on the state
  /// counts nothing, even if a reload has changed the rule. A quota per address or phone number is an
  /// exception: if its period becomes longer, it may start again from 0.
  public func expiry(of state: AllowanceState) -> Int64 {
    switch self {
    case .rate(let rate): rate.expiry(of: state)
    case .quota(let quota): quota.expiry(of: state)
    }
  }
}

// Computes how a rate or quota changes with each request, so that stores need not know either.

/// What came of trying to take one request.
public enum AllowanceTaking: Hashable, Sendable {
  /// It was taken; this is to be kept.
  case taken(AllowanceState)
  /// Nothing is left; waiting so many whole seconds is enough, if nobody else takes before.
  case refused(retryAfter: Int64)
}

/// What is left of an allowance, and the policy behind it, as `RateLimit` fields show them to clients.
public struct AllowanceCount: Hashable, Sendable {
  /// How many requests a window has; never fewer than `remaining`.
  public var limit: Int64
  /// The window in seconds.
  public var window: Int64
  /// How many requests could be made at once now.
  public var remaining: Int64
  /// Seconds, rounded up: with nothing left, until something is; else until everything is.
  public var reset: Int64

  /// Makes a count.
  public init(limit: Int64, window: Int64, remaining: Int64, reset: Int64) {
    self.limit = limit
    self.window = window
    self.remaining = remaining
    self.reset = reset
  }
}

/// How an allowance is counted. Every answer is a pure function of a state and a time, so that a store can ask
/// inside its own transaction.
public enum AllowancePlan: Sendable {
  case rate(RateLimit)
  case quota(Quota)

  /// Takes one request from what is left.
  public func take(from state: AllowanceState?, at now: Instant) -> AllowanceTaking {
    switch self {
    case .rate(let rate): rate.take(from: state, at: now)
    // Where nothing can be said of the calendar, nothing is given.
    case .quota(let quota): quota.take(from: state, at: now) ?? .refused(retryAfter: 86_400)
    }
  }

  /// What is to be kept after giving back one request; nil for nothing.
  ///
  /// - Parameters:
  ///   - state: what is kept now.
  ///   - taken: what was kept when it had just been taken, from the receipt.
  public func giveBack(to state: AllowanceState?, taken: AllowanceState, at now: Instant) -> AllowanceState? {
    switch self {
    case .rate(let rate): rate.giveBack(to: state, taken: taken, at: now)
    case .quota(let quota): quota.giveBack(to: state, taken: taken)
    }
  }

  /// What is left.
  public func count(of state: AllowanceState?, at now: Instant) -> AllowanceCount {
    switch self {
    case .rate(let rate): rate.count(of: state, at: now)
    case .quota(let quota): quota.count(of: state, at: now)
    }
  }

  /// What would be kept if so many requests had been taken just now.
  public func state(used: Int64, at now: Instant) -> AllowanceState? {
    switch self {
    case .rate(let rate): rate.state(used: used, at: now)
    case .quota(let quota): quota.state(used: used, at: now)
    }
  }

  /// How many may be used at once when nothing has been.
  public var full: Int64 {
    switch self {
    case .rate(let rate): rate.burst
    case .quota(let quota): quota.limit
    }
  }

  /// From when on a state may be forgotten, in seconds since the epoch: it is worth nothing then, whatever the rule of its name says by
  /// that time.
  public func expiry(of state: AllowanceState) -> Int64 {
    switch self {
    case .rate(let rate): rate.expiry(of: state)
    case .quota(let quota): quota.expiry(of: state)
    }
  }
}

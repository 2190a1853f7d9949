// Rate limits: a number of requests per span of time, spread evenly (the generic cell rate algorithm).

public import Documents
import Platform

/// A rate: `limit` requests per `per`, up to `burst` of them at once.
///
/// The generic cell rate algorithm (ITU-T I.371 annex A, virtual scheduling). The state is only the
/// theoretical arrival time: the time at which all requests taken so far will have been earned. Times are
/// whole nanoseconds plus a fraction in units of 1/`limit`, so that "7 a minute" stays exact forever.
public struct RateLimit: Hashable, Sendable {
  /// The number of requests earned in `per`.
  public let limit: Int64
  /// The time in which `limit` requests are earned, in nanoseconds.
  public let per: Int64
  /// The maximum number of requests at once.
  public let burst: Int64

  /// The time in which one request is earned, the time for a full burst, and the time for a burst less one.
  private let interval, capacity, tolerance: ExactTime
  /// The policy as `RateLimit-Policy` shows it to clients: `quota` requests in `window` whole seconds.
  ///
  /// A burst may be larger than `limit`. So the window is the shortest span of whole seconds that earns both
  /// `limit` and `burst`, and the quota is everything that the window earns. If `per` is whole seconds and
  /// the burst is no larger than `limit`, quota and window are `limit` and `per`.
  private let quota, window: Int64

  /// A point in time or a duration: nanoseconds, plus a fraction in units of 1/`limit`.
  private struct ExactTime: Hashable, Comparable {
    var nanoseconds: Int64
    var part: Int64

    static func < (a: Self, b: Self) -> Bool {
      a.nanoseconds != b.nanoseconds ? a.nanoseconds < b.nanoseconds : a.part < b.part
    }
  }

  /// Creates a rate. Throws if a value is out of range.
  ///
  /// - Parameters:
  ///   - limit: 1 to 1,000,000,000.
  ///   - per: 1 millisecond to 366 days, in nanoseconds.
  ///   - burst: 1 to 1,000,000,000; `limit` if nil. A full burst must be earned within ten years.
  public init(limit: Int64, per: Int64, burst: Int64? = nil) throws(Refusal) {
    guard (1...1_000_000_000).contains(limit) else {
      throw Refusal(
        at: "limit", "a limit of \(limit) is out of range",
        limit == 0
          ? "give at least 1; to stop all requests, use callgate pause" : "give 1 to 1000000000")
    }
    guard (1_000_000...31_622_400_000_000_000).contains(per) else {
      throw Refusal(at: "per", "the time span is out of range", "give \"1ms\" to \"366d\"")
    }
    let burst = burst ?? limit
    guard (1...1_000_000_000).contains(burst) else {
      throw Refusal(at: "burst", "a burst of \(burst) is out of range", "give 1 to 1000000000")
    }
    func span(_ requests: Int64) -> ExactTime? {
      // requests × per / limit, in 128 bits.
      let (high, low) = requests.multipliedFullWidth(by: per)
      guard high >= 0, high < limit else { return nil }
      let (quotient, remainder) = limit.dividingFullWidth((high, low))
      return ExactTime(nanoseconds: quotient, part: remainder)
    }
    let decade: Int64 = 315_360_000_000_000_000
    let (high, low) = burst.multipliedFullWidth(by: per)
    let fits = high < 0 ? false : Int128(high) << 64 + Int128(low) <= Int128(decade) * Int128(limit)
    guard fits, let interval = span(1), let capacity = span(burst), let tolerance = span(burst - 1) else {
      throw Refusal(
        at: "burst", "a burst of \(burst) takes more than ten years to refill",
        "give a smaller burst or a higher limit")
    }
    self.limit = limit
    self.per = per
    self.burst = burst
    self.interval = interval
    self.capacity = capacity
    self.tolerance = tolerance
    let span = Int128(max(limit, burst)) * Int128(per)
    let second = Int128(limit) * 1_000_000_000
    let seconds = (span + second - 1) / second
    window = Int64(seconds)
    // Any number: all have the bounds above, and are multiplied in 128 bits.
    quota = Int64(seconds * second / Int128(per))
  }

  // MARK: Taking and giving back

  /// Takes one request, or returns the whole seconds until one is earned.
  public func take(from state: AllowanceState?, at now: Instant) -> AllowanceTaking {
    let time = clamp(now)
    let arrival = arrival(of: state, at: time)
    guard arrival <= add(time, tolerance) else {
      return .refused(retryAfter: wholeSeconds(from: add(time, tolerance), to: arrival))
    }
    let taken = add(arrival, interval)
    return .taken(AllowanceState(mark: taken.nanoseconds, count: taken.part))
  }

  /// The state after giving back one request; nil if there is no saved state.
  ///
  /// Only the part that the request still occupies is given back, because time earned since then cannot be
  /// used twice. A request given back at once leaves no trace. A request given back later lets at most one
  /// other request pass. If several are given back while newer ones remain, the state does not show how far
  /// each had moved up. The rate may then be exceeded by less than one request.
  ///
  /// - Parameters:
  ///   - state: the saved state.
  ///   - taken: the state right after the charge.
  public func giveBack(to state: AllowanceState?, taken: AllowanceState, at now: Instant) -> AllowanceState? {
    guard let state else { return nil }
    let time = clamp(now)
    let end = min(exact(taken), exact(state))
    let start = max(subtract(end, interval), time)
    guard start < end else { return state }
    let rest = subtract(exact(state), subtract(end, start))
    return AllowanceState(mark: rest.nanoseconds, count: rest.part)
  }

  /// The state after taking `used` requests at an instant, but at most a full burst; nil if `used` is 0.
  public func state(used: Int64, at now: Instant) -> AllowanceState? {
    guard used > 0 else { return nil }
    var time = clamp(now)
    let (whole, rest) = min(used, burst).quotientAndRemainder(dividingBy: limit)
    // Whole limits take whole spans; the rest is a fraction of one.
    time.nanoseconds = time.nanoseconds.addingClamped(whole.multipliedClamped(by: per))
    let (high, low) = rest.multipliedFullWidth(by: per)
    let (quotient, remainder) = limit.dividingFullWidth((high, low))
    time = add(time, ExactTime(nanoseconds: quotient, part: remainder))
    return AllowanceState(mark: time.nanoseconds, count: time.part)
  }

  /// The remaining requests at an instant, and the limit.
  public func count(of state: AllowanceState?, at now: Instant) -> AllowanceCount {
    let time = clamp(now)
    let arrival = arrival(of: state, at: time)
    // The remaining requests are those that fit between the arrival time and the time of a full burst from
    // now.
    let full = add(time, capacity)
    guard arrival < full else {
      return AllowanceCount(
        limit: quota, window: window, remaining: 0,
        reset: wholeSeconds(from: add(time, tolerance), to: arrival))
    }
    let remaining = requests(in: subtract(full, arrival))
    let reset =
      remaining == 0
      ? wholeSeconds(from: add(time, tolerance), to: arrival)
      : (arrival == time ? 0 : wholeSeconds(from: time, to: arrival))
    return AllowanceCount(
      limit: quota, window: window, remaining: remaining, reset: reset)
  }

  /// The number of requests that a span earns.
  @inline(__always) private func requests(in span: ExactTime) -> Int64 {
    let (product, isLarge) = span.nanoseconds.multipliedReportingOverflow(by: limit)
    let (parts, isLarger) = product.addingReportingOverflow(span.part)
    // Dividing 128 bits takes many times as long and is rarely necessary.
    if !isLarge, !isLarger { return parts / per }
    // Any number: 128 bits have room.
    return Int64((Int128(span.nanoseconds) * Int128(limit) + Int128(span.part)) / Int128(per))
  }

  /// The time from which a store may delete a state, in seconds since the epoch: the first whole second after
  /// the theoretical arrival time.
  public func expiry(of state: AllowanceState) -> Int64 { state.mark / 1_000_000_000 + 1 }

  // MARK: Exact time

  /// The theoretical arrival time, at the earliest now.
  ///
  /// The saved time may be more than a full burst ahead: the clock was set back, the rule was changed, or
  /// another instance's clock is ahead. It is used unchanged. If it moved along with now, waiting would never
  /// help. If it were cut, an instance whose clock is ahead would gain the difference again and again, and
  /// exceed the limit.
  @inline(__always) private func arrival(of state: AllowanceState?, at now: ExactTime) -> ExactTime {
    guard let state else { return now }
    let kept = exact(state)
    return kept <= now ? now : kept
  }

  /// A saved state as a time. Its fraction is clamped, because it may belong to another limit from before a
  /// reload.
  @inline(__always) private func exact(_ state: AllowanceState) -> ExactTime {
    ExactTime(nanoseconds: state.mark, part: min(max(state.count, 0), limit - 1))
  }

  /// An instant as a time, clamped to stay a hundred years away from both ends of the 64-bit range.
  @inline(__always) private func clamp(_ now: Instant) -> ExactTime {
    let century: Int64 = 3_155_760_000_000_000_000
    return ExactTime(
      nanoseconds: min(max(now.nanosecondsSinceEpoch, .min + century), .max - century), part: 0)
  }

  @inline(__always) private func add(_ a: ExactTime, _ b: ExactTime) -> ExactTime {
    let part = a.part + b.part
    let sum = a.nanoseconds.addingClamped(b.nanoseconds)
    return part >= limit
      ? ExactTime(nanoseconds: sum.addingClamped(1), part: part - limit)
      : ExactTime(nanoseconds: sum, part: part)
  }

  @inline(__always) private func subtract(_ a: ExactTime, _ b: ExactTime) -> ExactTime {
    let part = a.part - b.part
    let rest = a.nanoseconds.subtractingClamped(b.nanoseconds)
    return part < 0
      ? ExactTime(nanoseconds: rest.subtractingClamped(1), part: part + limit)
      : ExactTime(nanoseconds: rest, part: part)
  }

  /// A span rounded up to whole seconds, at least one: waiting that long is never too short.
  private func wholeSeconds(from start: ExactTime, to end: ExactTime) -> Int64 {
    // A saved time may be any 64-bit number.
    let span = end.nanoseconds.subtractingClamped(start.nanoseconds)
    return max(
      1, span.addingClamped(end.part > start.part ? 1 : 0).addingClamped(999_999_999) / 1_000_000_000)
  }
}

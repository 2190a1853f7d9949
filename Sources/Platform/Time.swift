/// A point on a clock that only goes forward, in nanoseconds since an arbitrary start (CLOCK_BOOTTIME).
///
/// Points are compared on this clock alone, so a change of the wall clock does not end a deadline. `Expiry`
/// also counts the wall clock.
public struct MonotonicTime: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's start.
  public var nanoseconds: Int64
  /// The nanoseconds by which the wall clock had run ahead of this clock since the process began, when this
  /// clock was read; negative if the wall clock was set back. A point that is computed from a reading has the
  /// reading's value.
  public var wallLead: Int64

  /// Makes a point from nanoseconds.
  @inlinable public init(nanoseconds: Int64, wallLead: Int64 = 0) {
    self.nanoseconds = nanoseconds
    self.wallLead = wallLead
  }

  @inlinable public static func == (a: Self, b: Self) -> Bool { a.nanoseconds == b.nanoseconds }
  @inlinable public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(nanoseconds) }
  /// The point a span later; saturates.
  @inlinable public static func + (a: Self, span: Duration) -> Self {
    Self(nanoseconds: a.nanoseconds.addingClamped(span.nanosecondsClamped), wallLead: a.wallLead)
  }
  /// The point a span earlier.
  @inlinable public static func - (a: Self, span: Duration) -> Self { a + (.zero - span) }
  /// The span between two points; saturates.
  @inlinable public static func - (a: Self, b: Self) -> Duration {
    .nanoseconds(a.nanoseconds.subtractingClamped(b.nanoseconds))
  }

  /// The age of something that began at a point: by this clock or by the wall clock, whichever shows more.
  @inlinable public func age(since start: Self) -> Duration {
    .nanoseconds(
      max(nanoseconds.subtractingClamped(start.nanoseconds), onWall.subtractingClamped(start.onWall)))
  }

  /// The same point by the wall clock, on the scale of this clock.
  @inlinable var onWall: Int64 { nanoseconds.addingClamped(wallLead) }
}

/// Arithmetic for times and counts from outside: a saved row, an upstream's response or a clock must not end
/// the process.
extension FixedWidthInteger {
  /// The sum, clamped to the range of the type.
  @inlinable public func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
  /// The difference, clamped to the range of the type.
  @inlinable public func subtractingClamped(_ other: Self) -> Self {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
  /// The product, clamped to the range of the type.
  @inlinable public func multipliedClamped(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}

/// The end of something that is valid for a time, such as a token, a key set or a pause.
///
/// The end has come as soon as one of two clocks shows it:
///
/// 1. The clock of `MonotonicTime`, so that nothing lives longer if the wall clock is set back.
/// 2. The wall clock. If a virtual machine resumes from a snapshot, the first clock stood still meanwhile and
///    the wall clock did not.
public struct Expiry: Equatable, Sendable {
  @usableFromInline var end: MonotonicTime

  /// - Parameter end: A reading of the clock, and the time from then on: `now + lifetime`.
  @inlinable public init(_ end: MonotonicTime) { self.end = end }

  /// An end that has come.
  public static var past: Self { Self(MonotonicTime(nanoseconds: .min)) }
  /// An end that never comes.
  public static var never: Self { Self(MonotonicTime(nanoseconds: .max)) }

  /// Whether a time is before the end.
  @inlinable public static func < (now: MonotonicTime, end: Self) -> Bool {
    now < end.end && now.onWall < end.end.onWall
  }
  /// Whether a time is at the end or before it.
  @inlinable public static func <= (now: MonotonicTime, end: Self) -> Bool {
    now <= end.end && now.onWall <= end.end.onWall
  }
  /// Whether the end has come.
  @inlinable public static func >= (now: MonotonicTime, end: Self) -> Bool { !(now < end) }

  /// The time that is left; negative after the end.
  @inlinable public static func - (end: Self, now: MonotonicTime) -> Duration {
    .zero - now.age(since: end.end)
  }
  /// The end a span earlier.
  @inlinable public static func - (end: Self, span: Duration) -> Self { Self(end.end - span) }

  /// The later of this end and another one, as seen at a time.
  public func extended(to other: Self, at now: MonotonicTime) -> Self {
    self - now < other - now ? other : self
  }
}

extension Duration {
  /// The span in whole nanoseconds, clamped to what 64 bits hold (292 years).
  @inlinable public var nanosecondsClamped: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
  /// The whole seconds of the span, clamped to what 64 bits hold.
  @inlinable public var secondsClamped: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000_000) }
}

/// A point on the wall clock: seconds and nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
public struct UnixTime: Hashable, Comparable, Sendable {
  /// Whole seconds since the epoch.
  public var seconds: Int64
  /// Nanoseconds within the second, 0–999 999 999.
  public var nanoseconds: Int32

  @inlinable public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  @inlinable public static func < (a: Self, b: Self) -> Bool {
    (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
  }
  /// The span from one point to a later one; negative if it is earlier.
  @inlinable public static func - (later: Self, earlier: Self) -> Duration {
    .seconds(later.seconds.subtractingClamped(earlier.seconds))
      + .nanoseconds(Int64(later.nanoseconds).subtractingClamped(Int64(earlier.nanoseconds)))
  }
  /// The point some seconds later, or earlier for a negative number; saturates.
  @inlinable public func advanced(bySeconds span: Int64) -> Self {
    Self(seconds: seconds.addingClamped(span), nanoseconds: nanoseconds)
  }
}

/// A source of time. It is passed in wherever time matters, so that tests step it by hand.
public protocol TimeSource: Sendable {
  /// The current time for ages and deadlines, with the lead of the wall clock.
  var now: MonotonicTime { get }
  /// The current time on the wall clock, for dates that others read.
  var unixTime: UnixTime { get }
  /// Returns at or after a point; throws `CancellationError` if the task is canceled first.
  func sleep(until: MonotonicTime) async throws
}

extension TimeSource {
  /// Sleeps until a point. Returns false if the task was canceled first.
  public func hasSlept(until point: MonotonicTime) async -> Bool {
    do {
      try await sleep(until: point)
      return true
    } catch {
      return false
    }
  }
}

extension Duration {
  /// The span in whole seconds, rounded up and at least 1, so that a wait of that many seconds is long
  /// enough.
  public var wholeSecondsRoundedUp: Int {
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    return max(1, Int(clamping: rest > 0 ? whole + 1 : whole))
  }
}

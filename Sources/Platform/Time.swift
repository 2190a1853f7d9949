/// A point on a clock that only goes forward, in nanoseconds since an arbitrary start (CLOCK_BOOTTIME).
public struct MonotonicTime: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's start.
  public var nanoseconds: Int64

  /// Makes a point from nanoseconds.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  @inlinable public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  /// The point a span later; saturates.
  @inlinable public static func + (a: Self, span: Duration) -> Self {
    let (sum, overflow) = a.nanoseconds.addingReportingOverflow(span.nanosecondsClamped)
    return Self(nanoseconds: overflow ? .max : sum)
  }
  /// The point a span earlier.
  @inlinable public static func - (a: Self, span: Duration) -> Self { a + (.zero - span) }
  /// The span between two points.
  @inlinable public static func - (a: Self, b: Self) -> Duration {
    .nanoseconds(a.nanoseconds - b.nanoseconds)
  }
}

extension Duration {
  /// The span in whole nanoseconds, clamped to what 64 bits hold (292 years).
  @inlinable public var nanosecondsClamped: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, over) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return over ? (seconds < 0 ? .min : .max) : sum
  }
}

/// A point on the wall clock: seconds and nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
public struct UnixTime: Hashable, Comparable, Sendable {
  /// Whole seconds since the epoch.
  public var seconds: Int64
  /// Nanoseconds within the second, 0–999 999 999.
  public var nanoseconds: Int32

  /// Makes a point.
  @inlinable public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  @inlinable public static func < (a: Self, b: Self) -> Bool {
    (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
  }
  /// The span from one point to a later one; negative where it is earlier.
  @inlinable public static func - (later: Self, earlier: Self) -> Duration {
    .seconds(later.seconds - earlier.seconds) + .nanoseconds(later.nanoseconds - earlier.nanoseconds)
  }
}

/// Where time comes from. Passed in wherever time matters, so that tests step it by hand.
public protocol TimeSource: Sendable {
  /// Now, for ages and deadlines.
  var now: MonotonicTime { get }
  /// Now, for dates that others read.
  var unixTime: UnixTime { get }
  /// Returns at or after a point; throws `CancellationError` when the task is cancelled first.
  func sleep(until: MonotonicTime) async throws
}

extension TimeSource {
  /// Sleeps until a point. Whether that came: false when the task was cancelled first.
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
  /// Whole seconds, at least one, such that waiting them is waiting long enough.
  public var wholeSecondsRoundedUp: Int {
    let (seconds, attoseconds) = components
    return max(1, Int(clamping: seconds) + (attoseconds > 0 ? 1 : 0))
  }
}

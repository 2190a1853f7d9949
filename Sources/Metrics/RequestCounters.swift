// Counts responses by route, method and status, and their durations by route.

public import HTTP

/// Counts responses by route, method and status, and their durations by route.
///
/// Every response is counted here, so counting costs three additions to the loop's own memory and no lock.
public final class RequestCounters: Sendable {
  /// The maximum number of routes.
  public static let mostRoutes = 56
  private static let methods = Method.allCases
  private static let statuses = 24
  /// The cells of a route: its buckets, then the sum in microseconds.
  private static let places = 20

  private final class Lane: Sendable {
    let answers = Cells<13_440>()
    let durations = Cells<1120>()
  }

  private let routes: [String]
  private let lanes: [Lane]

  /// Makes counters that all start at 0.
  ///
  /// - Parameters:
  ///   - routes: The words for the routes, by their numbers; the first one also counts every unknown number.
  ///   - lanes: Number of event loops that count.
  public init(routes: [String], lanes: Int) {
    precondition((1...Self.mostRoutes).contains(routes.count), "at most \(Self.mostRoutes) routes")
    precondition(DurationBuckets.count < Self.places && StatusCodes.words.count <= Self.statuses)
    precondition(lanes > 0)
    self.routes = routes
    self.lanes = (0..<lanes).map { _ in Lane() }
  }

  /// Counts one response.
  /// - Parameters:
  ///   - route: The route's number.
  ///   - nanoseconds: The duration; nil to count only the response.
  ///   - lane: The loop that sent the response.
  @inline(__always)
  public func count(route: UInt8, method: Method, status: Int, nanoseconds: Int64?, lane: Int) {
    let lane = lanes[lane % lanes.count]
    let route = Int(route) < routes.count ? Int(route) : 0
    let index = Self.methods.firstIndex(of: method) ?? 0
    lane.answers.add(
      1, at: (route * Self.methods.count + index) * Self.statuses + StatusCodes.index(of: status))
    guard let nanoseconds else { return }
    lane.durations.add(1, at: route * Self.places + DurationBuckets.index(of: nanoseconds))
    // A sum of nanoseconds would overflow within days if 20,000 clients wait for changes.
    lane.durations.add(Int(nanoseconds / 1000), at: route * Self.places + Self.places - 1)
  }

  /// Writes the family of responses: every series that counted any.
  public func appendAnswers(_ name: String, _ help: String, to text: inout MetricsText) {
    text.family(name, .counter, help)
    let answers = lanes.map(\.answers)
    for (route, word) in routes.enumerated() {
      for (index, method) in Self.methods.enumerated() {
        for (status, code) in StatusCodes.words.enumerated() {
          let count = answers.total(at: (route * Self.methods.count + index) * Self.statuses + status)
          guard count > 0 else { continue }
          text.sample(
            [("route", word), ("method", method == .other ? "other" : method.rawValue), ("status", code)],
            count)
        }
      }
    }
  }

  /// Writes the family of durations, for routes that got requests.
  public func appendDurations(_ name: String, _ help: String, to text: inout MetricsText) {
    text.family(name, .histogram, help)
    let durations = lanes.map(\.durations)
    for (route, word) in routes.enumerated() {
      let start = route * Self.places
      let counts = (0..<DurationBuckets.count).map { durations.total(at: start + $0) }
      guard counts.contains(where: { $0 > 0 }) else { continue }
      text.histogram(
        [("route", word)], counts: counts,
        seconds: Double(durations.total(at: start + Self.places - 1)) / 1e6)
    }
  }

  // MARK: Over a span of time

  /// How long the responses of a route took.
  public struct Latency: Sendable {
    /// The route's word.
    public let route: String
    fileprivate var buckets: [Int]

    /// How many responses there were.
    public var count: Int { buckets.reduce(0, +) }

    /// The duration in seconds that a share of the responses did not exceed: the upper bound of its bucket.
    /// Nil beyond the last bound.
    public func bound(_ share: Double) -> Double? {
      let rank = (Double(count) * share).rounded(.up)
      var seen = 0
      for (index, bound) in DurationBuckets.bounds.enumerated() {
        seen &+= buckets[index]
        if Double(seen) >= rank { return Double(bound) / 1e9 }
      }
      return nil
    }
  }

  /// The totals of all buckets of durations, keyed by a number for route and bucket. Zeros are left out.
  public func durationTotals() -> [Int: Int] {
    let durations = lanes.map(\.durations)
    var totals: [Int: Int] = [:]
    for route in routes.indices {
      for bucket in 0..<DurationBuckets.count {
        let count = durations.total(at: route * Self.places + bucket)
        if count > 0 { totals[route * Self.places + bucket] = count }
      }
    }
    return totals
  }

  /// Decodes counts keyed as in `durationTotals`, in the order of the routes.
  public func latencies(_ counts: [Int: Int]) -> [Latency] {
    var buckets: [Int: [Int]] = [:]
    for (number, count) in counts {
      let route = number / Self.places
      buckets[route, default: [Int](repeating: 0, count: DurationBuckets.count)][number % Self.places] +=
        count
    }
    return buckets.sorted { $0.key < $1.key }.map { Latency(route: routes[$0.key], buckets: $0.value) }
  }
}

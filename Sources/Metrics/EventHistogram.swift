// Counts how long rare operations take, in buckets, behind a lock.

import Synchronization

/// Counts rare durations in buckets, by one label or none. Has a lock, so not for every request.
public final class EventHistogram: Sendable {
  private struct Series {
    var counts: [Int]
    /// The sum of the durations. A sum in whole nanoseconds would overflow at 292 years, which outcomes of
    /// old calls reach.
    var seconds = 0.0
  }

  private let name: String
  private let help: String
  private let label: String?
  private let words: [String]
  private let bounds: [Int64]
  private let series: Mutex<[String: Series]>

  /// Makes a family without a label, which starts at 0.
  ///
  /// - Parameter bounds: The upper bounds of its buckets in nanoseconds, ascending.
  public convenience init(_ name: String, _ help: String, bounds: [Int64] = DurationBuckets.bounds) {
    self.init(name, help, label: nil, words: [Self.only], bounds: bounds)
  }

  private static let only = ""

  /// Makes a family whose series all start at 0.
  ///
  /// - Parameter words: The label's values. Events with another value are not counted.
  public init(
    _ name: String, _ help: String, label: String?, words: [String], bounds: [Int64] = DurationBuckets.bounds
  ) {
    self.name = name
    self.help = help
    self.label = label
    self.words = words
    self.bounds = bounds
    let none = Series(counts: [Int](repeating: 0, count: bounds.count + 1))
    series = Mutex(Dictionary(uniqueKeysWithValues: words.map { ($0, none) }))
  }

  /// Counts one duration of a family without a label.
  public func observe(nanoseconds: Int64) { observe(Self.only, nanoseconds: nanoseconds) }

  /// Counts one duration in the series with this value of the label. Ignores a value that was not declared.
  public func observe(_ word: String, nanoseconds: Int64) {
    let nanoseconds = max(0, nanoseconds)
    series.withLock { series in
      series[word]?.counts[bounds.firstIndex { nanoseconds <= $0 } ?? bounds.count] &+= 1
      series[word]?.seconds += Double(nanoseconds) / 1e9
    }
  }

  /// Writes the family.
  /// - Parameter isShown: Whether a series is shown, by its label's value.
  public func append(to text: inout MetricsText, where isShown: (String) -> Bool = { _ in true }) {
    text.family(name, .histogram, help)
    let series = series.withLock { $0 }
    for word in words where isShown(word) {
      guard let kept = series[word] else { continue }
      text.histogram(
        label.map { [($0, word)] } ?? [], counts: kept.counts, of: DurationBuckets.words(of: bounds),
        seconds: kept.seconds)
    }
  }
}

// Counts how long rare operations take, in buckets, behind a lock.

import Synchronization

/// Counts rare durations in buckets, by one label or none. It has a lock, so it is not for every request.
public final class EventHistogram: Sendable {
  private struct Series {
    var counts = [Int](repeating: 0, count: DurationBuckets.count)
    var nanoseconds = 0
  }

  private let name: String
  private let help: String
  private let label: String?
  private let words: [String]
  private let series: Mutex<[String: Series]>

  /// Makes a family without a label, which starts at 0.
  public convenience init(_ name: String, _ help: String) {
    self.init(name, help, label: nil, words: [Self.only])
  }

  private static let only = ""

  /// Makes a family whose series all start at 0.
  ///
  /// - Parameter words: The label's values. Events with another value are not counted.
  public init(_ name: String, _ help: String, label: String?, words: [String]) {
    self.name = name
    self.help = help
    self.label = label
    self.words = words
    series = Mutex(Dictionary(uniqueKeysWithValues: words.map { ($0, Series()) }))
  }

  /// Counts one duration of a family without a label.
  public func observe(nanoseconds: Int64) { observe(Self.only, nanoseconds: nanoseconds) }

  /// Counts one duration.
  public func observe(_ word: String, nanoseconds: Int64) {
    let nanoseconds = max(0, nanoseconds)
    series.withLock { series in
      series[word]?.counts[DurationBuckets.index(of: nanoseconds)] += 1
      series[word]?.nanoseconds += Int(nanoseconds)
    }
  }

  /// Writes the family.
  /// - Parameter isShown: Whether a series is shown, by its label's value.
  public func append(to text: inout MetricsText, where isShown: (String) -> Bool = { _ in true }) {
    text.family(name, .histogram, help)
    let series = series.withLock { $0 }
    for word in words where isShown(word) {
      guard let kept = series[word] else { continue }
      text.histogram(label.map { [($0, word)] } ?? [], counts: kept.counts, nanoseconds: kept.nanoseconds)
    }
  }
}

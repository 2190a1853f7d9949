// Counts rare events by their labels, behind a lock.

import Synchronization

/// Counts rare events: requests to other servers, reloads, failures. Has a lock, so not for events of every
/// request.
public final class EventCounter: Sendable {
  private let name: String
  private let help: String
  private let labels: [String]
  private let series: [[String]]
  private let counts: Mutex<[[String]: Int]>

  /// Makes a family whose series all start at 0, so that the first event shows as growth.
  ///
  /// - Parameters:
  ///   - labels: The names of its labels; none for a single counter.
  ///   - series: The values of the labels, in the same order. An event with other values is counted with
  ///     `other` as its last value.
  public init(_ name: String, _ help: String, labels: [String] = [], series: [[String]] = [[]]) {
    precondition(series.allSatisfy { $0.count == labels.count })
    self.name = name
    self.help = help
    self.labels = labels
    self.series = series
    counts = Mutex([:])
  }

  /// Counts events of one series.
  public func count(_ values: String..., by amount: Int = 1) {
    var values = values
    if !series.contains(values), !values.isEmpty { values[values.count - 1] = "other" }
    counts.withLock { $0[values, default: 0] &+= amount }
  }

  /// How many events one series has counted.
  public func total(_ values: String...) -> Int { counts.withLock { $0[values] ?? 0 } }

  /// Writes the family.
  /// - Parameter isShown: Whether a series is shown, by its labels' values.
  public func append(to text: inout MetricsText, where isShown: ([String]) -> Bool = { _ in true }) {
    text.family(name, .counter, help)
    let counts = counts.withLock { $0 }
    let others = counts.keys.filter { !series.contains($0) }.sorted { $0.lexicographicallyPrecedes($1) }
    for values in series + others where isShown(values) {
      text.sample(zip(labels, values).map { ($0, $1) }, counts[values] ?? 0)
    }
  }
}

// A few counters that many event loops increase at once.

/// A few counters, by one label or none, that many loops add to at once.
public final class LaneCounters: Sendable {
  /// The maximum number of series.
  public static let most = 24

  private let label: String
  private let words: [String]
  private let lanes: [Cells<24>]

  /// Makes counters that all start at 0.
  ///
  /// - Parameters:
  ///   - label: The label's name.
  ///   - words: The label's values, by their numbers.
  ///   - lanes: Number of event loops that count. Code that runs on no loop has one more lane.
  public init(label: String, words: [String], lanes: Int) {
    precondition(words.count <= Self.most)
    self.label = label
    self.words = words
    self.lanes = (0..<lanes + 1).map { _ in Cells<24>() }
  }

  /// Adds to one counter.
  /// - Parameter lane: The loop that counts; nil for code that runs on no loop.
  @inline(__always) public func add(_ amount: Int = 1, to index: Int, lane: Int?) {
    lanes[lane.map { $0 % lanes.count } ?? lanes.count - 1].add(amount, at: index)
  }

  /// The value of one counter.
  public func total(_ index: Int) -> Int { lanes.total(at: index) }

  /// Writes the family, all its series.
  public func append(_ name: String, _ help: String, to text: inout MetricsText) {
    text.family(name, .counter, help)
    for (index, word) in words.enumerated() { text.sample([(label, word)], total(index)) }
  }
}

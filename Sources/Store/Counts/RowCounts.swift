// Sets how often rows are counted for gauges: less often the more there are, so that counting takes a fixed
// share of the store's time.

public enum RowCounts {
  /// The number of rows that one statement counts. Other work waits for at most one such statement: a tenth
  /// of a millisecond in SQLite.
  static let portion = 10_000

  /// The time between two counts: ten seconds, and ten more for each 100,000 rows.
  public static func pause(after rows: Int) -> Duration { .seconds(10 * (1 + rows / 100_000)) }
}

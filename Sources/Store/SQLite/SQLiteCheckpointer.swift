// Moves pages from the log into the database, beside the transactions.

internal import Dispatch
internal import Synchronization

/// Checkpoints a database on a queue and a connection of its own: they take several flushes each, for which transactions would
/// wait otherwise.
///
/// A log that grows while it is checkpointed is not begun anew by SQLite. Under load without a pause the transactions' own
/// connection has to finish what is left, seldom.
final class SQLiteCheckpointer: Sendable {
  /// So many more pages in the log are moved together, 16 MiB: callbacks write the same pages again and again, so the more
  /// wait, the less is to be done for each.
  static let portion = 4000
  /// With so many, 47 MiB, the transactions' own connection finishes.
  static let most = 12_000

  private struct State: Sendable {
    var isRunning = false
    /// How many pages the log had when it was checkpointed last.
    var last = 0
  }

  private let path: String
  private let queue = DispatchQueue(label: "callgate.sqlite.checkpoint")
  private let state = Mutex(State())

  init(path: String) { self.path = path }

  /// The log has so many pages after a transaction.
  func logHas(_ pages: Int) {
    let isDue = state.withLock { state in
      // Begun anew.
      if pages < state.last { state.last = 0 }
      guard !state.isRunning, pages - state.last >= Self.portion else { return false }
      state.isRunning = true
      state.last = pages
      return true
    }
    guard isDue else { return }
    queue.async {
      do throws(StoreError) {
        try SQLiteConnection(path: self.path).checkpoint(.passive)
      } catch {
        // The log only grows meanwhile. Transactions say what is wrong with the file or the disk, and nothing is lost.
      }
      self.state.withLock { $0.isRunning = false }
    }
  }

  /// Returns when nothing is under way.
  func drain() { queue.sync {} }
}

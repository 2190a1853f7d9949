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

  /// What the disk may have lost of the database. Nothing is checkpointed until that is made up for: the next log would be
  /// written over what the database has to be written from.
  let loss = SQLiteLoss()
  private let path: String
  private let queue = DispatchQueue(label: "callgate.sqlite.checkpoint")
  private let state = Mutex(State())
  /// Whoever checkpoints after one that failed has to know that it did.
  private let turn = Mutex(())

  init(path: String) { self.path = path }

  /// Checkpoints on a connection.
  ///
  /// A checkpoint that does not come to the end leaves to the next one to flush what it has written. So a flush that fails
  /// may tell of pages that SQLite has long counted as moved, and never moves again by itself.
  ///
  /// - Returns: whether it came to the end; not where another one is under way, nor after one that failed.
  @discardableResult
  func checkpoint(_ kind: SQLiteConnection.Checkpoint, on connection: SQLiteConnection) throws(StoreError)
    -> Bool
  {
    let isWhole = try turn.withLockIfAvailable { _ throws(StoreError) -> Bool in
      guard !loss.isOpen else { return false }
      do throws(StoreError) {
        return try connection.checkpoint(kind)
      } catch {
        if connection.mayHaveLost { loss.happened() }
        throw error
      }
    }
    return isWhole ?? false
  }

  /// Makes up for what the disk may have lost of the database: who is alone with the file reads all of the log anew, and moves
  /// all of it.
  func mend() throws(StoreError) {
    do throws(StoreError) {
      try loss.mend { () throws(StoreError) in
        guard try SQLiteConnection(path: path, isAlone: true).checkpoint(.truncate) else {
          throw StoreError(.unavailable, "checkpoint", "the file is in use")
        }
      }
    } catch {
      throw StoreError(
        error.kind, "write the database anew",
        "a checkpoint has failed, so this has to be, while no other process uses the file: \(error.message)")
    }
  }

  /// The log has so many pages after a transaction on a connection.
  func logHas(_ pages: Int, on connection: SQLiteConnection) {
    checkpointBeside(pages)
    guard pages >= Self.most else { return }
    do throws(StoreError) { try checkpoint(.passive, on: connection) } catch {
      // As within SQLite's own commits: the transaction stands, and the next one finds what is wrong.
    }
  }

  private func checkpointBeside(_ pages: Int) {
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
        try self.checkpoint(.passive, on: SQLiteConnection(path: self.path))
      } catch {
        // The log only grows meanwhile. The next transaction finds what is wrong with the file or the disk.
      }
      self.state.withLock { $0.isRunning = false }
    }
  }

  /// Returns when nothing is under way.
  func drain() { queue.sync {} }
}

// The stores of SQLite: in one file, which survives restarts and needs no server, and in memory.

package import Platform
package import Store

/// A store in an SQLite file, in write-ahead mode. A function returns when the disk has its change, unless
/// the change only counts (`UpdateJob.counts`).
///
/// One queue owns the connection, and updates that wait are committed together. Two processes may share the
/// file and both count correctly, because each transaction takes the file's lock before it reads.
///
/// A disk that hangs keeps the queue in a system call that nothing can end. Tasks that wait get an error
/// after 5 to 6 s, marked as in doubt if the change may still be made. The store refuses new work at once
/// until the call returns.
///
/// The store in memory works in the same way without a file. Its database ends with the store.
package typealias SQLiteStore = QueuedStore<SQLiteSession>

extension QueuedStore where Session == SQLiteSession {
  /// A store in a file, which is opened at the first use, and created with mode 0600 if it does not exist.
  package convenience init(path: String, clock: any TimeSource = SystemClock()) {
    self.init(path: path, vfs: nil, clock: clock)
  }

  /// An empty store in memory. It is lost when the process ends. If it fails, it stays unavailable until the
  /// process starts again: an empty database in its place would let a callback ring twice.
  package static func inMemory(clock: any TimeSource = SystemClock()) -> SQLiteStore {
    SQLiteStore(path: nil, vfs: nil, sharing: .process, patience: .seconds(5), clock: clock)
  }

  /// A store in a file that SQLite accesses through a given interface.
  ///
  /// - Parameters:
  ///   - vfs: The name of SQLite's interface to the operating system; nil for the default one.
  ///   - patience: The longest wait of callers.
  convenience init(
    path: String, vfs: String?, patience: Duration = .seconds(5), clock: any TimeSource = SystemClock()
  ) {
    self.init(path: path, vfs: vfs, sharing: .machine, patience: patience, clock: clock)
  }

  /// - Parameter path: The file; nil for a database in memory.
  private convenience init(
    path: String?, vfs: String?, sharing: StoreSharing, patience: Duration, clock: any TimeSource
  ) {
    let health = StoreHealth()
    self.init(
      SessionQueue(label: "callgate.sqlite", patience: patience, health: health) {
        SQLiteSession(path: path, vfs: vfs, clock: clock)
      }, shared: (), sharing: sharing, health: health)
  }
}

// The store in one SQLite file, which survives restarts and needs no server.

package import Store

/// A store in an SQLite file, in its write-ahead mode. A function returns when the disk has its change.
///
/// One queue owns the connection, and updates that wait are committed together. Two processes may share the file and are
/// both right, since each transaction takes the file's lock before it reads.
///
/// A disk that hangs keeps the queue in a system call that nothing ends. Tasks that wait get an error after 5 to 6 s, in doubt where
/// the change may be made yet. The store refuses new work at once until the call returns.
package typealias SQLiteStore = QueuedStore<SQLiteSession>

extension QueuedStore where Session == SQLiteSession {
  /// A store in a file, which is opened with the first use, and made, with mode 0600, if it is not there.
  package convenience init(path: String) { self.init(path: path, vfs: nil) }

  /// A store on a disk of the caller's.
  ///
  /// - Parameters:
  ///   - vfs: The name of SQLite's interface to the operating system; nil for the usual one.
  ///   - patience: The longest wait of callers.
  convenience init(path: String, vfs: String?, patience: Duration = .seconds(5)) {
    let health = StoreHealth()
    self.init(
      SessionQueue(label: "callgate.sqlite", patience: patience, health: health) {
        SQLiteSession(path: path, vfs: vfs)
      }, shared: (), sharing: .machine, health: health)
  }
}

// Shows other processes with the same SQLite file that this store is still open.

import Glibc
import Platform
import Store

/// An open store: a random number, and a lock on the byte at that offset of a file beside the database. The
/// kernel releases the lock when the process ends, so other processes know at once that it is gone. A process
/// that is still finishing its work while its successor already runs is alive. Used on the store's queue.
///
/// The lock needs a separate file: to close a descriptor of the database itself would end SQLite's own locks
/// on it (fcntl(2)).
struct SQLiteInstance: ~Copyable {
  /// The number of this open store, never 0.
  let number = Int64.random(in: 1...Int64.max / 4)
  private var lock: ByteLock?

  /// Whether this store has locked its byte.
  var isAlive: Bool { lock != nil }

  /// Locks the byte, and locks it again in the new file after the file was removed or replaced.
  mutating func stayAlive(_ database: String) throws(StoreError) {
    let path = try Self.path(beside: database)
    if lock?.isOn(path) == true { return }
    do throws(SystemError) {
      lock = try ByteLock(path: path, offset: number)
    } catch {
      let kind: StoreError.Kind =
        switch error.code {
        case EROFS: .readOnly
        case ENOSPC, EDQUOT: .full
        default: .unavailable
        }
      throw StoreError(kind, "instances", "\(error)")
    }
  }

  /// Whether another open store is alive. Counts as true while this store has no lock.
  func isAlive(_ other: Int64) throws(StoreError) -> Bool {
    if other == number { return true }
    do throws(SystemError) {
      return try lock?.isHeldElsewhere(other) ?? true
    } catch {
      throw StoreError(.unavailable, "instances", "\(error)")
    }
  }

  /// Releases the lock, so that other processes see this store as gone.
  mutating func end() { lock = nil }

  /// The path of the file with the locks, which is beside SQLite's own files. Links are resolved, so all
  /// processes find the same file.
  private static func path(beside database: String) throws(StoreError) -> String {
    try SQLiteFile.real(database) + "-instances"
  }
}

// Shows other processes with the same SQLite file that this store is still open.

import Glibc
import Platform
import Store

/// A number of this open store's own, and a lock on the byte at that offset of a file beside the database. The kernel
/// ends the lock with the process, so other processes know at once that it is gone. A process that is still finishing
/// its work beside its successor is alive. Used on the store's queue.
///
/// A file of its own: a descriptor of the database itself, once closed, would end SQLite's own locks on it (fcntl(2)).
struct SQLiteInstance: ~Copyable {
  /// Its number, never 0.
  let number = Int64.random(in: 1...Int64.max / 4)
  private var lock: ByteLock?

  /// Whether it has locked its byte.
  var isAlive: Bool { lock != nil }

  /// Locks its byte, and again in the new file after the file was removed or replaced.
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

  /// Whether another one is alive.
  func isAlive(_ other: Int64) throws(StoreError) -> Bool {
    if other == number { return true }
    do throws(SystemError) {
      return try lock?.isHeldElsewhere(other) ?? true
    } catch {
      throw StoreError(.unavailable, "instances", "\(error)")
    }
  }

  /// Says that it is gone.
  mutating func end() { lock = nil }

  /// The file beside the database, where SQLite has its own files: links are followed, so all find the same one.
  private static func path(beside database: String) throws(StoreError) -> String {
    try SQLiteFile.real(database) + "-instances"
  }
}

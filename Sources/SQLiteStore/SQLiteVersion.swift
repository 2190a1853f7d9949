// The version of the SQLite library in use, and whether that version has a known bug that loses data.

import CSQLite

/// The version of SQLite that runs in this process.
public struct SQLiteVersion: Hashable, Sendable, CustomStringConvertible {
  /// The number that `sqlite3_libversion_number` returns: 3051002 is 3.51.2.
  let number: Int

  /// The library in use.
  public static var current: SQLiteVersion { SQLiteVersion(number: Int(sqlite3_libversion_number())) }

  public var description: String { "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)" }

  /// Whether two connections that move the log into the database at the same time may lose transactions: the
  /// "WAL-reset bug" of 3.7.0 to 3.51.2, which was also fixed in 3.44.6 and 3.50.7
  /// (sqlite.org/wal.html#walresetbug).
  ///
  /// One Callgate process has one connection, so the bug needs another process on the same file.
  public var hasWALResetBug: Bool {
    switch number {
    case 3_044_006..<3_045_000, 3_050_007..<3_051_000: false
    default: (3_007_000..<3_051_003).contains(number)
    }
  }
}

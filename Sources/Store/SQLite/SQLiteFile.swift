// Where an SQLite database's files are.

internal import Glibc
internal import Platform

/// The place of a database.
enum SQLiteFile {
  /// The path that links lead to: SQLite puts its own files beside that one.
  static func real(_ database: String) throws(StoreError) -> String {
    guard let real = realpath(database, nil) else {
      let failure = SystemError(operation: "realpath \(database)", code: errno)
      throw StoreError(.unavailable, "realpath", "\(failure)")
    }
    defer { free(real) }
    return String(cString: real)
  }
}

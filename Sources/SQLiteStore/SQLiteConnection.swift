// A connection to one SQLite database.

import CSQLite
import Glibc
import Platform
import Store

/// A connection: opened by `sqlite3_open_v2`, ended by `sqlite3_close_v2` when the last of its statements is
/// gone. SQLite opens it without a mutex, so only one queue uses it.
///
/// A commit returns when the disk has it (`synchronous = FULL`), unless `flush(false)` was called before.
/// SQLite moves the log into the database during a commit when the log reaches 16 MiB (less on a small
/// volume), and when the file's last connection closes.
final class SQLiteConnection {
  /// The length of the log at which SQLite moves it into the database: 4,000 pages are 16 MiB. Callbacks
  /// write the same pages again and again, so a longer log costs fewer flushes for each.
  static let logPages = 4000

  /// The length of the log, in pages, for the volume of a path: at most a quarter of the volume and at most
  /// `logPages`, but at least 32. A log that fills the volume leaves no room for moving it into the database.
  static func logPages(for path: String) -> Int {
    var volume = statvfs()
    guard statvfs(path, &volume) == 0 else { return logPages }
    let size = Double(volume.f_blocks) * Double(volume.f_frsize)
    return Int(min(max(size / 4 / 4096, 32), Double(logPages)))
  }

  let handle: OpaquePointer
  private var isFlushing = true
  /// Whether a failure may have broken the connection. Then do not use it again.
  private(set) var isBroken = false

  /// Opens a file, and creates it if there is none: only its owner may read and write it, whatever the umask.
  /// SQLite gives the log beside it the same mode.
  ///
  /// - Parameter vfs: The name of SQLite's interface to the operating system; nil for the default one.
  convenience init(path: String, vfs: String? = nil) throws(StoreError) {
    try Self.protect(path)
    try self.init(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs)
    let logPages = Self.logPages(for: path)
    for pragma in [
      "journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = \(logPages)",
      "journal_size_limit = \(6144 * logPages)",
    ] {
      try execute("PRAGMA \(pragma)")
    }
  }

  /// Creates a database in memory. Nothing of it reaches a disk, neither temporary tables nor the rollback
  /// journal, and `incremental_vacuum` frees its memory.
  convenience init() throws(StoreError) {
    try self.init(":memory:", ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
    for pragma in ["auto_vacuum = INCREMENTAL", "temp_store = MEMORY", "journal_mode = MEMORY"] {
      try execute("PRAGMA \(pragma)")
    }
  }

  /// Opens an existing file for reading while another process may be using it. Changes neither the database
  /// nor its log. May create the shared-memory file, if a process that was killed has left only a log.
  convenience init(reading path: String, vfs: String? = nil) throws(StoreError) {
    let real = try SQLiteFile.real(path)
    // To read a log, SQLite creates the shared-memory file and leaves it beside the database. It creates none
    // for a file that is `immutable`.
    let uri = "file:\(SQLiteFile.uriPath(real))" + (SQLiteFile.hasLog(real) ? "" : "?immutable=1")
    try self.init(uri, path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, vfs)
  }

  private init(_ name: String, _ path: String, _ flags: Int32, _ vfs: String?) throws(StoreError) {
    guard sqlite3_libversion_number() >= CALLGATE_SQLITE_LEAST_VERSION else {
      throw StoreError(
        .incompatible, "sqlite", "version \(sqlite3_libversion_number()) is older than 3.37")
    }
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
    // A connection that could not be opened has to be closed, too.
    guard let opened else { throw StoreError(.unavailable, "open \(path)", "no memory") }
    handle = opened
    guard code == SQLITE_OK else { throw error("open \(path)", code) }
    sqlite3_busy_timeout(handle, 2000)
    try execute("PRAGMA trusted_schema = OFF")
  }

  deinit { sqlite3_close_v2(handle) }

  /// Sets whether commits from now on wait for the disk. Do not call this within a transaction.
  func flush(_ isFlushing: Bool) throws(StoreError) {
    guard isFlushing != self.isFlushing else { return }
    try execute("PRAGMA synchronous = \(isFlushing ? "FULL" : "NORMAL")")
    self.isFlushing = isFlushing
  }

  /// Moves the whole log into the database and empties it. While another process uses the file, SQLite may
  /// move only a part.
  func emptyLog() throws(StoreError) { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }

  /// Creates the file with mode 0600, or removes the permissions of others from an existing file. An existing
  /// file is not opened: closing it would end the locks that other connections of this process have on it
  /// (fcntl(2)).
  private static func protect(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
      return
    }
    let failure = errno
    guard failure == EEXIST else {
      let error = SystemError(operation: "open \(path)", code: failure)
      switch failure {
      case EROFS: throw StoreError(.readOnly, "open", "\(error)")
      case ENOSPC, EDQUOT: throw StoreError(.full, "open", "\(error)")
      case ENOENT, ENOTDIR:
        throw StoreError(
          .misconfigured, "open", "the folder of \(path) does not exist: make it, or correct the path")
      case EACCES, EPERM:
        throw StoreError(.refused, "open", "\(error): let this user write to the folder, or correct the path")
      default: throw StoreError(.unavailable, "open", "\(error)")
      }
    }
    guard let status = try SQLiteFile.status(path) else { return }
    // Leave a file of another owner unchanged.
    if status.st_mode & 0o077 != 0, status.st_uid == geteuid() {
      _ = chmod(path, status.st_mode & 0o700)
    }
    // SQLite also opens a read-only file, and its later errors name no file.
    try SQLiteFile.requireWritable(path)
  }

  /// Runs a statement once.
  func execute(_ sql: String) throws(StoreError) { try SQLiteStatement(self, sql).run() }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Whether the file is no longer at the path where it was opened: it was removed, replaced or moved.
  var hasMoved: Bool {
    var moved: Int32 = 0
    // A VFS that cannot tell leaves the value unchanged.
    _ = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
    return moved != 0
  }

  /// The number of rows that the last statement changed.
  var changes: Int { Int(sqlite3_changes(handle)) }

  /// The error for the result code of the last call, with SQLite's message.
  func error(_ operation: String, _ code: Int32) -> StoreError {
    // `sqlite3_system_errno` does not cover a COMMIT.
    let systemError = errno
    var words = "\(String(cString: sqlite3_errmsg(handle))) (\(code))"
    let kind: StoreError.Kind =
      switch code & 0xFF {
      case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
      case SQLITE_READONLY: .readOnly
      case SQLITE_FULL: .full
      // SQLite reports FULL only for a write(2) without room, and neither for a quota nor for a flush without
      // room.
      case SQLITE_IOERR where [ENOSPC, EDQUOT].contains(systemError): .full
      case SQLITE_PERM, SQLITE_AUTH: .refused
      case SQLITE_CONSTRAINT, SQLITE_TOOBIG: .rejected
      case SQLITE_ERROR: .incompatible
      default: .unavailable
      }
    switch code & 0xFF {
    // Only the statement or its transaction failed: another process has the lock, there is no room, or the
    // statement or a value is not accepted.
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_CONSTRAINT, SQLITE_TOOBIG, SQLITE_ERROR: break
    default: isBroken = true
    }
    // An operator has to repair the file, and SQLite does not name it.
    switch kind {
    case .damaged, .readOnly, .refused:
      let file = sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? ""
      if !file.isEmpty { words += " in \(file)" }
    case .unavailable, .full, .incompatible, .rejected, .misconfigured: break
    }
    return StoreError(kind, operation, words)
  }
}

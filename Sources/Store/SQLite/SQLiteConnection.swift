// A connection to one SQLite file.

internal import CSQLite
internal import Glibc
internal import Platform

/// A connection: opened by `sqlite3_open_v2`, ended by `sqlite3_close_v2` when the last of its statements is gone.
/// It is opened without a lock of its own, so one queue uses it.
final class SQLiteConnection {
  /// How a checkpoint goes about it.
  enum Checkpoint: String {
    /// As far as it comes without waiting for anybody.
    case passive = "PASSIVE"
    /// To the end, and the log is empty afterwards.
    case truncate = "TRUNCATE"
  }

  let handle: OpaquePointer
  /// Where SQLite writes how many pages the log has.
  private let pages: UnsafeMutablePointer<Int32>

  /// Opens a file, and makes it if there is none: only for its owner to read and write, whatever the umask. The
  /// journal beside it gets the same mode from SQLite.
  ///
  /// - Parameter isAlone: fails where anybody else has the file open. SQLite then takes nothing from the memory that
  ///   connections share, and reads all of the log anew.
  init(path: String, isAlone: Bool = false) throws(StoreError) {
    guard sqlite3_libversion_number() >= CALLGATE_SQLITE_LEAST_VERSION else {
      throw StoreError(
        .incompatible, "sqlite", "version \(sqlite3_libversion_number()) is older than 3.37")
    }
    try Self.protect(path)
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(
      path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nil)
    // Also a connection that could not be opened has to be closed.
    guard let opened else { throw StoreError(.unavailable, "open \(path)", "no memory") }
    handle = opened
    pages = .allocate(capacity: 1)
    pages.initialize(to: 0)
    guard code == SQLITE_OK else { throw error("open \(path)", code) }
    sqlite3_busy_timeout(handle, isAlone ? 0 : 2000)
    callgate_sqlite_checkpoint_at_end(handle, 0)
    if isAlone { try execute("PRAGMA locking_mode = EXCLUSIVE") }
    // NORMAL: checkpoints, and a log that is begun anew, flush what they need; commits are flushed by `SQLiteLog`.
    for pragma in [
      "journal_mode = WAL", "synchronous = NORMAL", "trusted_schema = OFF", "journal_size_limit = 50331648",
    ] {
      try execute("PRAGMA \(pragma)")
    }
    // Takes the place of SQLite's own, which would checkpoint within commits.
    callgate_sqlite_count_pages(handle, pages)
  }

  deinit {
    sqlite3_close_v2(handle)
    pages.deallocate()
  }

  /// How many pages the log had after the last transaction that changed something.
  var logPages: Int { Int(pages.pointee) }

  /// Moves pages from the log into the database.
  ///
  /// - Returns: whether it came to the end: others that use the file may keep it from that.
  @discardableResult func checkpoint(_ kind: Checkpoint) throws(StoreError) -> Bool {
    var isBusy = false
    try SQLiteStatement(self, "PRAGMA wal_checkpoint(\(kind.rawValue))").run { isBusy = $0.integer(0) != 0 }
    return !isBusy
  }

  /// Has all of the log moved into the database, and the log removed, when this closes as the file's last connection. Without
  /// that none is: what fails then, nobody is told.
  func checkpointAtEnd() { callgate_sqlite_checkpoint_at_end(handle, 1) }

  /// Whether the last call failed because the disk did.
  var hasIOError: Bool { sqlite3_extended_errcode(handle) & 0xFF == SQLITE_IOERR }

  /// Whether the disk may have lost what it was given: a write that fails is known to have failed, and is made again.
  var mayHaveLost: Bool { hasIOError && sqlite3_extended_errcode(handle) != SQLITE_IOERR_WRITE }

  /// Makes the file with mode 0600, or takes the others' permissions from one that is there. A file that is there is
  /// not opened: closing it would end the locks this process' other connections have on it (fcntl(2)).
  private static func protect(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
      return
    }
    let failure = errno
    guard failure == EEXIST else {
      let error = SystemError(operation: "open \(path)", code: failure)
      throw StoreError(
        failure == EROFS ? .readOnly : failure == ENOSPC ? .full : .unavailable, "open", "\(error)")
    }
    var status = stat()
    // What is not ours to change is left as it is: whether it can be used shows when it is. So is a folder, which is there
    // by a mistake in the path, and others' too: `/tmp`.
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0,
      status.st_uid == geteuid()
    {
      _ = chmod(path, status.st_mode & 0o700)
    }
  }

  /// Runs a statement once.
  func execute(_ sql: String) throws(StoreError) { try SQLiteStatement(self, sql).run() }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// How many rows the last statement changed.
  var changes: Int { Int(sqlite3_changes(handle)) }

  /// What a result code means, with SQLite's words.
  func error(_ operation: String, _ code: Int32) -> StoreError {
    let words = "\(String(cString: sqlite3_errmsg(handle))) (\(code))"
    let kind: StoreError.Kind =
      switch code & 0xFF {
      case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
      case SQLITE_READONLY: .readOnly
      case SQLITE_FULL: .full
      case SQLITE_PERM, SQLITE_AUTH: .refused
      case SQLITE_CONSTRAINT, SQLITE_TOOBIG: .rejected
      case SQLITE_ERROR: .incompatible
      default: .unavailable
      }
    return StoreError(kind, operation, words)
  }
}

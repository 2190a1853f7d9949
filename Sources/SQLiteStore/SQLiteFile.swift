// Finds and checks the files of an SQLite database.

import Glibc
import Platform
import Store

/// The paths of a database and its files, and their permissions.
enum SQLiteFile {
  /// The path with links resolved: SQLite puts its own files beside that one.
  static func real(_ database: String) throws(StoreError) -> String {
    guard let real = realpath(database, nil) else { throw failure("realpath", database, errno) }
    defer { free(real) }
    return String(cString: real)
  }

  /// The attributes of a file; nil if there is none. Fails for a folder, a device or a socket.
  static func status(_ path: String) throws(StoreError) -> stat? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let what = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "no regular file"
      throw StoreError(.misconfigured, "open", "\(path) is \(what): give the path of a file")
    }
    return status
  }

  /// Fails unless the permissions let this user write to a database, to the files that SQLite and
  /// `SQLiteInstance` put beside it, and to their folder. Nothing is written.
  static func requireWritable(_ database: String) throws(StoreError) {
    _ = try status(database)
    let real = try real(database)
    let folder = String(real[...(real.lastIndex(of: "/") ?? real.startIndex)])
    let files = ["", "-wal", "-shm", "-instances"].map { (real + $0, R_OK | W_OK) }
    for (path, mode) in files + [(folder, W_OK | X_OK)] {
      guard faccessat(AT_FDCWD, path, mode, AT_EACCESS) != 0 else { continue }
      let code = errno
      if code != ENOENT { throw failure("access", path, code) }
    }
  }

  /// The device and inode number of the file at a path; nil if there is none.
  struct Identity: Equatable {
    private let device: dev_t
    private let number: ino_t

    init?(_ path: String) {
      var status = Glibc.stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, number) = (status.st_dev, status.st_ino)
    }
  }

  private static func failure(_ call: String, _ path: String, _ code: Int32) -> StoreError {
    let error = SystemError(operation: "\(call) \(path)", code: code)
    return switch code {
    case EROFS:
      StoreError(.readOnly, call, "\(error): mount it so that the server can write to it")
    case EACCES, EPERM:
      StoreError(
        .refused, call,
        "\(error): let this user write to the database, to the files beside it, and to their folder")
    default: StoreError(.unavailable, call, "\(error)")
    }
  }

  /// Whether a database has a log, with changes that the database may not contain yet.
  static func hasLog(_ real: String) -> Bool {
    var status = stat()
    return stat(real + "-wal", &status) == 0 && status.st_size > 0
  }

  /// A path as written in a URI filename (sqlite.org/uri.html).
  static func uriPath(_ path: String) -> String {
    path.unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "%": text += "%25"
      case "?": text += "%3f"
      case "#": text += "%23"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}

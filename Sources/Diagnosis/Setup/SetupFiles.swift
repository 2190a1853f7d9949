// Writes a set of files into a folder, all or none, and undoes its steps when one fails.

import Glibc
import JOSE

/// Writes files into a folder, all of them or none. Writes each file under another name and then renames it.
/// If a step fails, all are undone.
struct SetupFiles {
  struct File {
    /// The file's path below the folder.
    var name: String
    var bytes: [UInt8]
    /// The file's permissions; nil for the default of new files.
    var mode: mode_t?
    /// Whether the file may replace an existing one.
    var replaces: Bool
  }

  /// The reason why nothing was written.
  package enum Failure: Error, Hashable {
    case exists([String])
    case system(path: String, code: Int32)
    /// Other users could read or replace the files there.
    case unfit(path: String, reason: String)
  }

  /// The steps to undo, last first, if a later step fails.
  private enum Step {
    case madeFolder(String)
    case wrote(String)
    case moved(from: String, to: String)
  }

  private let folder: String
  private let suffix: String
  private var steps: [Step] = []
  private var replaced: [String] = []

  private init(_ folder: String) {
    self.folder = folder
    // A random suffix, so that another user cannot have created files with these names in advance.
    suffix = String(UInt64.random(in: .min ... .max), radix: 36)
  }

  /// The names that are already taken in a folder, even by a symbolic link that leads nowhere.
  static func occupied(_ names: [String], in folder: String) -> [String] {
    names.filter { exists("\(folder)/\($0)") }
  }

  /// Checks that a folder accepts new files, and that its folder for secrets (`closed`) is safe if it exists.
  /// If the folder does not exist yet, checks the nearest one above it.
  static func check(_ folder: String, closed name: String) throws(Failure) {
    var place = folder
    var status = stat()
    while unsafe stat(place, &status) != 0 {
      guard errno == ENOENT, let slash = place.lastIndex(of: "/") else {
        throw .system(path: place, code: errno)
      }
      place = slash == place.startIndex ? "/" : String(place[..<slash])
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .system(path: place, code: ENOTDIR) }
    if place == folder { try checkClosed("\(folder)/\(name)") }
    // Permissions are not enough: a file system may be full, read-only or unable to store files.
    let trial = "\(place)/.callgate-init.\(UInt64.random(in: .min ... .max))"
    let descriptor = unsafe open(trial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .system(path: place, code: errno) }
    close(descriptor)
    unsafe unlink(trial)
  }

  /// Checks the path of a folder for secrets. The path must be unused, or name a folder of this user that
  /// others cannot write to.
  private static func checkClosed(_ path: String) throws(Failure) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else {
      guard errno == ENOENT else { throw .system(path: path, code: errno) }
      return
    }
    if status.st_mode & S_IFMT == S_IFLNK { throw .unfit(path: path, reason: "it is a symbolic link") }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .system(path: path, code: ENOTDIR) }
    if status.st_uid != geteuid() { throw .unfit(path: path, reason: "it belongs to another user") }
    if status.st_mode & 0o022 != 0 {
      throw .unfit(path: path, reason: "others can write to it; run chmod go-w on it")
    }
  }

  /// Whether a path is a symbolic link.
  static func isLink(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Writes the files, and creates the folders that they need.
  /// - Parameter beforeMoving: Runs when all files are written under other names; for tests.
  static func write(
    _ files: [File], to folder: String, beforeMoving: () -> Void = {}
  ) throws(Failure) {
    var work = SetupFiles(folder)
    do throws(Failure) {
      try work.write(files, beforeMoving)
    } catch {
      work.undo()
      throw error
    }
    for path in work.replaced { unsafe unlink(path) }
  }

  private mutating func write(_ files: [File], _ beforeMoving: () -> Void) throws(Failure) {
    let taken = Self.occupied(files.filter { !$0.replaces }.map(\.name), in: folder)
    guard taken.isEmpty else { throw .exists(taken) }
    try makeFolder(folder, 0o777)
    var folders = [folder]
    for file in files {
      if let slash = file.name.lastIndex(of: "/") {
        let closed = "\(folder)/\(file.name[..<slash])"
        try Self.checkClosed(closed)
        try makeFolder(closed, 0o700)
        if !folders.contains(closed) { folders.append(closed) }
      }
      try create(temporary(file.name), file)
    }
    beforeMoving()
    for file in files {
      let path = "\(folder)/\(file.name)"
      if !file.replaces {
        try reserve(path, file.name)
      } else if Self.exists(path) {
        try move(path, to: "\(temporary(file.name)).old")
        replaced.append("\(temporary(file.name)).old")
      }
      try move(temporary(file.name), to: path)
    }
    for folder in folders { try flush(folder) }
  }

  private func undo() {
    for step in steps.reversed() {
      // A step that cannot be undone is left. The first failure is the one to report.
      switch step {
      case .madeFolder(let path): _ = unsafe rmdir(path)
      case .wrote(let path): _ = unsafe unlink(path)
      case .moved(let from, let to): _ = unsafe rename(to, from)
      }
    }
  }

  private func temporary(_ name: String) -> String { "\(folder)/\(name).\(suffix)" }

  /// Creates a folder and those above it, as `mkdir -p` does.
  private mutating func makeFolder(_ path: String, _ mode: mode_t) throws(Failure) {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFDIR else { throw .system(path: path, code: ENOTDIR) }
      return
    }
    if let slash = path.dropLast().lastIndex(of: "/"), slash > path.startIndex {
      try makeFolder(String(path[..<slash]), 0o777)
    }
    guard unsafe mkdir(path, mode) == 0 else { throw .system(path: path, code: errno) }
    steps.append(.madeFolder(path))
  }

  private mutating func create(_ path: String, _ file: File) throws(Failure) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file.mode ?? 0o666)
    guard descriptor >= 0 else { throw .system(path: path, code: errno) }
    defer { close(descriptor) }
    steps.append(.wrote(path))
    // The umask may have removed permission bits, so the mode is set explicitly.
    if let mode = file.mode, fchmod(descriptor, mode) != 0 { throw .system(path: path, code: errno) }
    var rest = file.bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw .system(path: path, code: errno)
      }
    }
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw .system(path: path, code: errno) }
  }

  /// Reserves a name with an empty file, so that a file that was created after the check of the names is not
  /// overwritten, on any file system.
  private mutating func reserve(_ path: String, _ name: String) throws(Failure) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw errno == EEXIST ? .exists([name]) : .system(path: path, code: errno)
    }
    close(descriptor)
    steps.append(.wrote(path))
  }

  /// Flushes a folder's entries to the disk.
  private func flush(_ folder: String) throws(Failure) {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(path: folder, code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw .system(path: folder, code: errno) }
  }

  private mutating func move(_ from: String, to: String) throws(Failure) {
    guard unsafe rename(from, to) == 0 else { throw .system(path: to, code: errno) }
    steps.append(.moved(from: from, to: to))
  }

  private static func exists(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0
  }
}

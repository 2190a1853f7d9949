// Determines whether two paths lead to the same file, even before the file exists.

import Glibc

/// The file that a path leads to.
public struct FileIdentity: Sendable {
  private struct Node: Hashable {
    let device, inode: UInt64
  }

  /// The real path, without symbolic links and dots. The path as written if its folder does not exist, or if
  /// the file system was not read.
  let path: String
  /// The device and inode of a file that exists. Hard links share them.
  private let node: Node?

  /// Resolves a path in the file system. Follows symbolic links (realpath(3), stat(2)).
  public init(path: String) {
    self.path = Self.resolved(path)
    var status = stat()
    node =
      unsafe stat(path, &status) == 0
      ? Node(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) : nil
  }

  /// Identifies a file by its path as written, without the file system.
  public init(unresolved path: String) {
    self.path = path
    node = nil
  }

  func isSame(as other: FileIdentity) -> Bool {
    path == other.path || node.map { $0 == other.node } ?? false
  }

  /// The real path. For a file that does not exist: its name in the real path of its folder. Without that
  /// folder: the path as written.
  private static func resolved(_ path: String) -> String {
    if let whole = real(path) { return whole }
    let slash = path.lastIndex(of: "/")
    let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard let folder = real(folder) else { return path }
    return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
  }

  private static func real(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }
}

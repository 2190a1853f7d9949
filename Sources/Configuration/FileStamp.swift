// Detects a change of a file by its metadata, without reading the file.

import Glibc

/// A file's identity, size and modification time. The server compares stamps to notice a change without
/// reading the file.
public struct FileStamp: Sendable, Hashable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  private let seconds: Int64
  private let nanoseconds: Int64

  /// The stamp of a file that does not exist, or whose metadata cannot be read.
  public static let missing = FileStamp(device: 0, inode: 0, size: -1, seconds: 0, nanoseconds: 0)

  private init(device: UInt64, inode: UInt64, size: Int64, seconds: Int64, nanoseconds: Int64) {
    self.device = device
    self.inode = inode
    self.size = size
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  init(_ status: stat) {
    self.init(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
      seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
  }

  /// The stamp of the file at a path. Follows symbolic links (stat(2)).
  public init(path: String) {
    var status = stat()
    self = unsafe stat(path, &status) == 0 ? FileStamp(status) : .missing
  }
}

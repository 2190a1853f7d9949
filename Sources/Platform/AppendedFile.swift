// Appends bytes to a file, flushes them to the disk, and reads the end of the file.

import Glibc

/// A file opened for appending.
public struct AppendedFile: ~Copyable, Sendable {
  private let path: String
  private let descriptor: Descriptor
  private let device: dev_t
  private let inode: ino_t

  /// Opens a file, and creates it with mode 600 if it does not exist.
  /// - Parameter onDisk: Whether only a regular file is allowed, and no pipe or device.
  public init(path: String, onDisk: Bool = false) throws(SystemError) {
    // O_NONBLOCK: a pipe without a reader would make the process wait. Regular files ignore it.
    let number = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0o600)
    guard number >= 0 else { throw SystemError(operation: "open", code: errno) }
    var found = stat()
    guard fstat(number, &found) == 0 else {
      let code = errno
      close(number)
      throw SystemError(operation: "fstat", code: code)
    }
    guard !onDisk || found.st_mode & S_IFMT == S_IFREG else {
      close(number)
      throw SystemError(operation: "it is no regular file; strict mode needs one", code: 0)
    }
    self.path = path
    descriptor = Descriptor(owning: number)
    (device, inode) = (found.st_dev, found.st_ino)
  }

  /// Whether the file was removed, so that no one can read what is written. Some file systems report zero
  /// links for every file; there, the file counts as removed only if its path names no file or another one.
  public var isRemoved: Bool {
    var found = stat()
    guard fstat(descriptor.number, &found) == 0, found.st_nlink == 0 else { return false }
    return stat(path, &found) != 0 || found.st_dev != device || found.st_ino != inode
  }

  /// Whether both are the same file.
  public func isSame(as other: borrowing AppendedFile) -> Bool {
    device == other.device && inode == other.inode
  }

  /// The last bytes of the file, without the zeros that a power cut leaves: at least `limit` if there are so
  /// many, and up to 256 KiB more. If the file ends in zeros, one of them remains.
  public func tail(limit: Int) throws(SystemError) -> [UInt8] {
    var start = lseek(descriptor.number, 0, SEEK_END)
    var tail: [UInt8] = []
    var isEnd = true
    while start > 0, tail.count < limit {
      var bytes = [UInt8](repeating: 0, count: min(256 * 1024, Int(start)))
      start -= off_t(bytes.count)
      let count = pread(descriptor.number, &bytes, bytes.count, start)
      guard count >= 0 else { throw SystemError(operation: "pread", code: errno) }
      tail = bytes.prefix(count).filter { $0 != 0 } + (isEnd && bytes.last == 0 ? [0] : tail)
      isEnd = false
    }
    return tail
  }

  /// Appends bytes from an index on.
  /// - Returns: The number of bytes that were written: all, or fewer with an error.
  public func append(_ bytes: [UInt8], from start: Int) -> (written: Int, error: SystemError?) {
    var index = start
    while index < bytes.count {
      let count = bytes.withUnsafeBytes {
        write(descriptor.number, $0.baseAddress! + index, bytes.count - index)
      }
      let code = errno
      if count > 0 {
        index += count
      } else if code != EINTR {
        return (index - start, SystemError(operation: "write", code: code))
      }
    }
    return (index - start, nil)
  }

  /// Waits until the written bytes are on the disk. A file that cannot be flushed, such as a pipe or a
  /// device, needs no wait.
  public func sync() throws(SystemError) {
    while fdatasync(descriptor.number) != 0 {
      let code = errno
      if code == EINVAL || code == EROFS { return }
      guard code == EINTR else { throw SystemError(operation: "fdatasync", code: code) }
    }
  }
}

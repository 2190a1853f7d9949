// Locks one byte of a file, so that other processes can tell whether the owner still runs.

import CLinux
import Glibc

/// A lock on one byte of a file, which shows that its owner still runs: the kernel releases the lock when the
/// owner ends, in any way.
///
/// The byte need not exist: even an empty file can have a lock at every offset. Processes see each other's
/// locks only under the same kernel. On a network file system they may see none.
public struct ByteLock: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Opens a file, creates it with mode 0600 if it does not exist, and locks the byte at an offset.
  ///
  /// - Throws: `EAGAIN` if another lock has the byte.
  public init(path: String, offset: Int64) throws(SystemError) {
    let opened = try Self.open(path)
    guard callgate_lock_byte(opened.number, offset) == 0 else {
      throw SystemError(operation: "lock \(path)", code: errno)
    }
    descriptor = opened
  }

  private static func open(_ path: String) throws(SystemError) -> Descriptor {
    let number = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw SystemError(operation: "open \(path)", code: errno) }
    return Descriptor(owning: number)
  }

  /// Whether another lock has the byte at an offset of the same file, in this process or another.
  public func isHeldElsewhere(_ offset: Int64) throws(SystemError) -> Bool {
    let answer = callgate_is_byte_locked(descriptor.number, offset)
    guard answer >= 0 else { throw SystemError(operation: "look at a lock", code: errno) }
    return answer == 1
  }

  /// Whether the locked file is still the one at a path, neither removed nor replaced.
  public func isOn(_ path: String) -> Bool {
    var here = stat()
    var there = stat()
    guard fstat(descriptor.number, &here) == 0, stat(path, &there) == 0 else { return false }
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino
  }
}

// Locks one byte of a file, so that other processes can tell whether the owner still runs.

import CLinux
import Glibc

/// A lock on one byte of a file: a sign of life that the kernel removes when its owner ends, in any way.
///
/// The byte need not exist: an empty file has room for as many locks as there are numbers. Only processes of
/// this machine's kernel see each other's locks. On a network file system that may be none.
public struct ByteLock: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Opens a file, which is made with mode 0600 if it is not there, and locks the byte at an offset.
  ///
  /// - Throws: `EAGAIN` when another one has it.
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

  /// Whether another one has the byte at an offset of the same file locked, in this process or another.
  public func isHeldElsewhere(_ offset: Int64) throws(SystemError) -> Bool {
    let answer = callgate_is_byte_locked(descriptor.number, offset)
    guard answer >= 0 else { throw SystemError(operation: "look at a lock", code: errno) }
    return answer == 1
  }

  /// Whether its file is still the one at a path, neither removed nor replaced.
  public func isOn(_ path: String) -> Bool {
    var here = stat()
    var there = stat()
    guard fstat(descriptor.number, &here) == 0, stat(path, &there) == 0 else { return false }
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino
  }
}

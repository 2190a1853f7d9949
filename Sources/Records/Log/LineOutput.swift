// Writes the lines of several threads to one descriptor, such as stdout, without mixing them.

import Glibc
public import Platform
import Synchronization

/// A descriptor to which several threads write lines.
///
/// A pipe may be full in the middle of a line. The writing thread then holds the lock until the reader has
/// made room for the rest, so that no other thread's line comes in between.
public final class LineOutput: Sendable {
  private let descriptor: Int32
  /// The unwritten end of a partly written line. The next write starts with it.
  private let rest = Mutex<[UInt8]>([])

  /// - Parameter descriptor: Stays open as long as the process runs.
  public init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Writes lines completely, however long the reader takes.
  ///
  /// - Returns: The number of bytes written, and the error that ended the write. A partly written line counts
  ///   as written, because the next write starts with its rest.
  public func write(_ lines: [UInt8]) -> (count: Int, error: SystemError?) {
    rest.withLock { rest in
      let before = write(from: rest)
      rest.removeFirst(before.count)
      guard before.error == nil else { return (0, before.error) }
      let (count, error) = write(from: lines)
      guard error != nil, count > 0, lines[count - 1] != UInt8(ascii: "\n") else { return (count, error) }
      let end = lines[count...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? lines.count
      rest = Array(lines[count..<end])
      return (end, error)
    }
  }

  private func write(from bytes: [UInt8]) -> (count: Int, error: SystemError?) {
    unsafe bytes.withUnsafeBytes { buffer in
      var index = 0
      while index < buffer.count {
        let count = unsafe Glibc.write(
          descriptor, UnsafeRawBufferPointer(rebasing: buffer[index...]).baseAddress, buffer.count - index)
        let error = errno
        if count > 0 {
          index += count
        } else if error == EAGAIN {
          // Another process shares the descriptor and made it non-blocking.
          var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = unsafe poll(&wanted, 1, -1)
        } else if error != EINTR {
          return (index, SystemError(operation: "write", code: error))
        }
      }
      return (index, nil)
    }
  }
}

// Writes the server's log lines to stdout completely, or reports that they were lost.

import Glibc

/// Where a server's lines go: stdout, written whole or reported as lost.
enum StandardOutput {
  /// Writes all bytes, however long the reader takes; false when they cannot be written, and `errno` says why.
  static func write(_ bytes: [UInt8]) -> Bool { write(bytes, to: STDOUT_FILENO) }

  /// The same for another descriptor.
  static func write(_ bytes: [UInt8], to number: Int32) -> Bool {
    unsafe bytes.withUnsafeBytes { buffer in
      var rest = unsafe buffer[...]
      while let start = unsafe UnsafeRawBufferPointer(rebasing: rest).baseAddress, unsafe !rest.isEmpty {
        let count = unsafe Glibc.write(number, start, rest.count)
        let error = errno
        if count > 0 {
          unsafe rest = unsafe rest.dropFirst(count)
        } else if error == EAGAIN {
          // Another process shares the descriptor and made it non-blocking.
          var descriptor = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
          _ = unsafe poll(&descriptor, 1, -1)
        } else if error != EINTR {
          errno = error
          return false
        }
      }
      return true
    }
  }
}

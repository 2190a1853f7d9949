// The error for a failed OpenSSL call, with OpenSSL's own messages for operators.

import COpenSSL

/// A failed call of OpenSSL, with all messages that it left in this thread's error queue. For operators,
/// never for callers.
public struct OpenSSLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The function that failed.
  public let operation: String
  /// OpenSSL's own words, oldest first: `error:0A000086:SSL routines::certificate verify failed`.
  public let entries: [String]

  /// Drains the error queue of this thread (`ERR_get_error`, `ERR_error_string_n`). Call it right after the
  /// failure. Clear the queue before the operation, or older entries would seem to belong to it.
  init(operation: String) {
    self.operation = operation
    var entries: [String] = []
    while case let code = ERR_get_error(), code != 0 {
      let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        ERR_error_string_n(code, buffer.baseAddress, buffer.count)
        return String(cString: buffer.baseAddress!)
      }
      entries.append(text)
    }
    self.entries = entries
  }

  public var description: String {
    entries.isEmpty ? "\(operation) failed" : "\(operation): \(entries.joined(separator: "; "))"
  }
}

// The error for a failed system call, with the name of the call and its `errno`.

import Glibc

/// A failed system call and the reason, for operators.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the call, such as `bind`; or, with code 0, a sentence that says what is wrong although no
  /// call failed.
  public let operation: String
  /// The call's `errno`.
  public let code: Int32

  /// Makes an error from a call's name and the `errno` read right after it.
  public init(operation: String, code: Int32) {
    self.operation = operation
    self.code = code
  }

  /// `bind: Address already in use (98)`.
  public var description: String {
    if code == 0 { return operation }
    // strerror_r(3), the XSI variant: fills the buffer and ends it with NUL.
    var buffer = [CChar](repeating: 0, count: 128)
    _ = strerror_r(code, &buffer, buffer.count)
    let message = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "\(operation): \(message) (\(code))"
  }

  /// Whether the address or port is already in use.
  public var isAddressInUse: Bool { code == EADDRINUSE }
  /// Whether the process or the system has no descriptor or memory for one more connection.
  public var isOutOfDescriptors: Bool {
    code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM
  }
}

// The error for a failed OpenSSL call in TLS, with OpenSSL's own messages for operators.

import COpenSSL

/// OpenSSL's own words about a failed call, for operators and never for clients.
public struct TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The function that failed.
  public let operation: String
  /// The reasons that OpenSSL left in this thread's error queue, oldest first, such as `certificate verify
  /// failed`.
  public let reasons: [String]

  /// Moves the errors of this thread's queue into `reasons` (`ERR_get_error`). The queue must have been
  /// empty before the operation.
  init(_ operation: String) {
    self.operation = operation
    var reasons: [String] = []
    while case let code = ERR_get_error(), code != 0 {
      reasons.append(ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)")
    }
    self.reasons = reasons
  }

  /// Creates a failure that this program has detected, not OpenSSL.
  init(_ operation: String, because reason: String) {
    self.operation = operation
    reasons = [reason]
  }

  public var description: String {
    reasons.isEmpty ? "\(operation) failed" : "\(operation): \(reasons.joined(separator: ", "))"
  }

  /// Empties this thread's error queue before an operation, so that later reasons belong to that operation.
  static func forget() {
    if ERR_peek_error() != 0 { ERR_clear_error() }
  }
}

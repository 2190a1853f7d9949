// The values of log lines: texts and numbers.

/// A value of a log line. Numbers stay numbers in JSON.
public protocol LogValue: Sendable {
  /// The value as it is written, without quotation marks. A line leaves out a member whose text is empty.
  var logged: String { get }
  static var isNumeric: Bool { get }
}

extension String: LogValue {
  public var logged: String { self }
  public static var isNumeric: Bool { false }
}

extension Int: LogValue {
  public var logged: String { String(self) }
  public static var isNumeric: Bool { true }
}

extension Int64: LogValue {
  public var logged: String { String(self) }
  public static var isNumeric: Bool { true }
}

extension Optional: LogValue where Wrapped: LogValue {
  public var logged: String { self?.logged ?? "" }
  public static var isNumeric: Bool { Wrapped.isNumeric }
}

/// A span in seconds with one decimal.
package struct LoggedSeconds: LogValue {
  package let logged: String
  package static var isNumeric: Bool { true }

  package init(_ span: Duration) { logged = "\((span / .milliseconds(100)).rounded() / 10)" }
}

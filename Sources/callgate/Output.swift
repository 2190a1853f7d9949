import Glibc

/// The two streams of a command: data on stdout, messages on stderr, one line each. No colours, so there is nothing
/// for `NO_COLOR` to turn off.
enum Output {
  /// Writes a line of data.
  static func line(_ text: some StringProtocol) { write(Array(text.utf8) + [0x0A], to: STDOUT_FILENO) }

  /// Writes data that ends its own lines.
  static func text(_ text: some StringProtocol) { write(Array(text.utf8), to: STDOUT_FILENO) }

  /// Writes a message.
  static func message(_ text: some StringProtocol) { write(Array(text.utf8) + [0x0A], to: STDERR_FILENO) }

  /// Whether stdout is a terminal.
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) {
    var bytes = bytes
    while !bytes.isEmpty {
      let count = unsafe Glibc.write(descriptor, bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      // A reader that went away wants no more; there is nobody left to tell.
      guard count > 0 else { return }
      bytes.removeFirst(count)
    }
  }
}

// Writes a command's data to stdout and its messages to stderr.

import Glibc
import Platform

/// The two streams of a command: data on stdout, messages on stderr, one line each. Colours are
/// `Style`'s.
enum Output {
  /// Writes a line of data.
  static func line(_ text: some StringProtocol) { write(Array(text.utf8) + [0x0A], to: STDOUT_FILENO) }

  /// Writes data that ends its own lines.
  static func text(_ text: some StringProtocol) { write(Array(text.utf8), to: STDOUT_FILENO) }

  /// Writes a question, which is answered on the same line.
  static func prompt(_ text: String) { write(Array(text.utf8), to: STDERR_FILENO) }

  /// Asks for a yes at the terminal.
  static func isConfirmed(_ question: String) -> Bool {
    prompt("\(question) [y/N] ")
    return ["y", "yes"].contains((readLine() ?? "").lowercased())
  }

  /// Writes a message.
  static func message(_ text: some StringProtocol) { write(Array(text.utf8) + [0x0A], to: STDERR_FILENO) }

  /// Whether stdout is a terminal.
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) {
    guard !StandardOutput.write(bytes, to: descriptor), descriptor == STDOUT_FILENO else { return }
    // The output may exist nowhere else: a new key, a token. So a failed write must not look like success.
    let error = errno
    message("callgate: cannot write to standard output: \(SystemError(operation: "write", code: error))")
    exit(ExitStatus.internal.rawValue)
  }
}

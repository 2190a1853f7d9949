// Writes a command's data to stdout and its messages to stderr.

import Glibc
import Platform
import Records

/// The two streams of a command: data on stdout, messages on stderr, one line each. Text from outside is
/// escaped here, for all commands; see `ShownText`.
enum Output {
  /// Stdout, which a server's log and audit lines share.
  static let standard = LineOutput(STDOUT_FILENO)
  /// Stderr, for messages and questions.
  static let errors = LineOutput(STDERR_FILENO)

  /// Writes a line of data.
  static func line(_ text: some StringProtocol) { line(ShownText(text)) }

  /// Writes a line of data that has colors or is wrapped.
  static func line(_ text: ShownText) { write(Array(text.text.utf8) + [0x0A]) }

  /// Writes the command's own data, which contains its line ends.
  static func text(_ text: some StringProtocol) { write(Array(text.utf8)) }

  /// Writes a question. The answer is typed on the same line.
  static func prompt(_ text: String) { _ = errors.write(Array(ShownText(text).text.utf8)) }

  /// Asks for confirmation at the terminal.
  static func isConfirmed(_ question: String) -> Bool {
    prompt("\(question) [y/N] ")
    return ["y", "yes"].contains((readLine() ?? "").lowercased())
  }

  /// Writes a message.
  static func message(_ text: some StringProtocol) { message(ShownText(text)) }

  /// Writes a message that is wrapped.
  static func message(_ text: ShownText) { _ = errors.write(Array(text.text.utf8) + [0x0A]) }

  /// Writes a message if stderr accepts it at once: a reader that reads neither stream must not keep the
  /// process from ending.
  static func messageAtOnce(_ text: String) {
    var wanted = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    // A pipe is ready if it has room for 4,096 bytes.
    guard unsafe poll(&wanted, 1, 0) == 1, wanted.revents == Int16(POLLOUT) else { return }
    message(text)
  }

  /// Whether stdout is a terminal.
  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  private static func write(_ bytes: [UInt8]) {
    // The output may exist nowhere else: a new key, a token. So a failed write must not look like success.
    guard let error = standard.write(bytes).error else { return }
    if error.code == EPIPE {
      // The reader has closed the pipe, as `head` does. End silently and without success, like a command that
      // does not ignore the signal.
      signal(SIGPIPE, SIG_DFL)
      raise(SIGPIPE)
    }
    message("callgate: cannot write to standard output: \(error)")
    exit(ExitStatus.internal.rawValue)
  }
}

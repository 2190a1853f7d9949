// Lines that a person types, some of them unseen.

import Glibc
import Synchronization

/// Standard input as a terminal.
public final class TerminalInput: Sendable {
  private struct State {
    /// The terminal's settings before a hidden line, while one is typed.
    var before: termios?
    /// What was read beyond the last line.
    var rest: [UInt8] = []
  }

  /// The longest line taken, in bytes; a terminal itself gives no more than 4096 at a time.
  private static let maximumLine = 65_536

  private let state = Mutex(State())

  /// Begins with nothing read.
  public init() {}

  /// Whether somebody sits there who can be asked: input is a terminal, and so is one of the outputs.
  public static var isInteractive: Bool {
    isatty(STDIN_FILENO) == 1 && (isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
  }

  /// Asks for a line and returns it without its end; nil at the end of input.
  /// - Parameters:
  ///   - hidden: Whether the terminal shows nothing of it but its end.
  ///   - prompt: Shows what is asked. A hidden line is hidden before: people type as soon as they see the question.
  public func line(hidden: Bool = false, prompt: () -> Void) -> String? {
    if hidden { hide() }
    defer { restore() }
    prompt()
    var line = state.withLock { state in
      defer { state.rest = [] }
      return state.rest
    }
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      if let end = line.firstIndex(of: 0x0A) {
        state.withLock { $0.rest = Array(line[(end + 1)...]) }
        return String(decoding: line[..<end], as: UTF8.self)
      }
      guard line.count <= Self.maximumLine else { return nil }
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
      line += buffer[..<count]
    }
  }

  /// Lets the terminal show what is typed again, from any thread: to be called before a process ends in the middle of a line.
  public func restore() {
    state.withLock { state in
      guard var before = state.before else { return }
      tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
      state.before = nil
    }
  }

  private func hide() {
    state.withLock { state in
      var settings = termios()
      guard state.before == nil, tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
      state.before = settings
      settings.c_lflag &= ~tcflag_t(ECHO)
      // The end of the line is shown all the same, or the next words would stand behind the prompt.
      settings.c_lflag |= tcflag_t(ECHONL)
      // A process that is stopped here would leave the shell with a terminal that shows nothing.
      withUnsafeMutableBytes(of: &settings.c_cc) { $0[Int(VSUSP)] = 0 }
      tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    }
  }
}

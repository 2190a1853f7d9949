// Reads lines that a person types, and hides secret ones.

import Glibc
import Synchronization

/// Input from a terminal: standard input, except in tests.
public final class TerminalInput: Sendable {
  private struct State {
    /// The terminal's settings before input was hidden.
    var before: termios?
    /// The bytes that were read beyond the last line.
    var rest: [UInt8] = []
  }

  /// The longest line that is accepted, in bytes; a terminal itself gives no more than 4096 at a time.
  private static let maximumLine = 65_536

  private let descriptor: Int32
  private let state = Mutex(State())

  /// Begins with nothing read.
  /// - Parameter descriptor: The terminal; 0 is standard input.
  public init(_ descriptor: Int32 = 0) { self.descriptor = descriptor }

  /// Whether a person can answer questions: input is a terminal, and so is one of the outputs.
  public static var isInteractive: Bool {
    isatty(STDIN_FILENO) == 1 && (isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1)
  }

  /// Shows a prompt and returns the next line without its line feed. At the end of input, or after a read
  /// error, returns the rest, or nil if there is none. Returns nil for a line of more than 64 KiB.
  ///
  /// - Parameter prompt: Shows the question.
  public func line(prompt: () -> Void) -> String? {
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
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
      line += buffer[..<count]
    }
  }

  /// Runs a function while the terminal hides input, during its lines and between them, because pasted lines
  /// arrive faster than the function reads them.
  public func hiding<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    hide()
    defer { restore() }
    return try body()
  }

  /// Makes the terminal show input again, from any thread. Call it before a process ends in the middle of a
  /// line.
  public func restore() {
    state.withLock { state in
      guard var before = state.before else { return }
      tcsetattr(descriptor, TCSADRAIN, &before)
      state.before = nil
    }
  }

  private func hide() {
    state.withLock { state in
      var settings = termios()
      guard state.before == nil, tcgetattr(descriptor, &settings) == 0 else { return }
      state.before = settings
      settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
      // A process that is stopped or killed here by Ctrl-Z or Ctrl-\ would leave the shell with a terminal
      // that shows nothing.
      withUnsafeMutableBytes(of: &settings.c_cc) { characters in
        for key in [VSUSP, VQUIT] { characters[Int(key)] = 0 }
      }
      tcsetattr(descriptor, TCSADRAIN, &settings)
    }
  }
}

// Tests of how lines are read from a terminal, visibly or hidden.

import Glibc
import Platform
import Testing

/// A terminal's echo and keys while hidden input is typed.
@Suite struct TerminalInputTests {
  /// A pseudo-terminal: the person's side, and the side that a program reads.
  private final class Terminal {
    let person: Int32
    let program: Int32

    init() throws {
      person = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
      try #require(person >= 0)
      var number: Int32 = -1
      var isLocked: Int32 = 0
      // TIOCSPTLCK and TIOCGPTN of ioctl_tty(2), which are macros with casts.
      try #require(ioctl(person, 0x4004_5431, &isLocked) == 0)
      try #require(ioctl(person, 0x8004_5430, &number) == 0)
      program = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
      try #require(program >= 0)
    }

    deinit {
      close(program)
      close(person)
    }

    func settings() throws -> termios {
      var settings = termios()
      try #require(tcgetattr(program, &settings) == 0)
      return settings
    }

    /// Whether typed text is shown.
    func echoes() throws -> Bool { try settings().c_lflag & tcflag_t(ECHO) != 0 }

    /// The key for a signal; 0 if there is none.
    func key(_ name: Int32) throws -> UInt8 {
      var settings = try settings()
      return withUnsafeBytes(of: &settings.c_cc) { $0[Int(name)] }
    }

    func type(_ text: String) throws {
      let octets = Array(text.utf8)
      try #require(write(person, octets, octets.count) == octets.count)
    }

    /// The next output on the screen.
    func shown() -> String {
      var waiting = pollfd(fd: person, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 2000) == 1 else { return "" }
      var octets = [UInt8](repeating: 0, count: 4096)
      let count = read(person, &octets, octets.count)
      return String(decoding: octets.prefix(max(0, count)), as: UTF8.self)
    }
  }

  @Test func `lines are taken one by one, also where they came at once`() throws {
    let terminal = try Terminal()
    let input = TerminalInput(terminal.program)
    try terminal.type("one\ntwo\n")
    #expect(input.line {} == "one")
    #expect(input.line {} == "two")
    #expect(terminal.shown() == "one\r\ntwo\r\n")
    try terminal.type("\u{4}")
    #expect(input.line {} == nil, "the end of input")
  }

  @Test func `nothing is shown of several hidden lines, nor between them, and no key leaves the terminal so`()
    throws
  {
    let terminal = try Terminal()
    let input = TerminalInput(terminal.program)
    let keys = try (terminal.key(VQUIT), terminal.key(VSUSP), terminal.key(VINTR))
    #expect(keys.0 != 0 && keys.1 != 0 && keys.2 != 0)
    let lines = try input.hiding { () throws -> [String?] in
      #expect(try !terminal.echoes())
      #expect(try terminal.key(VQUIT) == 0 && terminal.key(VSUSP) == 0)
      #expect(try terminal.key(VINTR) == keys.2, "Ctrl-C ends the command, which restores the terminal")
      try terminal.type("-----BEGIN\n")
      let first = input.line {}
      #expect(try !terminal.echoes())
      try terminal.type("canary\u{1C}\u{1A}\n")
      return [first, input.line {}]
    }
    #expect(lines == ["-----BEGIN", "canary\u{1C}\u{1A}"])
    #expect(try terminal.echoes())
    #expect(try terminal.key(VQUIT) == keys.0 && terminal.key(VSUSP) == keys.1)
    try terminal.type("seen\n")
    #expect(terminal.shown() == "seen\r\n", "of what came before nothing was shown")
  }

  @Test func `a failure in between restores the terminal`() throws {
    struct Failure: Error {}
    let terminal = try Terminal()
    let input = TerminalInput(terminal.program)
    #expect(throws: Failure.self) {
      try input.hiding { () throws(Failure) in throw Failure() }
    }
    #expect(try terminal.echoes())
  }
}

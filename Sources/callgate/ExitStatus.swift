// The exit statuses of all commands, by their names in sysexits.h.

import ArgumentParser

/// The exit status of a command, with the names of sysexits.h.
enum ExitStatus: Int32 {
  /// The arguments are wrong or name a file that cannot be used, or a required answer is missing
  /// (`EX_USAGE`).
  case usage = 64
  /// Talkdesk, a server, the store or the network did not respond, or the port is taken (`EX_UNAVAILABLE`).
  case unavailable = 69
  /// A fault of this program, or an unexpected response of the server that it tests or operates
  /// (`EX_SOFTWARE`).
  case `internal` = 70
  /// The rules, Talkdesk, a server, the file system or the user refused, or audit lines were changed
  /// (`EX_NOPERM`).
  case refused = 77
  /// The configuration or another file is wrong, incomplete or unreadable, or the store cannot be used
  /// (`EX_CONFIG`).
  case configuration = 78

  /// The error that ends a command with this status, after it has printed everything.
  var exit: ExitCode { ExitCode(rawValue) }
}

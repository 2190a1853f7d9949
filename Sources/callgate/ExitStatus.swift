// The exit statuses of all commands, by their names in sysexits.h.

import ArgumentParser

/// The exit status of a command, with the names of sysexits.h.
enum ExitStatus: Int32 {
  /// The arguments are wrong (`EX_USAGE`).
  case usage = 64
  /// Talkdesk or the network did not respond (`EX_UNAVAILABLE`).
  case unavailable = 69
  /// A fault of this program (`EX_SOFTWARE`).
  case `internal` = 70
  /// The rules, Talkdesk or the file system refused (`EX_NOPERM`).
  case refused = 77
  /// The configuration is wrong or incomplete (`EX_CONFIG`).
  case configuration = 78

  /// The error that ends a command with this status, after it has printed everything.
  var exit: ExitCode { ExitCode(rawValue) }
}

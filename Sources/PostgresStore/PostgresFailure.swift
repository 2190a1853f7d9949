// The error for a failed PostgreSQL operation or connection.

import Store

/// A failure with its SQLSTATE (PostgreSQL manual, appendix A), if the server sent one.
struct PostgresFailure: Error {
  var operation: String
  /// The SQLSTATE: five characters; nil if the server sent none, as when the connection broke.
  var state: String?
  /// The server's or libpq's own message.
  var message: String
  /// Whether the address or the database itself is wrong, so that waiting does not help.
  var isMisconfigured = false

  /// The operation of a failure to get a connection at all.
  static let connecting = "connect"

  /// Whether the connection can no longer be used.
  var isConnectionLost: Bool {
    guard let state, operation != PostgresFailure.connecting else { return true }
    // 08: connection exceptions. 57P01–57P03: shutting down or starting up. 25006: this server has become
    // read-only, and another may have taken over. 26000, 42P05: a proxy has switched to another session of
    // the server, which does not have the prepared statements of this connection.
    return state.hasPrefix("08") || state.hasPrefix("57P") || state == "25006" || state == "26000"
      || state == "42P05"
  }

  /// Whether a COMMIT among the statements may have been done, because the server did not respond to them. A
  /// statement that the server reports as failed has ended its transaction.
  var leavesDoubt: Bool {
    guard let state else { return true }
    return state.hasPrefix("08") || state.hasPrefix("57P")
  }

  /// Whether the server refuses the user or the password.
  var isRefusedLogin: Bool {
    operation == PostgresFailure.connecting && (state == "28P01" || state == "28000")
  }

  /// Whether a prepared statement is missing or already exists: another session of the server runs the
  /// statements.
  private var isFromOtherSession: Bool { state == "42P05" || state == "26000" }

  /// The failure for a pooler that gives each transaction another session of the server.
  static let pooler = PostgresFailure(operation: StoreError.pooler, state: "26000", message: "")

  /// The failure for a database whose encoding lacks characters that users have in their names.
  static func encoding(_ name: String) -> PostgresFailure {
    PostgresFailure(
      operation: "encoding", state: "22021",
      message: "the database's encoding is \(name): create it with ENCODING 'UTF8'", isMisconfigured: true)
  }

  /// Whether the same transaction may succeed if it is tried again: 40001 serialization failure, 40P01
  /// deadlock.
  var isTransient: Bool { state == "40001" || state == "40P01" }

  /// A failure to get a connection.
  ///
  /// libpq reports the SQLSTATE of such a failure only in its text, in the verbose form: `FATAL:  28P01:
  /// password authentication failed …`, then a line with the position in the server's source code. If several
  /// servers refused, their SQLSTATE counts only if all agree.
  static func connection(verbose text: String) -> PostgresFailure {
    var states: Set<String> = []
    var lines: [Substring] = []
    // If root certificates are missing, libpq advises switching the verification off.
    let unwanted = ["LOCATION:", "Either provide the file"]
    for line in text.split(whereSeparator: \.isNewline) where !unwanted.contains(where: line.hasPrefix) {
      guard let match = line.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) else {
        lines.append(line)
        continue
      }
      states.insert(String(match.1))
      lines.append(line[..<match.range.lowerBound] + ": " + line[match.range.upperBound...])
    }
    return PostgresFailure(
      operation: connecting, state: states.count == 1 ? states.first : nil,
      message: lines.joined(separator: "; "))
  }

  /// The refusals of several servers as one failure, with a code only if all agree.
  static func connection(_ failures: [PostgresFailure]) -> PostgresFailure {
    let states = Set(failures.map(\.state))
    return PostgresFailure(
      operation: connecting, state: states.count == 1 ? states.first ?? nil : nil,
      message: failures.map(\.message).joined(separator: "; "))
  }

  var storeError: StoreError {
    if isFromOtherSession {
      return StoreError(
        .misconfigured, StoreError.pooler,
        "a pooler, such as PgBouncer in transaction mode, gives each transaction another session: "
          + "connect directly to the database, or use pool_mode = session")
    }
    let kind: StoreError.Kind =
      switch state {
      case _ where isMisconfigured: .misconfigured
      case nil: .unavailable
      case "53100": .full
      case "25006": .readOnly
      case "42P01", "42703", "42883": .incompatible
      case "3D000", "42501": .refused
      case let state? where state.hasPrefix("28"): .refused
      // 22: data exceptions. 23: violated constraints.
      case let state? where state.hasPrefix("22") || state.hasPrefix("23"): .rejected
      case let state? where state.hasPrefix("XX"): .damaged
      default: .unavailable
      }
    let line = message.split(whereSeparator: \.isNewline).joined(separator: "; ")
    let words = isMisconfigured ? line : state.map { "\(line) (\($0))" } ?? line
    // A table, column or function is missing: the schema was not created, or only in part.
    return StoreError(kind, operation, kind == .incompatible ? "\(words): run `callgate migrate`" : words)
  }
}

// The error for a failed PostgreSQL operation or connection.

import Store

/// A failure with its SQLSTATE (PostgreSQL manual, appendix A), if the server gave one.
struct PostgresFailure: Error {
  /// The failed operation.
  var operation: String
  /// Five characters; nil when the connection failed rather than a statement.
  var state: String?
  /// The server's or libpq's own words.
  var message: String
  /// The address or the database itself is wrong, so that no waiting helps.
  var isMisconfigured = false

  /// The operation of a failure to get a connection at all.
  static let connecting = "connect"

  /// The connection is of no more use.
  var isConnectionLost: Bool {
    guard let state, operation != PostgresFailure.connecting else { return true }
    // 08: connection exceptions. 57P01–57P03: shutting down or starting up. 25006: this server has become a
    // read-only one, and another may be the one to talk to. 26000, 42P05: a proxy has changed the server below
    // the prepared statements.
    return state.hasPrefix("08") || state.hasPrefix("57P") || state == "25006" || state == "26000"
      || state == "42P05"
  }

  /// The server did not respond to the statements, so a COMMIT among them may have been done. A statement that the server reports as
  /// failed has ended its transaction.
  var leavesDoubt: Bool {
    guard let state else { return true }
    return state.hasPrefix("08") || state.hasPrefix("57P")
  }

  /// The server refuses user or password.
  var isRefusedLogin: Bool {
    operation == PostgresFailure.connecting && (state == "28P01" || state == "28000")
  }

  /// A prepared statement is lost or was there before: another session of the server runs the statements.
  private var isFromOtherSession: Bool { state == "42P05" || state == "26000" }

  /// A pooler that gives each transaction another session of the server.
  static let pooler = PostgresFailure(operation: StoreError.pooler, state: "26000", message: "")

  /// A database whose encoding lacks characters that users have in their names.
  static func encoding(_ name: String) -> PostgresFailure {
    PostgresFailure(
      operation: "encoding", state: "22021",
      message: "the database's encoding is \(name): create it with ENCODING 'UTF8'", isMisconfigured: true)
  }

  /// The same transaction may succeed if it is tried again: 40001 serialisation failure, 40P01 deadlock.
  var isTransient: Bool { state == "40001" || state == "40P01" }

  /// A failure to get a connection.
  ///
  /// libpq tells the SQLSTATE of those in its text alone, in its verbose form: `FATAL:  28P01: password authentication
  /// failed …`, then a line on where in the server that is. Of several servers' refusals one counts only if all agree.
  static func connection(verbose text: String) -> PostgresFailure {
    var states: Set<String> = []
    var lines: [Substring] = []
    // Where root certificates are missing, libpq advises to switch the verification off.
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
    // A table or column that is not there: the schema is not, or not all of it.
    return StoreError(kind, operation, kind == .incompatible ? "\(words): run `callgate migrate`" : words)
  }
}

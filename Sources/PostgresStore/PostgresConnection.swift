// One connection to a PostgreSQL server, with a deadline for every operation.

import CLibPQ
import Glibc
import Platform

/// A statement to send.
enum PostgresCommand {
  /// A statement without parameters, sent as it is.
  case plain(String)
  /// A statement that is prepared with its first use, and its parameters as text.
  case prepared(PostgresStatement, [String?])
}

/// A statement that a connection prepares once.
struct PostgresStatement: Sendable {
  let name: String
  let sql: String
}

/// The result of a statement.
struct PostgresRows {
  var rows: [PostgresRow]
  /// The number of rows that the statement changed.
  var changed: Int
}

/// A connection: made by `PQconnectStartParams`, ended by `PQfinish`, used by one queue.
///
/// No call blocks: the connection sends a pipeline of statements and waits with poll(2) until a deadline, so
/// a server that hangs costs seconds and not a thread.
final class PostgresConnection {
  private let handle: OpaquePointer
  private let clock = SystemClock()
  private var prepared: Set<String> = []

  /// The server's settings that can lose commits in a crash of its machine, as `name = value`.
  private(set) var unsafeSettings: [String] = []
  /// Whether the connection is read-only: the server is a standby, or the database or the role is set to
  /// read-only.
  private(set) var isReadOnly = false
  /// Whether a proxy is between this process and the server: the process number that was sent at connect is
  /// not the one that the server itself reports.
  private(set) var isBehindProxy = false

  /// Connects with libpq's parameters, which include those for TLS.
  ///
  /// - Throws: The failure, if the connection is refused or is not made by the deadline.
  init(_ parameters: [(String, String)], until deadline: MonotonicTime) throws(PostgresFailure) {
    let (names, values) = (try CStrings(parameters.map(\.0)), try CStrings(parameters.map(\.1)))
    let made = PQconnectStartParams(names.pointers, values.pointers, 0)
    guard let made else { throw PostgresFailure(operation: PostgresFailure.connecting, message: "no memory") }
    handle = made
    callgate_pq_silence(handle)
    _ = PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
    // PQconnectPoll returns what to wait for. Before its first call, wait until the socket can be written.
    var state = PGRES_POLLING_WRITING
    while state != PGRES_POLLING_OK {
      guard PQstatus(handle) != CONNECTION_BAD, state != PGRES_POLLING_FAILED else {
        var failure = PostgresFailure.connection(verbose: String(cString: PQerrorMessage(handle)))
        // If the server requests a password and there is none, libpq itself gives up, without an SQLSTATE.
        if failure.state == nil, PQconnectionNeedsPassword(handle) == 1 { failure.state = "28P01" }
        throw failure
      }
      try wait(
        for: state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until: deadline, PostgresFailure.connecting)
      state = PQconnectPoll(handle)
    }
    _ = PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
      throw lost(PostgresFailure.connecting)
    }
    // Limits on the server's side too: a statement that this side has given up must not hold locks there.
    let found = try run(
      [
        .plain("SET statement_timeout = '5s'"), .plain("SET lock_timeout = '4s'"),
        .plain("SET idle_in_transaction_session_timeout = '10s'"),
        .plain("SET default_transaction_isolation = 'read committed'"),
        // The text formats that `PostgresText` writes and reads, whatever the database or the role prefers.
        .plain("SET bytea_output = 'hex'"), .plain("SET array_nulls = on"),
        .plain("SET standard_conforming_strings = on"), .plain("SET client_encoding = 'UTF8'"),
        // Otherwise each failed statement would end the connection.
        .plain("SET exit_on_error = off"),
        // A plan that was cached while a table was small scans the whole table after it has grown, until the
        // table is analyzed.
        .plain("SET plan_cache_mode = 'force_custom_plan'"),
        // Otherwise COMMIT may return before the disk has the transaction, and a crash would forget which
        // callbacks were made. `local` waits for the server's own disk, `remote_write` and `remote_apply`
        // also for a standby: those are the operator's choice.
        .plain(
          """
          SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
          """),
        .plain(
          """
          SELECT name || ' = ' || setting FROM pg_settings
          WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name
          """),
        .plain("SHOW transaction_read_only"),
      ], within: deadline - clock.now)
    unsafeSettings = found.dropLast().last?.rows.compactMap { $0[0] } ?? []
    isReadOnly = found.last?.rows.first?[0] == "on"
    isBehindProxy = try process() != Int64(PQbackendPID(handle))
  }

  /// The encoding of the database, which the server reports at connect; nil if a proxy withholds it.
  var encoding: String? { PQparameterStatus(handle, "server_encoding").map { String(cString: $0) } }

  /// The number of the server process that runs this connection's transaction.
  func process() throws(PostgresFailure) -> Int64 {
    let found = try run([.plain("SELECT pg_backend_pid()")], within: .seconds(1))
    guard let row = found[0].rows.first else { throw lost("receive") }
    return try row.integer(0)
  }

  deinit { PQfinish(handle) }

  /// Sends statements together and waits for all of their results. If one fails, those after it do not run,
  /// and its transaction is rolled back.
  func run(_ commands: [PostgresCommand], within span: Duration) throws(PostgresFailure) -> [PostgresRows] {
    let deadline = clock.now + span
    let parameters: [CStrings]
    do throws(PostgresFailure) {
      parameters = try commands.map { command throws(PostgresFailure) in
        switch command {
        case .plain(let sql): try CStrings([sql])
        case .prepared(_, let values): try CStrings(values)
        }
      }
    } catch {
      // An earlier command may have begun a transaction.
      try reset(until: deadline)
      throw error
    }
    var preparations = 0
    for case .prepared(let statement, _) in commands where prepared.insert(statement.name).inserted {
      guard PQsendPrepare(handle, statement.name, statement.sql, 0, nil) == 1 else { throw lost("prepare") }
      preparations += 1
    }
    for (command, texts) in zip(commands, parameters) {
      let isSent =
        switch command {
        case .plain: PQsendQueryParams(handle, texts.pointers[0], 0, nil, nil, nil, nil, 0)
        case .prepared(let statement, let values):
          PQsendQueryPrepared(handle, statement.name, Int32(values.count), texts.pointers, nil, nil, 0)
        }
      guard isSent == 1 else { throw lost("send") }
    }
    guard PQpipelineSync(handle) == 1 else { throw lost("send") }
    do throws(PostgresFailure) {
      return Array(try collect(until: deadline).dropFirst(preparations))
    } catch {
      if !error.isConnectionLost { try reset(until: deadline) }
      throw error
    }
  }

  /// Ends the transaction that a failed statement left open, and drops the prepared statements, because some
  /// may not have been prepared. After that, the connection is like a new one.
  private func reset(until deadline: MonotonicTime) throws(PostgresFailure) {
    prepared.removeAll()
    for sql in ["ROLLBACK", "DEALLOCATE ALL"] {
      guard PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 0) == 1, PQpipelineSync(handle) == 1 else {
        throw lost("send")
      }
      _ = try collect(until: deadline)
    }
  }

  /// Reads results up to the end of the pipeline.
  func collect(until deadline: MonotonicTime) throws(PostgresFailure) -> [PostgresRows] {
    var results: [PostgresRows] = []
    var failure: PostgresFailure?
    var isBetween = false
    while true {
      try receive(until: deadline)
      guard let result = PQgetResult(handle) else {
        // nil is the end of one statement's results, or of the connection. After two in a row, libpq expects
        // no more results and would return nil forever.
        guard PQstatus(handle) == CONNECTION_OK, !isBetween else { throw failure ?? lost("receive") }
        isBetween = true
        continue
      }
      isBetween = false
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_PIPELINE_SYNC:
        if let failure { throw failure }
        return results
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK: results.append(Self.rows(of: result))
      case PGRES_PIPELINE_ABORTED: break
      default:
        if failure == nil {
          failure = PostgresFailure(
            operation: "statement",
            state: PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) },
            // The whole message also contains the statement, in several lines.
            message: PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
              ?? String(cString: PQresultErrorMessage(result)))
        }
      }
    }
  }

  /// Sends what is still unsent, and reads until a result is complete.
  private func receive(until deadline: MonotonicTime) throws(PostgresFailure) {
    while true {
      let unsent = PQflush(handle)
      guard unsent >= 0 else { throw lost("send") }
      if unsent == 0, PQisBusy(handle) == 0 { return }
      try wait(for: unsent == 1 ? POLLIN | POLLOUT : POLLIN, until: deadline, "wait")
      guard PQconsumeInput(handle) == 1 else { throw lost("receive") }
      if PQisBusy(handle) == 0 { return }
    }
  }

  private func wait(for events: Int32, until deadline: MonotonicTime, _ operation: String)
    throws(PostgresFailure)
  {
    while true {
      let left = (deadline - clock.now).nanosecondsClamped
      guard left > 0 else {
        throw PostgresFailure(operation: operation, message: "\(server) did not respond in time")
      }
      var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
      let count = poll(&descriptor, 1, Int32(clamping: left / 1_000_000 + 1))
      if count > 0 { return }
      guard count == 0 || errno == EINTR else {
        throw PostgresFailure(operation: operation, message: "poll failed (\(errno))")
      }
    }
  }

  /// The server as libpq's own messages name it.
  private var server: String {
    guard let host = PQhost(handle), let port = PQport(handle) else { return "the server" }
    return "the server at \"\(String(cString: host))\", port \(String(cString: port))"
  }

  private func lost(_ operation: String) -> PostgresFailure {
    PostgresFailure(operation: operation, message: String(cString: PQerrorMessage(handle)))
  }

  private static func rows(of result: OpaquePointer) -> PostgresRows {
    let columns = PQnfields(result)
    let rows = (0..<PQntuples(result)).map { row in
      PostgresRow(
        (0..<columns).map { column -> String? in
          PQgetisnull(result, row, column) == 1 ? nil : String(cString: PQgetvalue(result, row, column))
        })
    }
    return PostgresRows(rows: rows, changed: Int(String(cString: PQcmdTuples(result))) ?? 0)
  }
}

/// C strings in an array that ends with NULL. Made by `strdup`, freed with the object, used by one call after
/// the other.
private final class CStrings {
  let pointers: [UnsafePointer<CChar>?]

  /// - Throws: `22021` for a text with a NUL: PostgreSQL would take the part before it for the whole text.
  init(_ texts: [String?]) throws(PostgresFailure) {
    guard !texts.contains(where: { $0?.utf8.contains(0) == true }) else {
      throw PostgresFailure(
        operation: "send", state: "22021", message: "a text contains a NUL, which PostgreSQL cannot save")
    }
    pointers = texts.map { $0.flatMap { UnsafePointer(strdup($0)) } } + [nil]
  }

  deinit { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
}

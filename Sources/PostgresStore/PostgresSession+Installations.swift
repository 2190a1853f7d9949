// Reads and changes installations and the requests for them in a PostgreSQL session.

package import Gate
import JOSE
package import Store

extension PostgresSession {
  /// Takes up to five kinds of locks, always in this order: the list of requests, a user, an installation, an
  /// App Attest key, a phone's key. If the installation is revoked or replaced, its row and its appointments
  /// are locked after these. Each lock ends with the transaction. Changes whose names have the same hash wait
  /// for each other, which costs time and nothing else.
  package func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, receipts: ReceiptReader,
    onOutcome: (InstallationOutcome<Result>) -> Void,
    _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> InstallationOutcome<Result> {
    var outcome: InstallationOutcome<Result>?
    try once { connection, mark throws(PostgresFailure) in
      while true {
        let (writes, made) = try self.tried(scope, at: now, receipts: receipts, connection, mark, body)
        outcome = made
        onOutcome(made)
        if let writes { return writes }
        _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
      }
    } onDoubt: {
      instance.doubt($0)
    }
    guard let outcome else { preconditionFailure("the transaction succeeded without running its body") }
    return outcome
  }

  /// Begins a transaction, and reads and locks what it changes.
  ///
  /// - Returns: The writes; nil if the transaction must start again.
  private func tried<Result>(
    _ scope: InstallationScope, at now: Instant, receipts: ReceiptReader, _ connection: PostgresConnection,
    _ mark: PostgresMark, _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(PostgresFailure) -> (writes: [PostgresCommand]?, InstallationOutcome<Result>) {
    let maker = try self.maker(connection)
    var commands: [PostgresCommand] = [.plain("BEGIN"), mark.command]
    func lock(_ kind: Int, _ name: [UInt8]) {
      commands.append(
        .prepared(
          PostgresStatements.lockName, ["\(kind)", "\(Int32(truncatingIfNeeded: maker.id(of: name).low))"]))
    }
    if scope.userCode != nil { lock(1, []) }
    if let user = scope.user?.user { lock(2, Array("\(user.callerID)\0\(user.subject)".utf8)) }
    lock(3, scope.id.bytes)
    if let key = scope.attestedKey { lock(4, key.bytes) }
    if let key = scope.key { lock(5, key.bytes) }
    let (locks, reads) = (commands.count, scope.reads(at: now))
    let found = try connection.run(
      commands + reads.map { PostgresCommand($0.query, $0.values) }, within: Self.span)
    var view = InstallationView()
    for (read, rows) in zip(reads, found.dropFirst(locks)) {
      for row in rows.rows { try row.read(read.query)(&view) }
    }
    let (change, result) = body(view)
    let writes = change.writes(after: view, of: scope.id).map { PostgresCommand($0) }
    guard let succession = change.succession(of: view) else {
      return (writes, InstallationOutcome(result, ended: []))
    }
    guard let (more, ended) = try succeed(succession, at: now, receipts: receipts, connection) else {
      return (nil, InstallationOutcome(result, ended: []))
    }
    return (writes + more, InstallationOutcome(result, ended: ended))
  }

  package func touchInstallations(_ uses: [InstallationID: Instant]) throws(StoreError) {
    // Sort by id, so that two instances do not wait for each other in a circle.
    let uses = uses.sorted { $0.key < $1.key }
    try read(
      .prepared(
        PostgresStatements.touchInstallations,
        [
          PostgresText.array(uses.map(\.key.id.hex)),
          PostgresText.array(uses.map { "\($0.value.nanosecondsSinceEpoch)" }),
        ])
    ) { _ in }
  }

  package func purgeInstallations(unusedSince unused: [String: Instant], most: Int) throws(StoreError) -> Int
  {
    guard !unused.isEmpty else { return 0 }
    var removed = 0
    try use { connection throws(PostgresFailure) in
      let found = try connection.run(
        unused.map {
          .prepared(
            PostgresStatements.purgeInstallations,
            [$0.key, "\($0.value.nanosecondsSinceEpoch)", "\(most)"])
        }, within: Self.span)
      // Return the largest count of one app: if that portion was full, the rest follows with the next
      // portion.
      removed = found.map(\.changed).max() ?? 0
    }
    return removed
  }

  /// Runs one command and reads a value from its rows.
  func read<Value>(
    _ command: PostgresCommand, _ read: ([PostgresRow]) throws(PostgresFailure) -> Value
  ) throws(StoreError) -> Value {
    var value: Value?
    try use { connection throws(PostgresFailure) in
      _ = try self.maker(connection)
      value = try read(try connection.run([command], within: Self.span)[0].rows)
    }
    guard let value else { preconditionFailure("the command succeeded without being read") }
    return value
  }
}

// How a PostgreSQL session reads and writes installations and the requests for them.

package import Gate
import JOSE
package import Store

extension PostgresSession {
  package func enrolment(userCode: String, at now: Instant) throws(StoreError) -> Enrolment? {
    let command = PostgresCommand.prepared(
      PostgresStatements.enrolmentOfCode, [userCode, "\(now.nanosecondsSinceEpoch)"])
    return try read(command) { rows throws(PostgresFailure) in
      try rows.first.map { row throws(PostgresFailure) in try row.entry() }
    }
  }

  /// Five kinds of locks, always in this order: of the list of requests, of a user, of an installation, of an App Attest key, of a phone's
  /// key. Then, where an installation
  /// is over, its row and its appointments. Each is the transaction's own. Two names with the same hash wait for each other and nothing else.
  package func changeInstallation<Result>(
    _ scope: InstallationScope, at now: Instant, _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(StoreError) -> InstallationOutcome<Result> {
    var outcome: InstallationOutcome<Result>?
    try once { connection, mark throws(PostgresFailure) in
      while true {
        let (writes, made) = try self.tried(scope, at: now, connection, mark, body)
        outcome = made
        if let writes { return writes }
        _ = try connection.run([.plain("ROLLBACK")], within: Self.span)
      }
    }
    guard let outcome else { preconditionFailure("the transaction succeeded without running its body") }
    return outcome
  }

  /// Begins a transaction, and reads and locks what it changes.
  ///
  /// - Returns: The writes; nil if all has to begin anew.
  private func tried<Result>(
    _ scope: InstallationScope, at now: Instant, _ connection: PostgresConnection, _ mark: PostgresMark,
    _ body: (InstallationView) -> (InstallationChange, Result)
  ) throws(PostgresFailure) -> (writes: [PostgresCommand]?, InstallationOutcome<Result>) {
    let time = "\(now.nanosecondsSinceEpoch)"
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
    commands.append(PostgresCommand(InstallationStatements.installation, [.id(scope.id.id)]))
    let installation = commands.count - 1
    func read(_ statement: PostgresStatement, _ parameters: [String?]) -> Int {
      commands.append(.prepared(statement, parameters))
      return commands.count - 1
    }
    let spent = read(PostgresStatements.spentID, [scope.id.id.hex])
    let request = scope.request.map {
      read(PostgresStatements.enrolment, [PostgresText.bytea($0.bytes)])
    }
    let others = scope.user.map {
      read(
        PostgresStatements.installationsOfUser,
        [
          $0.user.subject, $0.user.callerID, $0.appID, "\($0.usedSince.nanosecondsSinceEpoch)",
          scope.id.id.hex,
        ])
    }
    let live = scope.countsLive ? read(PostgresStatements.liveEnrolments, [scope.id.id.hex, time]) : nil
    let pending = scope.userCode.map { _ in read(PostgresStatements.pendingEnrolments, [time]) }
    let sameCode = scope.userCode.map { read(PostgresStatements.enrolmentOfCode, [$0, time]) }
    let sameAttestedKey = scope.attestedKey.map {
      read(PostgresStatements.attestedKey, [PostgresText.bytea($0.bytes), scope.id.id.hex])
    }
    let sameKey = scope.key.map { key in
      commands.append(
        PostgresCommand(InstallationStatements.otherWithKey, [.bytes(key.bytes), .id(scope.id.id)]))
      return commands.count - 1
    }
    let found = try connection.run(commands, within: Self.span)
    var view = InstallationView(
      installation: try found[installation].rows.first.map { row throws(PostgresFailure) in try row.entry() })
    view.isIDSpent = !found[spent].rows.isEmpty
    view.enrolment = try request.flatMap { found[$0].rows.first }.map { row throws(PostgresFailure) in
      try row.entry()
    }
    let count = { (index: Int?) throws(PostgresFailure) in
      Int(try index.flatMap { found[$0].rows.first }?.integer(0) ?? 0)
    }
    view.others = try count(others)
    view.live = try count(live)
    view.pending = try count(pending)
    view.isUserCodeTaken = sameCode.map { !found[$0].rows.isEmpty } ?? false
    view.isAttestedKeyTaken = sameAttestedKey.map { !found[$0].rows.isEmpty } ?? false
    view.isKeyTaken = sameKey.map { !found[$0].rows.isEmpty } ?? false
    let (change, result) = body(view)
    var writes: [PostgresCommand] = []
    if let installation = change.installation {
      writes.append(
        .prepared(PostgresStatements.putInstallation, InstallationColumn.table.arrays(of: [installation])))
    }
    if change.endsDevice(of: view) {
      writes.append(.prepared(PostgresStatements.removeDevice, [scope.id.id.hex]))
    }
    if change.endsOthers {
      writes.append(.prepared(PostgresStatements.endEnrolments, [scope.id.id.hex]))
    }
    if let enrolment = change.enrolment {
      writes.append(.prepared(PostgresStatements.putEnrolment, EnrolmentColumn.table.arrays(of: [enrolment])))
    }
    if let owner = change.crowds(view) {
      writes.append(
        .prepared(
          PostgresStatements.forgetRevoked,
          [owner.subject, owner.callerID, "\(InstallationQuery.mostRevoked)"]))
    }
    guard let succession = change.succession(of: view) else {
      return (writes, InstallationOutcome(result, ended: []))
    }
    guard let (more, ended) = try succeed(succession, at: now, connection) else {
      return (nil, InstallationOutcome(result, ended: []))
    }
    return (writes + more, InstallationOutcome(result, ended: ended))
  }

  package func touchInstallations(_ uses: [InstallationID: Instant]) throws(StoreError) {
    // In the order of their ids: two instances do not wait for each other in a circle.
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

  package func purgeInstallations(at now: Instant, unusedSince unused: [String: Instant], most: Int)
    throws(StoreError) -> Int
  {
    var removed = 0
    try use { connection throws(PostgresFailure) in
      let found = try connection.run(
        [.prepared(PostgresStatements.purgeEnrolments, ["\(now.nanosecondsSinceEpoch)", "\(most)"])]
          + unused.map {
            .prepared(
              PostgresStatements.purgeInstallations,
              [$0.key, "\($0.value.nanosecondsSinceEpoch)", "\(most)"])
          }, within: Self.span)
      // As many as the fullest portion: the rest comes with the next portion.
      removed = found.map(\.changed).max() ?? 0
    }
    return removed
  }

  /// What the rows of one command say.
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

// The SQL statements for changing an installation: the reads before the change and the writes, for both
// databases.

package import Gate
import JOSE

extension InstallationScope {
  /// Adds what a row says to the view of an installation.
  package typealias Note = @Sendable (inout InstallationView) -> Void

  /// The queries to run under the locks of the scope, with their parameters.
  package func reads(at now: Instant) -> [(query: Query<Note>, values: [ColumnValue])] {
    typealias Statements = InstallationStatements
    let (id, time) = (ColumnValue.id(id.id), ColumnValue.time(now))
    var reads: [(query: Query<Note>, values: [ColumnValue])] = [
      (Statements.installation.noting { $1.installation = $0 }, [id]),
      (Statements.spentID.noting { $1.isIDSpent = true }, [id]),
    ]
    if let request {
      reads.append((Statements.enrolment.noting { $1.enrolment = $0 }, [.bytes(request.bytes)]))
    }
    if let user {
      reads.append(
        (
          Statements.ofUser.noting { $1.others = $0 },
          [
            .text(user.user.subject), .text(user.user.callerID), .text(user.appID), .time(user.usedSince), id,
          ]
        ))
    }
    if countsLive { reads.append((Statements.live.noting { $1.live = $0 }, [id, time])) }
    if let userCode {
      reads.append((Statements.pending.noting { $1.pending = $0 }, [time]))
      reads.append((Statements.withCode.noting { $1.isUserCodeTaken = true }, [.text(userCode), time]))
    }
    if let attestedKey {
      reads.append(
        (
          Statements.withAttestedKey.noting { $1.isAttestedKeyTaken = true },
          [.bytes(attestedKey.bytes), id]
        ))
    }
    if let key {
      reads.append((Statements.otherWithKey.noting { $1.isKeyTaken = true }, [.bytes(key.bytes), id]))
    }
    return reads
  }
}

extension Query {
  /// The same query, but each row becomes a change to the view.
  fileprivate func noting(
    _ note: @escaping @Sendable (Row, inout InstallationView) -> Void
  ) -> Query<InstallationScope.Note> {
    Query<InstallationScope.Note>(name, sql, types) { [read] row throws(UnreadableValue) in
      let found = try read(row)
      return { note(found, &$0) }
    }
  }
}

extension InstallationChange {
  /// The statements that write the change, except those for the appointments of a revoked or replaced
  /// installation.
  package func writes(after view: InstallationView, of id: InstallationID) -> [ChangeCall] {
    typealias Statements = InstallationStatements
    var calls: [ChangeCall] = []
    if let installation {
      calls.append(ChangeCall(Statements.put, values: InstallationColumn.table.values(of: installation)))
    }
    if endsDevice(of: view) { calls.append(ChangeCall(NoticeStatements.removeDevice, .id(id.id))) }
    if endsOthers { calls.append(ChangeCall(Statements.endEnrolments, .id(id.id))) }
    if let enrolment {
      calls.append(ChangeCall(Statements.putEnrolment, values: EnrolmentColumn.table.values(of: enrolment)))
    }
    if let owner = crowds(view) {
      calls.append(
        ChangeCall(
          Statements.forgetRevoked, .text(owner.subject), .text(owner.callerID),
          .integer(Int64(InstallationQuery.mostRevoked))))
    }
    return calls
  }
}

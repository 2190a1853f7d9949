// The statements of a store, for tests of the databases' plans.

import Gate
import JOSE
import Sealing

@testable import Store

/// The statements that both databases run.
enum StoreStatements {
  /// The statements that only read.
  static let queries: [String] = callbacks + notices + installations + others

  /// The statements that change rows.
  static let changes: [Change] =
    CallbackStatements.purges + NoticeStatements.purges + [
      CallbackStatements.renewAlias,
      NoticeStatements.put, NoticeStatements.putDevice, NoticeStatements.removeDeviceElsewhere,
      NoticeStatements.removeDevice, NoticeStatements.freeNames, NoticeStatements.forgetOldNames,
      NoticeStatements.putClaim, NoticeStatements.forgetOldClaims,
      InstallationStatements.put, InstallationStatements.confirmRevocation,
      InstallationStatements.forgetRevoked, InstallationStatements.putEnrolment,
      InstallationStatements.endEnrolments, InstallationStatements.purgeEnrolments,
      LoginStatements.save, LoginStatements.removeOldest, LoginStatements.purge,
      MetaStatements.save, MetaStatements.add, MetaStatements.replace, MetaStatements.forget,
      SharedSecretStatements.save, StopStatements.stop, StopStatements.resume, StopStatements.purge,
      StopStatements.purgeAllowances,
      ProvenNumberStatements.remember, ProvenNumberStatements.forgetOldest,
      ProvenNumberStatements.forgetBeyond, ProvenNumberStatements.purge,
      NumberStatements.saveKey, NumberStatements.raiseSerial, NumberStatements.block,
      NumberStatements.unblock, NumberStatements.purge,
      ScreeningStatements.save, ScreeningStatements.removeOldest, ScreeningStatements.forget,
      ScreeningStatements.purge,
    ]
    + SealedTable.all.flatMap {
      [$0.replacing(sealed, by: [1]).change, $0.replacing(sealed, by: nil).change]
    }

  private static let sealed = SealedValue(id: StoredNotice.noCallback.bytes, sealed: [], for: .sealing)

  private static let callbacks: [String] =
    [
      CallbackStatements.record, CallbackStatements.due, CallbackStatements.withoutOrigin,
      CallbackStatements.appointments, CallbackStatements.ofCall, CallbackStatements.alias,
      CallbackStatements.numberedAliases, CallbackStatements.page(nil),
    ].map(\.sql) + StoredCallback.Status.allCases.map { CallbackStatements.page($0).sql } + [
      CallbackStatements.lastWithoutNumbers.sql, CallbackStatements.firstWithNumbers.sql,
      CallbackStatements.takenPlaces.sql, CallbackStatements.pendingAppointments.sql,
      CallbackStatements.scheduledAppointments.sql, CallbackStatements.key.sql, CallbackStatements.place.sql,
    ]
  private static let notices: [String] = [
    NoticeStatements.dueQuestions.sql, NoticeStatements.dueNews.sql, NoticeStatements.givenQuestions.sql,
    NoticeStatements.givenNews.sql, NoticeStatements.notice.sql, NoticeStatements.device.sql,
    NoticeStatements.usersOfName.sql, NoticeStatements.claim.sql,
  ]
  private static let installations: [String] =
    [
      InstallationStatements.installation.sql, InstallationStatements.spentID.sql,
      InstallationStatements.ofUser.sql, InstallationStatements.withAttestedKey.sql,
      InstallationStatements.withKey.sql, InstallationStatements.otherWithKey.sql,
      InstallationStatements.ofSubject.sql, InstallationStatements.enrolment.sql,
      InstallationStatements.withCode.sql, InstallationStatements.live.sql,
      InstallationStatements.pending.sql, InstallationStatements.enrolmentCounts.sql,
    ]
    + [false, true].flatMap { isRevoked in
      let portion = InstallationStatements.portion(isRevoked: isRevoked)
      return [
        InstallationStatements.page(isRevoked: isRevoked).sql, portion.last.sql, portion.rest.sql,
      ]
    } + [InstallationQuery.State.pending, .approved, .denied].map { InstallationStatements.page($0).sql }
  private static let others: [String] =
    [
      LoginStatements.logins.sql, MetaStatements.named(StoredTrigger.self).sql, MetaStatements.read.sql,
      SharedSecretStatements.read.sql, StopStatements.stops.sql, ProvenNumberStatements.proven.sql,
      NumberStatements.key.sql, NumberStatements.blocked.sql, NumberStatements.changes.sql,
      ScreeningStatements.verdict.sql,
    ]
    + SealedTable.all.flatMap { [$0.question(parameter: "$1"), $0.values(most: 250).sql] }
}

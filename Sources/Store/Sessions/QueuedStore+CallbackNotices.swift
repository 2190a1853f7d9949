// The store's operations on notifications of callbacks, run in database sessions.

package import Gate
package import JOSE

extension QueuedStore {
  package func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) async throws(StoreError) -> [DueNotice] {
    try await sessions.call(.reads) { session throws(StoreError) in
      let due = { (query: Query<DueNotice?>, times: ClosedRange<Instant>) throws(StoreError) in
        try session.rows(
          query,
          [.time(times.lowerBound), .time(times.upperBound), .text(platform), .integer(Int64(most))])
      }
      let found =
        try due(NoticeStatements.dueQuestions, questions) + due(NoticeStatements.dueNews, news)
        + due(NoticeStatements.givenQuestions, questions) + due(NoticeStatements.givenNews, news)
      return found.compactMap(\.self).earliest(most)
    }
  }

  package func takeNotice(
    _ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant
  ) async throws(StoreError) -> Bool {
    try await sessions.commit { onResult in
      .callback(.takeNotice(notice, id: id, until: lease, at: now, onResult))
    }
  }

  package func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError) {
    let _: Bool = try await sessions.commit { onResult in .callback(.settleNotice(notice, outcome, onResult))
    }
  }

  package func notice(_ id: SHA256Digest) async throws(StoreError) -> FoundNotice? {
    try await rows(NoticeStatements.notice, .bytes(id.bytes)).first
  }

  package func reschedule(
    _ change: Rescheduling, at now: Instant
  ) async throws(StoreError) -> ReschedulingResult {
    try health.checkClock()
    return try await sessions.commit { onResult in .callback(.reschedule(change, at: now, onResult)) }
  }

  package func told(_ id: CallbackID) async throws(StoreError) {
    let _: Bool = try await sessions.commit { onResult in .callback(.told(id, onResult)) }
  }
}

// The notices of callbacks of a store over database sessions.

package import Gate
package import JOSE

extension QueuedStore {
  package func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) async throws(StoreError) -> [DueNotice] {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.dueNotices(on: platform, questions: questions, news: news, most: most)
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
    try await sessions.call(.reads) { session throws(StoreError) in try session.notice(id) }
  }

  package func reschedule(
    _ change: Rescheduling, at now: Instant
  ) async throws(StoreError) -> ReschedulingResult {
    try await sessions.commit { onResult in .callback(.reschedule(change, at: now, onResult)) }
  }

  package func told(_ id: CallbackID) async throws(StoreError) {
    let _: Bool = try await sessions.commit { onResult in .callback(.told(id, onResult)) }
  }
}

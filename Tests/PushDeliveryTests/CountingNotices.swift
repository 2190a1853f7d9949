// A store of notifications that counts the cost of finding due ones.

import Gate
import JOSE
import Store
import Synchronization

/// The notifications of another store. Counts the queries for due ones, and the records that these read: all
/// in the queried times, whether or not their devices belong to the provider.
final class CountingNotices: CallbackNoticeStore {
  private let store: any CallbackNoticeStore
  private let counts = Mutex((looks: 0, rows: 0))

  init(_ store: any CallbackNoticeStore) { self.store = store }

  var looks: Int { counts.withLock { $0.looks } }
  var rows: Int { counts.withLock { $0.rows } }

  func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) async throws(StoreError) -> [DueNotice] {
    var rows = 0
    for platform in ["fcm", "apns", "http"] {
      rows += try await store.dueNotices(on: platform, questions: questions, news: news, most: .max).count
    }
    counts.withLock { $0 = ($0.looks + 1, $0.rows + rows) }
    return try await store.dueNotices(on: platform, questions: questions, news: news, most: most)
  }

  func takeNotice(_ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant)
    async throws(StoreError) -> Bool
  {
    try await store.takeNotice(notice, id: id, until: lease, at: now)
  }
  func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError) {
    try await store.settleNotice(notice, outcome)
  }
  func notice(_ id: SHA256Digest) async throws(StoreError) -> FoundNotice? { try await store.notice(id) }
  func reschedule(_ change: Rescheduling, at now: Instant) async throws(StoreError) -> ReschedulingResult {
    try await store.reschedule(change, at: now)
  }
  func told(_ id: CallbackID) async throws(StoreError) { try await store.told(id) }
}

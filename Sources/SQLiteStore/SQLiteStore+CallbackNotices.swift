// The notices of callbacks of the SQLite store.

public import Gate
public import JOSE
public import Store

extension SQLiteStore {
  public func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) async throws(StoreError) -> [DueNotice] {
    try await sessions.call(.reads) { session throws(StoreError) in
      try session.dueNotices(on: platform, questions: questions, news: news, most: most)
    }
  }

  public func takeNotice(
    _ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant
  ) async throws(StoreError) -> Bool {
    try await sessions.takeNotice(notice, id: id, until: lease, at: now)
  }

  public func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError) {
    try await sessions.settleNotice(notice, outcome)
  }

  public func notice(_ id: SHA256Digest) async throws(StoreError) -> FoundNotice? {
    try await sessions.call(.reads) { session throws(StoreError) in try session.notice(id) }
  }

  public func reschedule(
    _ change: Rescheduling, at now: Instant
  ) async throws(StoreError) -> ReschedulingResult {
    try await sessions.reschedule(change, at: now)
  }

  public func told(_ id: CallbackID) async throws(StoreError) { try await sessions.told(id) }

  /// Forgets notices after a day, in portions, so that other work gets its turn between.
  func purgeNotices(at now: Instant) async throws(StoreError) -> Int {
    var total = 0
    while true {
      let removed = try await sessions.call(.updates) { session throws(StoreError) in
        try session.purgeNotices(madeUpTo: now.claimHorizon, most: 500)
      }
      total += removed
      if removed < 500 { return total }
    }
  }
}

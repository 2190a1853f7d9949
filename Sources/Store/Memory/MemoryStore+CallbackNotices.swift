// The notices of callbacks of the store in memory.

public import Gate
public import JOSE
import Synchronization

extension MemoryStore {
  public func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) -> [DueNotice] {
    let records = callbacks.withLock { $0.noticed(questions: questions, news: news) }
    return Array(
      records.lazy.compactMap { record in
        guard let named = record.notices?.installation,
          let installation = self.installation(named.id),
          installation.isSame(as: named, made: record.createdAt),
          let device = self.device(of: installation.identity), device.platform == platform
        else { return nil }
        return DueNotice(record, to: device)
      }.prefix(most))
  }

  public func takeNotice(_ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant) -> Bool
  {
    callbacks.withLock { $0.takeNotice(notice, id: id, until: lease, at: now) }
  }

  public func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) {
    callbacks.withLock { $0.settleNotice(notice, outcome) }
  }

  public func notice(_ id: SHA256Digest) -> FoundNotice? { callbacks.withLock { $0.notice(id) } }

  public func reschedule(_ change: Rescheduling, at now: Instant) -> ReschedulingResult {
    callbacks.withLock { $0.reschedule(change, at: now) }
  }

  public func told(_ id: CallbackID) { callbacks.withLock { $0.told(id) } }
}

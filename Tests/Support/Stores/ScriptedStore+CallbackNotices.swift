// The notices of callbacks of a store for tests: those of the memory behind it.

package import Gate
package import JOSE
package import Store

extension ScriptedStore {
  package func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) -> [DueNotice] {
    memory.dueNotices(on: platform, questions: questions, news: news, most: most)
  }
  package func takeNotice(_ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant)
    -> Bool
  {
    memory.takeNotice(notice, id: id, until: lease, at: now)
  }
  package func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) {
    memory.settleNotice(notice, outcome)
  }
  package func notice(_ id: SHA256Digest) -> FoundNotice? { memory.notice(id) }
  package func reschedule(_ change: Rescheduling, at now: Instant) -> ReschedulingResult {
    memory.reschedule(change, at: now)
  }
  package func told(_ id: CallbackID) { memory.told(id) }
}

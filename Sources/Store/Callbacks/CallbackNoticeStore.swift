// The protocol for notices of callbacks, which are found in the records of the callbacks.

public import Gate
public import JOSE

/// The queue of notices of callbacks. A record says which notice it waits for, so one write changes the callback and its notice.
///
/// Any instance may find a due notice, and the one whose `takeNotice` the store accepts sends it. If that
/// instance ends before it has settled the notice, the notice is due again when the lease expires. So each
/// notice is sent at least once.
public protocol CallbackNoticeStore: Sendable {
  /// The due notices to devices of one platform, the earliest first.
  ///
  /// - Parameters:
  ///   - questions: When questions are due.
  ///   - news: When notices of ends are due.
  func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) async throws(StoreError) -> [DueNotice]

  /// Takes a due notice for sending until a lease expires, and saves the digest of its id.
  ///
  /// - Returns: Whether this process may send it. False if another instance has taken it, or if the callback
  ///   has changed.
  func takeNotice(
    _ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant
  ) async throws(StoreError) -> Bool

  /// Saves the outcome of a notice that this process took. If the callback has changed since, its notice
  /// stays as it is.
  func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError)

  /// A notice that was taken for sending, and its callback; nil if the notice is unknown or was purged.
  /// `purge` deletes notices 24 h after they were first taken.
  func notice(_ id: SHA256Digest) async throws(StoreError) -> FoundNotice?

  /// Gives a `scheduled` appointment another time, if its serial number is still that of the notice that was answered. So of any
  /// number of answers to a notice exactly one succeeds.
  func reschedule(_ change: Rescheduling, at now: Instant) async throws(StoreError) -> ReschedulingResult

  /// Records that the app has read the end of a callback in a response, so that no notice is sent for it. A
  /// callback that has not ended, or whose notice is settled, stays as it is.
  func told(_ id: CallbackID) async throws(StoreError)
}

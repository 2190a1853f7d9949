// The protocol for push notifications about callbacks. The callback records say which ones are due.

public import Gate
public import JOSE

/// The queue of notifications of callbacks. Each record contains the notification that it waits for, so that
/// one write changes the callback and its notification.
///
/// Any instance may find a due notification. The instance whose `takeNotice` succeeds sends it. If that
/// instance ends before it has settled the notification, the notification is due again when the lease
/// expires. So each notification is sent at least once, unless it is given up.
public protocol CallbackNoticeStore: Sendable {
  /// The due notifications to devices of one platform, the earliest first.
  ///
  /// - Parameters:
  ///   - questions: The range of due times for questions before appointments.
  ///   - news: The range of due times for news of ended callbacks.
  func dueNotices(
    on platform: String, questions: ClosedRange<Instant>, news: ClosedRange<Instant>, most: Int
  ) async throws(StoreError) -> [DueNotice]

  /// Reserves a due notification for this process until a lease expires, and saves the digest of the
  /// notification's id.
  ///
  /// - Returns: Whether this process may send the notification. False if another instance has reserved it, or
  ///   if the callback has changed.
  func takeNotice(
    _ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant
  ) async throws(StoreError) -> Bool

  /// Saves the outcome of a notification that this process has reserved. If the callback has changed since,
  /// its notification stays as it is.
  func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError)

  /// A notification that an instance has begun to send, and its callback; nil if the notification is unknown
  /// or was purged. `purge` deletes notifications 24 h after they were first reserved.
  func notice(_ id: SHA256Digest) async throws(StoreError) -> FoundNotice?

  /// Gives a `scheduled` appointment another time, if its serial number and time are still those of the
  /// notification that was answered. So only one of several answers to a notification succeeds.
  func reschedule(_ change: Rescheduling, at now: Instant) async throws(StoreError) -> ReschedulingResult

  /// Records that the app has read the end of a callback in a response, so that no notification is sent for
  /// it. A callback that has not ended, or whose notification is settled, stays as it is.
  func told(_ id: CallbackID) async throws(StoreError)
}

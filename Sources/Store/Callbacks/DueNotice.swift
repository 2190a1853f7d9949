// A push notification that is due, and the record of one that an instance has begun to send.

public import Gate
public import JOSE

/// A notification that is due now or soon, and the device that gets it.
public struct DueNotice: Hashable, Sendable {
  /// The callback, as read with the notification.
  public let record: StoredCallback
  /// The notification's request to the app.
  public let action: NoticeAction
  /// The serial number of the notification (`CallbackNotices.serial`).
  public let serial: Int
  /// The time to send the notification.
  public let due: Instant
  /// The number of failed tries.
  public let tries: Int
  /// The device that the record's installation has registered; nil if the record's own device gets the
  /// notification.
  public let device: StoredDevice?
  /// The installation that gets the notification, or the stand-in for the record's own device.
  public let installation: InstallationIdentity
  /// The service that carries the notification to the device.
  public let platform: String

  /// Nil if the record has no notification to send, or no device gets it.
  ///
  /// - Parameter device: The device that the record's installation has registered; nil for the record's own
  ///   device.
  package init?(_ record: StoredCallback, to device: StoredDevice? = nil) {
    guard let notices = record.notices, notices.state == .waiting, let due = notices.next,
      let action = record.noticeAction
    else { return nil }
    guard let platform = device?.platform ?? notices.device?.platform else { return nil }
    self.platform = platform
    installation = device?.installation ?? notices.installation
    self.record = record
    self.action = action
    serial = notices.serial
    self.due = due
    tries = notices.tries
    self.device = device
  }

  /// The time from which the notification is useless: the appointment's time for a question, an hour after
  /// the end for news.
  public var ends: Instant {
    action.asks
      ? record.at ?? due : (record.settledAt ?? due).advanced(by: CallbackNotices.newsLife)
  }
}

/// A notification that an instance has begun to send, about a callback or about a device that was replaced.
public struct StoredNotice: Hashable, Sendable {
  /// SHA-256 of the notification's id. The store never has the id itself.
  public let id: SHA256Digest
  /// The callback; nil for the notification of a device that was replaced.
  public let callback: CallbackID?
  /// The installation that gets the notification. The server does not show it to any other installation.
  public let installation: InstallationIdentity
  public let action: NoticeAction
  /// The serial number of the notification when it was reserved; 0 without a callback.
  public let serial: Int
  /// When the notification was first reserved.
  public let created: Instant

  /// The content of the column `callback` for a notification without a callback.
  package static let noCallback = StoreID(high: 0, low: 0)

  package init(
    id: SHA256Digest, callback: CallbackID?, installation: InstallationIdentity, action: NoticeAction,
    serial: Int,
    created: Instant
  ) {
    self.id = id
    self.callback = callback
    self.installation = installation
    self.action = action
    self.serial = serial
    self.created = created
  }
}

extension StoredNotice {
  /// The notification to a device that was replaced by another one.
  package init(ofDevice replaced: StoredDevice, id: SHA256Digest, created: Instant) {
    self.init(
      id: id, callback: nil, installation: replaced.installation, action: .changed, serial: 0,
      created: created)
  }
}

/// A notification with its callback, both read in one statement.
public struct FoundNotice: Hashable, Sendable {
  public let notice: StoredNotice
  /// The callback; nil if the notification has none, or if the record was deleted.
  public let record: StoredCallback?

  package init(notice: StoredNotice, record: StoredCallback?) {
    self.notice = notice
    self.record = record
  }

  /// Whether the customer can still answer the notification: it asks about the current time of a `scheduled`
  /// appointment. Each answer, move or end, and the call, make the notification invalid without another
  /// write.
  public var isLive: Bool {
    notice.action.asks && record?.status == .scheduled
      && record?.notices?.serial == notice.serial
  }
}

/// The outcome of a notification that an instance has reserved.
public enum NoticeOutcome: Hashable, Sendable {
  /// The provider accepted the notification.
  case taken
  /// The notification waits for another try. `tries` is the number of failed ones.
  case again(at: Instant, tries: Int)
  /// The notification was given up.
  case dropped
}

/// A new time for an appointment, chosen in a dialog. An appointment whose time changes gives its place in
/// its slot back and takes no other place.
public struct Rescheduling: Hashable, Sendable {
  public let id: CallbackID
  /// The serial number of the notification that was answered; 0 for an appointment without notifications.
  public let serial: Int
  /// The time of the appointment that the customer was asked about. If the appointment has another time by
  /// now, nothing changes.
  public let from: Instant
  /// The new time of the call.
  public let at: Instant
  /// When the customer is asked again to confirm; nil if the customer is not asked.
  public let confirmAt: Instant?
  /// The latest end of the appointment, as in its intent.
  public let deadline: Instant
  /// The maximum number of snoozes; nil if this change is not a snooze.
  public let mostSnoozes: Int?

  public init(
    id: CallbackID, serial: Int, from: Instant, at: Instant, confirmAt: Instant?, deadline: Instant,
    mostSnoozes: Int?
  ) {
    self.id = id
    self.serial = serial
    self.from = from
    self.at = at
    self.confirmAt = confirmAt
    self.deadline = deadline
    self.mostSnoozes = mostSnoozes
  }
}

/// The result of `reschedule`.
public enum ReschedulingResult: Hashable, Sendable {
  /// The appointment has the new time. Its notifications, if it has any, have the next serial number.
  case rescheduled(StoredCallback)
  /// Nothing was changed: the appointment is no longer `scheduled`, has another serial number or time, or was
  /// already snoozed the maximum number of times.
  case tooLate(StoredCallback)
  /// There is no such appointment.
  case missing
}

extension [DueNotice] {
  /// The earliest of these notifications.
  package func earliest(_ most: Int) -> [DueNotice] { Array(sorted { $0.due < $1.due }.prefix(most)) }
}

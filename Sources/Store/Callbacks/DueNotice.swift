// A notice of a callback that is due, and the record of a notice that was sent.

public import Gate
public import JOSE

/// A notice that is due now or soon, and the device that gets it.
public struct DueNotice: Hashable, Sendable {
  /// The callback as it was read.
  public let record: StoredCallback
  /// What the notice says.
  public let action: NoticeAction
  /// The serial number of the record.
  public let serial: Int
  /// When it is to be sent.
  public let due: Instant
  /// The number of failed tries.
  public let tries: Int
  /// The device that the record's installation has registered; nil if the record's own device gets the
  /// notice.
  public let device: StoredDevice?
  /// The installation, or the stand-in for the record's own device.
  public let installation: InstallationIdentity
  /// The service that carries the notice to the device.
  public let platform: String

  /// Nil if the record has no notice to send.
  ///
  /// - Parameter device: The device of its installation; nil for the record's own.
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

  /// The time from which the notice is of no use.
  public var ends: Instant {
    action.asks
      ? record.at ?? due : (record.settledAt ?? due).advanced(by: CallbackNotices.newsLife)
  }
}

/// A notice of a callback that an instance has taken for sending.
public struct StoredNotice: Hashable, Sendable {
  /// SHA-256 of the notice's id. The store never has the id itself.
  public let id: SHA256Digest
  /// The callback; nil for the notice of a device that was replaced.
  public let callback: CallbackID?
  /// The installation that gets it. For any other installation, the notice is unknown.
  public let installation: InstallationIdentity
  public let action: NoticeAction
  /// The serial number that the record had.
  public let serial: Int
  /// When it was first taken.
  public let created: Instant

  /// The content of the column `callback` without a callback.
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
  /// The notice of a device in whose place another one was registered.
  package init(ofDevice replaced: StoredDevice, id: SHA256Digest, created: Instant) {
    self.init(
      id: id, callback: nil, installation: replaced.installation, action: .changed, serial: 0,
      created: created)
  }
}

/// A notice with its callback, both read at once.
public struct FoundNotice: Hashable, Sendable {
  public let notice: StoredNotice
  /// Its callback; nil if the record is gone.
  public let record: StoredCallback?

  package init(notice: StoredNotice, record: StoredCallback?) {
    self.notice = notice
    self.record = record
  }

  /// Whether the customer can still answer it: the notice asks about the current time of a `scheduled`
  /// appointment. So each answer, each move, each end and the call itself make it invalid, without another
  /// write.
  public var isLive: Bool {
    notice.action.asks && record?.status == .scheduled
      && record?.notices?.serial == notice.serial
  }
}

/// The outcome of a notice that an instance took.
public enum NoticeOutcome: Hashable, Sendable {
  /// The provider accepted the notice.
  case taken
  /// The notice waits for another try, after this many failed ones.
  case again(at: Instant, tries: Int)
  /// The notice is given up.
  case dropped
}

/// A new time for an appointment, chosen in a dialog. An appointment whose time changes gives its place in
/// its slot back and takes no new place.
public struct Rescheduling: Hashable, Sendable {
  public let id: CallbackID
  /// The serial number of the notice that was answered; 0 for an appointment without notices.
  public let serial: Int
  /// The time of the appointment that the customer was asked about. If the appointment has another time by
  /// now, nothing changes.
  public let from: Instant
  /// When the phone is to ring.
  public let at: Instant
  /// When the customer is asked again; nil for never.
  public let confirmAt: Instant?
  /// The latest end of the appointment, as in its intent.
  public let deadline: Instant
  /// How often a customer may snooze; nil if this is not a snooze.
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
  /// The appointment has the new time, and the next serial number.
  case rescheduled(StoredCallback)
  /// Nothing was changed: the appointment is no longer `scheduled`, has another serial number or time, or was
  /// snoozed as often as allowed.
  case tooLate(StoredCallback)
  /// There is no such appointment.
  case missing
}

extension [DueNotice] {
  /// The earliest of these notices.
  package func earliest(_ most: Int) -> [DueNotice] { Array(sorted { $0.due < $1.due }.prefix(most)) }
}

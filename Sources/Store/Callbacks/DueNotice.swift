// A notice of a callback that is to be sent, and what the store keeps of one that was.

public import Gate
public import JOSE

/// A notice whose time has come or is near, and who gets it.
public struct DueNotice: Hashable, Sendable {
  /// The callback as it was read.
  public let record: StoredCallback
  /// What the notice says.
  public let action: NoticeAction
  /// The serial number of the record.
  public let serial: Int
  /// When it is to be sent.
  public let due: Instant
  /// How often it was tried in vain.
  public let tries: Int
  /// The device that the record's installation has registered; nil where the device of the record gets it.
  public let device: StoredDevice?
  /// The installation, or what stands for the record's device in its place.
  public let installation: InstallationIdentity
  /// The service that carries it.
  public let platform: String

  /// Nil where the record has no notice to send.
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

  /// From when on it is of no use.
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
  /// The installation that gets it: to another one it is unknown.
  public let installation: InstallationIdentity
  /// What it says.
  public let action: NoticeAction
  /// The serial number that the record had.
  public let serial: Int
  /// When it was first taken.
  public let created: Instant

  /// What the column `callback` has where there is none.
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

/// A notice with its callback, both from one reading.
public struct FoundNotice: Hashable, Sendable {
  /// The notice.
  public let notice: StoredNotice
  /// Its callback; nil where the record is gone.
  public let record: StoredCallback?

  package init(notice: StoredNotice, record: StoredCallback?) {
    self.notice = notice
    self.record = record
  }

  /// Whether the customer can still answer it: it asks about an appointment that waits for the time that it asked about. So
  /// each answer, each move, each end and the call itself spend it, without another write.
  public var isLive: Bool {
    notice.action.asks && record?.status == .scheduled
      && record?.notices?.serial == notice.serial
  }
}

/// What became of a notice that an instance took.
public enum NoticeOutcome: Hashable, Sendable {
  /// The provider has it.
  case taken
  /// It waits for another try, after this many in vain.
  case again(at: Instant, tries: Int)
  /// It is given up.
  case dropped
}

/// Another time of an appointment by a dialog. A later or earlier one takes no place in a slot, and gives back the one that the appointment has.
public struct Rescheduling: Hashable, Sendable {
  /// The appointment.
  public let id: CallbackID
  /// The serial number of the notice that was answered; 0 for an appointment without notices.
  public let serial: Int
  /// The time of the appointment that the customer was asked about. If it has another one meanwhile, nothing changes.
  public let from: Instant
  /// When the phone is to ring.
  public let at: Instant
  /// When the customer is asked again; nil for never.
  public let confirmAt: Instant?
  /// When the appointment is over at the latest, as in its intent.
  public let deadline: Instant
  /// How often a customer may snooze; nil where this is no snooze.
  public let mostSnoozes: Int?

  /// Another time.
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
  /// It has the new time, and the next serial number.
  case rescheduled(StoredCallback)
  /// Nothing was changed: it is not `scheduled` any more, has another serial number, or was snoozed as often as it may.
  case tooLate(StoredCallback)
  /// There is no such appointment.
  case missing
}

extension [DueNotice] {
  /// The earliest of them.
  package func earliest(_ most: Int) -> [DueNotice] { Array(sorted { $0.due < $1.due }.prefix(most)) }
}

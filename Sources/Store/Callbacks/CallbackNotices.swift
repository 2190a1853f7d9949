// The notifications of a callback record: which device gets the push notifications, and the state of the
// current one.

public import Gate

/// The notifications of a callback. At most one waits at a time: the question before an appointment, or the
/// news of an end.
public struct CallbackNotices: Hashable, Sendable {
  /// The state of the current notification.
  public enum State: String, Sendable {
    /// The notification waits for its time, or for another try.
    case waiting
    /// The provider accepted the notification.
    case taken
    /// The notification was given up: the provider refused it, every try failed, its time has passed, its
    /// device can no longer be used, or its installation was revoked.
    case dropped
    /// The app has read the end of the callback in a response, so no notification is sent.
    case told
  }

  /// How long after the end of a callback its notification is sent at most.
  public static let newsLife = Duration.seconds(3600)
  /// The time between an end and its notification. Meanwhile, the app may learn of the end from the response
  /// that the server is writing.
  public static let grace = Duration.seconds(1)

  /// The installation that gets the notifications, or the stand-in for `device`.
  public internal(set) var installation: InstallationIdentity
  /// The device that the callback's request named; nil if an installation's device gets the notifications, if
  /// no notification is left to send, or if no store key could open the device's token.
  package internal(set) var device: GivenDevice?
  /// When the installation is asked to confirm the appointment; nil if it is not asked.
  public internal(set) var confirmAt: Instant?
  /// The serial number of the current notification. Each move, snooze and immediate connection of an
  /// appointment raises it. So do the correction of an end, the news of a call's outcome, and a question that
  /// is repeated to a new installation. The `_id` in the push message differs for each serial number.
  public internal(set) var serial: Int
  public internal(set) var state: State
  /// When an instance sends the current notification next; nil if there is nothing to send.
  package internal(set) var next: Instant?
  /// The number of failed tries.
  package internal(set) var tries: Int

  package init(
    installation: InstallationIdentity, device: GivenDevice? = nil, confirmAt: Instant?, serial: Int = 1,
    state: State = .waiting, next: Instant?, tries: Int = 0
  ) {
    self.installation = installation
    self.device = device
    self.confirmAt = confirmAt
    self.serial = serial
    self.state = state
    self.next = next
    self.tries = tries
  }

  /// The notifications of a new record; nil if no device gets any.
  ///
  /// - Parameter end: The latest end of the callback, in nanoseconds since the epoch.
  init?(_ intent: CallbackIntent, confirmAt: Instant?, end: Int64) {
    guard let installation = intent.notifies else { return nil }
    self.init(
      installation: installation, device: intent.device?.lasting(until: end), confirmAt: confirmAt,
      next: confirmAt)
  }

  /// Extends the expiry of the device to a new latest end of the callback, in nanoseconds since the epoch.
  mutating func last(until end: Int64) { device = device?.lasting(until: end) }

  /// Schedules the question about a new time of the appointment, or none if `time` is nil.
  mutating func ask(at time: Instant?) {
    serial += 1
    confirmAt = time
    begin(at: time)
  }

  /// Schedules the notification of an end at a time.
  mutating func end(at time: Instant) { begin(at: time.advanced(by: Self.grace)) }

  /// Gives the notification of a corrected end another serial number, so that a provider's response to the
  /// first notification does not settle it.
  mutating func correct() { serial += 1 }

  /// Schedules another notification of the end, because the call's outcome is known now.
  mutating func tellAgain(at time: Instant) {
    serial += 1
    end(at: time)
  }

  /// Moves the notifications to another installation. A question about the appointment is asked again with
  /// another serial number, because the earlier number belongs to the previous installation.
  mutating func pass(to installation: InstallationIdentity) {
    self.installation = installation
    if let confirmAt { ask(at: confirmAt) }
  }

  /// Gives up all notifications, so that no device gets another one.
  mutating func drop() { settle(.dropped, isLast: true) }

  /// Records that the app has read the end.
  mutating func tell() { settle(.told, isLast: true) }

  /// Settles the current notification. If it is the last one, the callback's own device is deleted.
  mutating func settle(_ state: State, isLast: Bool) {
    self.state = state
    next = nil
    if isLast { device = nil }
  }

  private mutating func begin(at time: Instant?) {
    state = .waiting
    next = time
    tries = 0
  }
}

/// The request of a notification to the app, in the words of the push protocol.
public enum NoticeAction: String, Sendable, CaseIterable {
  /// Confirm the appointment, and expect the tones of a verification code.
  case confirmWithCode = "get-dialog-user-confirmation-provide_code-true"
  /// Confirm the appointment.
  case confirm = "get-dialog-user-confirmation-provide_code-false"
  /// The callback has ended: read its record.
  case changed
  /// The appointment's time passed before the call could be made.
  case expired
  /// The call comes now. This notification is sent when Talkdesk gets the callback, in addition to the
  /// current notification.
  case calling

  /// Whether the notification is the question before an appointment.
  public var asks: Bool { self == .confirm || self == .confirmWithCode }
}

extension StoredCallback {
  /// The action of the current notification; nil while the callback is `pending`.
  public var noticeAction: NoticeAction? {
    switch status {
    case .scheduled: verificationCode == nil ? .confirm : .confirmWithCode
    case .pending: nil
    case .expired: .expired
    case .accepted, .failed, .unknown, .cancelled: .changed
    }
  }

  /// Whether the callback has ended and its app may not know that yet.
  public var waitsToBeTold: Bool { status.isFinal && notices?.state == .waiting }
}

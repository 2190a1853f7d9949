// The notices of a callback record: which installation gets the push notifications, and the state of the
// current one.

public import Gate

/// The notices of a callback. At most one waits at a time: the question before an appointment, or the news of the end.
public struct CallbackNotices: Hashable, Sendable {
  /// The state of the current notice.
  public enum State: String, Sendable {
    /// The notice waits for its time, or for another try.
    case waiting
    /// The provider accepted the notice.
    case taken
    /// The notice was given up: every try failed, or its time has passed.
    case dropped
    /// The app has read the end of the callback in a response, so no notice is sent.
    case told
  }

  /// A notice about an ended callback is sent for up to this long.
  public static let newsLife = Duration.seconds(3600)
  /// The time between an end and its notice. Meanwhile, the app may learn of the end from the response that
  /// is being written.
  public static let grace = Duration.seconds(1)

  /// The installation that gets the notices, or the stand-in for `device`.
  public internal(set) var installation: InstallationIdentity
  /// The device that the callback's request named; nil if an installation's device gets the notices, or if no
  /// notice is left to send.
  package internal(set) var device: GivenDevice?
  /// When the installation is asked to confirm the appointment; nil if it is not asked.
  public internal(set) var confirmAt: Instant?
  /// The serial number of the current notice. Each move, snooze and immediate connection of an appointment
  /// raises it, and so do the correction of an end and the news of a call's outcome. Each serial number has
  /// its own `_id`.
  public internal(set) var serial: Int
  public internal(set) var state: State
  /// When an instance takes the current notice next; nil if there is nothing to send.
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

  /// The notices of a new record; nil if no device gets any.
  ///
  /// - Parameter end: The latest end of the callback, in nanoseconds since the epoch.
  init?(_ intent: CallbackIntent, confirmAt: Instant?, end: Int64) {
    guard let installation = intent.notifies else { return nil }
    self.init(
      installation: installation, device: intent.device?.lasting(until: end), confirmAt: confirmAt,
      next: confirmAt)
  }

  /// Keeps the device of the callback for a new latest end.
  mutating func last(until end: Int64) { device = device?.lasting(until: end) }

  /// Schedules the question about a new time of the appointment, or none if `time` is nil.
  mutating func ask(at time: Instant?) {
    serial += 1
    confirmAt = time
    begin(at: time)
  }

  /// Schedules the notice of the end.
  mutating func end(at time: Instant) { begin(at: time.advanced(by: Self.grace)) }

  /// Gives the notice of a corrected end another serial number, so that a provider's response to the first
  /// notice does not settle it.
  mutating func correct() { serial += 1 }

  /// Schedules another notice of the end, because there is more to report.
  mutating func tellAgain(at time: Instant) {
    serial += 1
    end(at: time)
  }

  /// Moves the notices to another installation. A question that waits for an answer is asked again with
  /// another serial number, because the earlier number belongs to the previous installation.
  mutating func pass(to installation: InstallationIdentity) {
    self.installation = installation
    if let confirmAt { ask(at: confirmAt) }
  }

  /// Gives up the notices, so that no device gets another one.
  mutating func drop() { settle(.dropped, isLast: true) }

  /// Records that the app has read the end.
  mutating func tell() { settle(.told, isLast: true) }

  /// Settles the current notice. After the last one, the device of the callback is deleted.
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

/// What a notice asks of the app, in the words of its protocol.
public enum NoticeAction: String, Sendable, CaseIterable {
  /// Confirm the appointment, and expect the tones of a verification code.
  case confirmWithCode = "get-dialog-user-confirmation-provide_code-true"
  /// Confirm the appointment.
  case confirm = "get-dialog-user-confirmation-provide_code-false"
  /// The callback has ended: read its record.
  case changed
  /// The appointment could not be made in time.
  case expired
  /// The call comes now. This is sent at the hand-over, in addition to the current notice.
  case calling

  /// Whether the notice is the question before an appointment.
  public var asks: Bool { self == .confirm || self == .confirmWithCode }
}

extension StoredCallback {
  /// The action of the current notice; nil while the callback is being made.
  public var noticeAction: NoticeAction? {
    switch status {
    case .scheduled: verificationCode == nil ? .confirm : .confirmWithCode
    case .pending: nil
    case .expired: .expired
    case .accepted, .failed, .unknown, .cancelled: .changed
    }
  }

  /// Whether the callback has ended and its app does not know that yet.
  public var waitsToBeTold: Bool { status.isFinal && notices?.state == .waiting }
}

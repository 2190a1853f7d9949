// What a callback record says of its notices: which installation gets them, and what became of the current one.

public import Gate

/// The notices of a callback. At most one waits at a time: the question before an appointment, or the news of the end.
public struct CallbackNotices: Hashable, Sendable {
  /// What became of the current notice.
  public enum State: String, Sendable {
    /// It waits for its time, or for another try.
    case waiting
    /// The provider took it.
    case taken
    /// It was given up: its tries were in vain, or its time was over.
    case dropped
    /// The app has read the end of the callback in a response, so no notice tells it.
    case told
  }

  /// A notice about an ended callback is sent for up to this long.
  public static let newsLife = Duration.seconds(3600)
  /// The time between an end and its notice, in which the response that is being written may tell it.
  public static let grace = Duration.seconds(1)

  /// The installation that gets the notices, or what stands for `device` in its place.
  public internal(set) var installation: InstallationIdentity
  /// The device that the callback's request named; nil where an installation's gets the notices, and once none is left to send.
  package internal(set) var device: GivenDevice?
  /// When the installation is asked to confirm the appointment; nil where it is not asked.
  public internal(set) var confirmAt: Instant?
  /// Counts the times of the appointment: each move, snooze and connection has another one, and so another `_id`. So has the
  /// correction of an end.
  public internal(set) var serial: Int
  /// What became of the current notice.
  public internal(set) var state: State
  /// When an instance takes the current notice next; nil where there is nothing to send.
  package internal(set) var next: Instant?
  /// How often it was tried in vain.
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

  /// The notices of a new record; nil where no device gets any.
  ///
  /// - Parameter end: When the callback is over at the latest, in nanoseconds since the epoch.
  init?(_ intent: CallbackIntent, confirmAt: Instant?, end: Int64) {
    guard let installation = intent.notifies else { return nil }
    self.init(
      installation: installation, device: intent.device?.lasting(until: end), confirmAt: confirmAt,
      next: confirmAt)
  }

  /// The callback has another time, and is over at the latest at the end of it.
  mutating func last(until end: Int64) { device = device?.lasting(until: end) }

  /// Begins the notice of a new time.
  mutating func ask(at time: Instant?) {
    serial += 1
    confirmAt = time
    begin(at: time)
  }

  /// Begins the notice of the end.
  mutating func end(at time: Instant) { begin(at: time.advanced(by: Self.grace)) }

  /// The notice of a corrected end is another one, so that the answer of a provider to the first one does not settle it.
  mutating func correct() { serial += 1 }

  /// Begins another notice of the end, which has more to tell now.
  mutating func tellAgain(at time: Instant) {
    serial += 1
    end(at: time)
  }

  /// They go over to another installation. A question that waits for an answer is asked again, with another serial number: the
  /// earlier one belongs to the installation before.
  mutating func pass(to installation: InstallationIdentity) {
    self.installation = installation
    if let confirmAt { ask(at: confirmAt) }
  }

  /// Nobody gets them any more.
  mutating func drop() { settle(.dropped, isLast: true) }

  /// The app has read the end.
  mutating func tell() { settle(.told, isLast: true) }

  /// The current notice is over. After the last one the device of the callback is forgotten.
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
  /// The callback has ended: ask for it.
  case changed
  /// The appointment could not be made in time.
  case expired
  /// The call comes now. It is sent at the hand-over, beside the current notice.
  case calling

  /// Whether it is the question before an appointment.
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

  /// Whether it has ended and its app does not know.
  public var waitsToBeTold: Bool { status.isFinal && notices?.state == .waiting }
}

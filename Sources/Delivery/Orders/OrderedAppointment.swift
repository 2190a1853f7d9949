// The times of a due appointment, and the time of its next try after a failed one.

package import Gate
import Platform
import Tokens

/// The further values of an appointment's order.
package struct OrderedAppointment: Sendable {
  /// When the phone is to ring.
  package let at: Instant
  /// The due time when it was read. If the appointment has another one by now, it was moved or another instance tried it, and this
  /// process does not call.
  package let due: Instant
  /// The last time to send it, by the scheduler's wall clock.
  package let lastTry: Instant
  /// The number of failed tries before this one.
  package let tries: Int

  /// The allowances that the booking took. They go back if the appointment ends without a call.
  package let receipts: [KeptReceipt]

  /// An appointment that is due.
  package init(at: Instant, due: Instant, lastTry: Instant, tries: Int, receipts: [KeptReceipt]) {
    self.receipts = receipts
    self.at = at
    self.due = due
    self.lastTry = lastTry
    self.tries = tries
  }

  /// The longest time from the request for the mark to the first byte. A process that was stopped in between, or slept with its
  /// machine, sends nothing: other instances may have recovered its appointment.
  static let startLimit = Duration.seconds(5)
  private static let shortestWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(30)
  /// How long before the last time the last try begins.
  static let lastMoment = Duration.seconds(1)

  /// The wait before the next try: as long as the provider asks for, otherwise twice the last wait.
  /// - Parameter unit: A random number in 0..<1. It takes up to a quarter off, so that appointments that failed together are tried
  ///   apart.
  package func wait(_ asked: Duration?, unit: Double) -> Duration {
    if let asked { return max(asked, Self.shortestWait) }
    return min(Self.shortestWait * (1 << min(tries, 10)), Self.longestWait) * (1 - unit / 4)
  }
}

extension CallbackOrder {
  /// The deadline of its turn: that of its response, or of an appointment's last try.
  func turnDeadline(_ parts: CallbackParts) -> MonotonicTime {
    guard let appointment else { return deadline }
    return min(deadline, parts.clock.now + (appointment.lastTry - Instant(parts.scheduler.unixTime)))
  }
}

extension Undelivered {
  /// The next step of an appointment.
  enum Sequel {
    /// It ends: another try would fail too, or the phone may ring.
    case ends
    /// It waits for another try, as long as the provider asked for, if it asked.
    /// - isTry: Whether this try counts. Otherwise nothing was tried: this process ends, or was too slow.
    case waits(Duration?, isTry: Bool)
  }

  var sequel: Sequel {
    switch self {
    case .noTurn(.paused(let rest)), .noTurn(.overloaded(let rest)): .waits(rest, isTry: true)
    case .noTurn(.late), .noTurn(.ended), .clientLeft: .waits(nil, isTry: false)
    case .noToken(.cancelled), .noToken(.shutDown), .noToken(.upstreamChanged): .waits(nil, isTry: false)
    case .noToken, .unchecked, .notSaved, .unaudited, .notAccepted(.unreachable): .waits(nil, isTry: true)
    case .notAccepted(.rateLimited(let wait)): .waits(wait ?? CallbackQueue.usualPause, isTry: true)
    case .notAccepted(.unavailable(let wait)): .waits(wait, isTry: true)
    case .stopped, .blocked, .revoked, .notAccepted(.rejected), .notAccepted(.tokenRefused),
      .notAccepted(.forbidden), .notAccepted(.refused), .unknown:
      .ends
    case .inProgress, .mismatch, .duplicate, .exhausted:
      // A mark checks neither keys nor numbers, and takes no allowances.
      .ends
    }
  }
}

// The times of a due appointment, and the wait before its next attempt.

package import Gate
import Platform
import Tokens

/// Values that only the order of an appointment has.
package struct OrderedAppointment: Sendable {
  /// The booked time of the call.
  package let at: Instant
  /// The due time as read from the store. If the appointment has another due time by now, it was moved or
  /// another instance tried it, and this process does not call.
  package let due: Instant
  /// The latest time to send the request, by the scheduler's wall clock.
  package let lastTry: Instant
  /// The number of failed attempts so far.
  package let tries: Int

  /// The allowances that the booking used. They are given back if the appointment ends without a call.
  package let receipts: [KeptReceipt]

  package init(at: Instant, due: Instant, lastTry: Instant, tries: Int, receipts: [KeptReceipt]) {
    self.receipts = receipts
    self.at = at
    self.due = due
    self.lastTry = lastTry
    self.tries = tries
  }

  /// The longest time from the request for the mark to the first byte. A process that was stopped in between,
  /// or slept with its machine, sends nothing: other instances may have recovered its appointment.
  static let startLimit = Duration.seconds(5)
  private static let shortestWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(30)
  /// The time between the start of the last attempt and `lastTry`.
  static let lastMoment = Duration.seconds(1)

  /// The wait before the next attempt: `asked`, but at least a second. Without it, about twice the last wait,
  /// from 1 to 30 seconds.
  /// - Parameters:
  ///   - asked: The wait that the provider, the queue or a problem of the rules requires; nil if none does.
  ///   - unit: A random number in 0..<1. It shortens a wait that nothing requires by up to a quarter, so that
  ///     appointments that failed together are not tried together.
  package func wait(_ asked: Duration?, unit: Double) -> Duration {
    if let asked { return max(asked, Self.shortestWait) }
    return min(Self.shortestWait * (1 << min(tries, 10)), Self.longestWait) * (1 - unit / 4)
  }
}

extension CallbackOrder {
  /// The deadline of the turn: that of the response, or of an appointment's last attempt if that is earlier.
  func turnDeadline(_ parts: CallbackParts) -> MonotonicTime {
    guard let appointment else { return deadline }
    return min(deadline, parts.clock.now + (appointment.lastTry - Instant(parts.scheduler.unixTime)))
  }
}

extension Undelivered {
  /// The next step for an appointment.
  enum Sequel {
    /// The appointment ends: another attempt would fail too, or the phone may ring.
    case ends
    /// Another attempt follows. The value is the wait that the queue or the provider requires; nil leaves it
    /// to `OrderedAppointment.wait`.
    /// - isTry: Whether this attempt counts. False if it was given up before anything was tried, for example
    ///   because the process is shutting down, the turn came too late, or a reload changed the Talkdesk
    ///   account.
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
      // These cases cannot occur: a mark checks neither keys nor numbers, and uses no allowances.
      .ends
    }
  }
}

// The times of an appointment that is due, and when it is tried again after a try that was in vain.

package import Gate
import Platform
import Tokens

/// What an order has in addition where it is an appointment's.
package struct OrderedAppointment: Sendable {
  /// When the phone is to ring.
  package let at: Instant
  /// When it was due as it was read. One that was moved meanwhile, or that another instance tried, is not carried out.
  package let due: Instant
  /// When it may be sent for the last time, by the scheduler's wall clock.
  package let lastTry: Instant
  /// How many tries were in vain before this one.
  package let tries: Int

  /// An appointment that is due.
  package init(at: Instant, due: Instant, lastTry: Instant, tries: Int) {
    self.at = at
    self.due = due
    self.lastTry = lastTry
    self.tries = tries
  }

  /// The longest time from asking the store for the mark to the first byte. A process that was stopped in between, or slept with its
  /// machine, sends nothing: others may have taken it for dead.
  static let startLimit = Duration.seconds(5)
  private static let shortestWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(30)

  /// How long it waits for its next try: as long as the provider asks for, otherwise for twice as long as the last time.
  /// - Parameter unit: A random number in 0..<1, which takes up to a quarter off: what failed together is not tried together.
  package func wait(_ asked: Duration?, unit: Double) -> Duration {
    if let asked { return max(asked, Self.shortestWait) }
    return min(Self.shortestWait * (1 << min(tries, 10)), Self.longestWait) * (1 - unit / 4)
  }
}

extension CallbackOrder {
  /// When its turn has to have come: with its answer, and an appointment before its last try.
  func turnDeadline(_ parts: CallbackParts) -> MonotonicTime {
    guard let appointment else { return deadline }
    return min(deadline, parts.clock.now + (appointment.lastTry - Instant(parts.scheduler.unixTime)))
  }
}

extension Undelivered {
  /// What is next for an appointment.
  enum Sequel {
    /// It ends: another try would come to the same, or the phone may ring.
    case ends
    /// It waits for another try, for as long as was asked for, if anything was.
    /// - isTry: Whether this one counts. Otherwise nothing was tried: this process ends, or was too slow.
    case waits(Duration?, isTry: Bool)
  }

  var sequel: Sequel {
    switch self {
    case .noTurn(.paused(let rest)), .noTurn(.overloaded(let rest)): .waits(rest, isTry: true)
    case .noTurn(.late), .noTurn(.ended), .clientLeft: .waits(nil, isTry: false)
    case .noToken(.cancelled), .noToken(.shutDown), .noToken(.upstreamChanged): .waits(nil, isTry: false)
    case .noToken, .unchecked, .notSaved, .notAccepted(.unreachable): .waits(nil, isTry: true)
    case .notAccepted(.rateLimited(let wait)): .waits(wait ?? CallbackQueue.usualPause, isTry: true)
    case .notAccepted(.unavailable(let wait)): .waits(wait, isTry: true)
    case .stopped, .revoked, .notAccepted(.rejected), .notAccepted(.tokenRefused), .notAccepted(.forbidden),
      .notAccepted(.refused), .unknown:
      .ends
    case .inProgress, .mismatch, .duplicate:
      // A mark is no beginning: it meets neither keys nor numbers.
      .ends
    }
  }
}

// The problems that callers get for callbacks that were not made; Talkdesk's own words stay in the log.

package import API
import Platform
package import Store
import Talkdesk

extension Problem {
  /// The problem an outcome at Talkdesk is to a caller; nil for an accepted callback.
  init?(_ outcome: CallbackOutcome) {
    switch outcome {
    case .accepted: return nil
    case .rejected(_, let fields):
      self.init(.invalidRequest, "Talkdesk rejected this callback, so no call was requested.")
      self.fields = fields.map { FieldProblem(name: $0.name, description: "Talkdesk rejected this value.") }
    case .unauthorized, .forbidden:
      self.init(
        .upstreamRefused,
        "Talkdesk does not accept this server's token or scope. The operator of this server has to fix this.")
    case .rateLimited(let wait): self = .paused(wait ?? Self.usualPause)
    case .unavailable(let wait):
      self.init(
        .upstreamUnavailable, "Talkdesk is unavailable and did not accept the callback. Try again later.",
        retryAfter: (wait ?? Self.usualWait).wholeSecondsRoundedUp)
    case .unreachable:
      self.init(
        .upstreamUnavailable, "The server cannot reach Talkdesk, so no call was requested. Try again later.",
        retryAfter: Self.usualWait.wholeSecondsRoundedUp)
    case .refused:
      self.init(
        .upstreamFailed, "Talkdesk did not accept the callback. The operator of this server has to fix this.")
    case .unclear:
      self.init(
        .upstreamFailed,
        "Talkdesk returned an error, and the phone may still ring. A new request could cause a second call.")
    case .unanswered:
      self.init(
        .outcomeUnknown,
        "Talkdesk did not respond, and the phone may still ring. A new request could cause a second call.")
    }
  }

  /// How long to pause where Talkdesk limits the rate and does not say for how long.
  package static let usualPause = Duration.seconds(5)
  /// After how long it is worth trying again where Talkdesk does not say.
  private static let usualWait = Duration.seconds(2)

  /// Talkdesk has asked for a pause.
  package static func paused(_ rest: Duration) -> Problem {
    Problem(
      .upstreamRateLimited, "Talkdesk is limiting callbacks. Retry after the time in Retry-After.",
      retryAfter: rest.wholeSecondsRoundedUp)
  }

  /// There is no place for a callback.
  package init(_ refusal: Originator.Refusal) {
    switch refusal {
    case .paused(let rest): self = .paused(rest)
    case .late: self = .tooLate
    case .overloaded(let wait): self = .busy(after: wait)
    case .ended:
      self.init(.overloaded, "The server is shutting down. Try again with the same key.", retryAfter: 1)
    }
  }

  /// Nothing was sent: there was no time left for it.
  package static func busy(after wait: Duration) -> Problem {
    Problem(
      .overloaded, "The queue for callbacks is too long, so no call was requested. Try again later.",
      retryAfter: wait.wholeSecondsRoundedUp)
  }

  /// The time was over before Talkdesk could be asked.
  package static var tooLate: Problem {
    Problem(.upstreamTimeout, "The server could not send the callback in time, so no call was requested.")
  }

  /// The store failed: what cannot be saved is not done.
  package static var noStore: Problem {
    Problem(
      .storeUnavailable, "The server could not save this request, so no call was requested. Try again.",
      retryAfter: 1)
  }

  /// Nobody is left who could say what came of it.
  package static var outcomeLost: Problem {
    Problem(
      .outcomeUnknown,
      "The outcome of this callback was not saved, and the phone may still ring. A new request could cause a second call."
    )
  }

  /// The store failed, so no record can be shown.
  package static var noRecords: Problem {
    Problem(.storeUnavailable, "The server cannot read its records right now. Try again.", retryAfter: 1)
  }

  /// The first request with the key is still running.
  package static var stillRunning: Problem {
    Problem(
      .inProgress, "Wait for the first response, or retry a little later with the same key.", retryAfter: 1)
  }

  /// The key belongs to another request.
  package static var otherRequest: Problem {
    Problem(
      .idempotencyMismatch,
      "The first request with this Idempotency-Key was a different one. Use a new key.")
  }

  /// The same caller has asked for this number before.
  /// - Parameter first: The callback that stands; nil where it is another user's, who alone may look at it.
  static func duplicate(of first: CallbackID?) -> Problem {
    let hint = first == nil ? "" : " See id for the first."
    var problem = Problem(
      .duplicate,
      "A callback to this number was requested a moment ago, so no second call was requested.\(hint)")
    problem.id = first?.description
    return problem
  }

  /// There is no such callback, or it is somebody else's: the difference is nobody's business.
  package static var noCallback: Problem { Problem(.notFound, "You have no callback with this id.") }
}

extension CallbackStore {
  /// What a duplicate is told. Users of one issuer share a caller, and with it the numbers it has asked for, but not their
  /// records: the first callback is named to whom may look at it.
  package func problem(duplicateOf first: CallbackID, _ intent: CallbackIntent) async -> Problem {
    do throws(StoreError) {
      let record = try await callback(first, of: intent.callerID)
      let isTheirs = record?.belongs(to: intent.subject ?? intent.callerID) == true
      return .duplicate(of: isTheirs ? first : nil)
    } catch {
      // The name is a courtesy; that it is a duplicate is known.
      return .duplicate(of: nil)
    }
  }
}

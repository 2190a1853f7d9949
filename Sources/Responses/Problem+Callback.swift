// The problems that callers get for callbacks that were not made; Talkdesk's own words stay in the log.

package import API
import Callers
package import Delivery
import Gate
import Platform
package import Store

extension Problem {
  /// The problem for a callback that certainly or possibly was not delivered.
  package init(_ reason: Undelivered) {
    switch reason {
    case .noTurn(.paused(let rest)): self = .paused(rest)
    case .noTurn(.late):
      self.init(.upstreamTimeout, "The server could not send the callback in time, so no call was requested.")
    case .noTurn(.overloaded(let wait)):
      self.init(
        .overloaded, "The queue for callbacks is too long, so no call was requested.",
        tryAgainAfter: wait.wholeSecondsRoundedUp)
    case .noTurn(.ended):
      self.init(.overloaded, "The server is shutting down.", tryAgainAfter: 1, "with the same key")
    case .noToken(let error): self.init(error)
    case .stopped: self = .stopped
    case .blocked: self.init(Denial.blocked)
    case .revoked: self = .revoked
    case .unchecked: self = .noInstallations
    case .clientLeft: self = .clientLeft
    case .notSaved:
      self.init(
        .storeUnavailable, "The server could not save this request, so no call was requested.",
        tryAgainAfter: 1)
    case .unaudited: self = .noAudit
    case .inProgress: self = .inProgress
    case .mismatch: self = .idempotencyMismatch
    case .exhausted:
      preconditionFailure("a response to an exhausted allowance without its denial")
    case .duplicate(let first): self = .duplicate(of: first.description)
    case .notAccepted(let reason): self.init(reason)
    case .unknown(isAnswered: true):
      self.init(
        .upstreamFailed,
        "Talkdesk returned an error, but the phone may still ring. A new request could cause a second call.")
    case .unknown(isAnswered: false): self = .outcomeUnknown
    }
  }

  private init(_ reason: CourierReport.Reason) {
    switch reason {
    case .rejected(let fields):
      self.init(.invalidRequest, "Talkdesk rejected this callback, so the phone will not ring.")
      self.fields = fields.map { FieldProblem(name: $0, description: "Talkdesk rejected this value.") }
    case .tokenRefused, .forbidden:
      self.init(
        .upstreamRefused,
        "Talkdesk rejected this server's token or scope. Contact the operator of this server.")
    case .rateLimited(let wait): self = .paused(wait ?? CallbackQueue.usualPause)
    case .unavailable(let wait):
      self.init(
        .upstreamUnavailable, "Talkdesk is unavailable, so the phone will not ring.",
        tryAgainAfter: (wait ?? Self.usualWait).wholeSecondsRoundedUp)
    case .unreachable:
      self.init(
        .upstreamUnavailable, "The server cannot reach Talkdesk, so no call was requested.",
        tryAgainAfter: Self.usualWait.wholeSecondsRoundedUp)
    case .refused:
      self.init(
        .upstreamFailed, "Talkdesk rejected the callback. Contact the operator of this server.")
    }
  }

  /// The problem of the first request, for a retry that finds its settled record; nil if Talkdesk accepted
  /// the callback.
  package init?(repeating record: StoredCallback) {
    switch (record.status, record.code.flatMap(Code.init(rawValue:))) {
    case (.accepted, _): return nil
    case (.failed, .invalidRequest): self.init(.notAccepted(.rejected(fields: record.refusedFields)))
    case (.failed, .upstreamFailed): self.init(.notAccepted(.refused))
    case (.unknown, .upstreamFailed): self.init(.unknown(isAnswered: true))
    case (.failed, _), (.unknown, _), (.scheduled, _), (.pending, _), (.cancelled, _), (.expired, _):
      // Talkdesk did not respond, or the process that knew more has ended.
      self.init(
        .outcomeUnknown,
        "The outcome of this callback is unknown: the phone may still ring. A new request could cause a second call."
      )
    }
    id = record.id.description
  }

  /// The wait before a retry if Talkdesk states none.
  private static let usualWait = Duration.seconds(2)

  /// The problem during a pause after Talkdesk's 429.
  private static func paused(_ rest: Duration) -> Problem {
    .upstreamRateLimited(rest.wholeSecondsRoundedUp)
  }

  /// The problem if the store failed and no record can be shown.
  package static var noRecords: Problem {
    Problem(.storeUnavailable, "The server cannot read its records right now.", tryAgainAfter: 1)
  }

  /// The problem if there is no such callback, or it belongs to another caller. The client does not learn
  /// which.
  package static var noCallback: Problem { Problem(.notFound, "You have no callback with this id.") }
}

// The problems that callers get for tickets that were not opened; Sendbird's own words stay in the log.

package import API
package import ChatDesk
import Platform
package import Store
package import Tokens

extension Problem {
  /// The problem of a ticket that certainly was not opened.
  package init(_ reason: TicketOutcome.Reason) {
    switch reason {
    case .rejected:
      self.init(.invalidRequest, "Sendbird rejected this ticket, so none was opened. Check its group_key.")
    case .failed(let error): self.init(ofTicket: error)
    case .late: self = .ticketTooLate
    }
  }

  /// The problem of a ticket that was not opened because a request to Sendbird failed.
  package init(ofTicket error: TokenError) {
    switch error {
    case .exchangeFailed(.refused, _):
      self.init(
        .upstreamRefused,
        "Sendbird rejected this request or this server's token, so no ticket was opened. If this happens every time, contact the operator of this server."
      )
    case .overloaded(let wait):
      self.init(
        .overloaded, "Too many requests are waiting for Sendbird, so no ticket was opened.",
        tryAgainAfter: wait.wholeSecondsRoundedUp)
    case .exchangeFailed, .coolingDown, .deadlineExceeded, .cancelled, .shutDown, .upstreamChanged,
      .unrecorded:
      self.init(error, from: .sendbird)
    }
  }

  /// The problem of a ticket that may have been opened.
  package static func ticketUnknown(isAnswered: Bool) -> Problem {
    isAnswered
      ? Problem(
        .upstreamFailed,
        "Sendbird returned an error, but the ticket may be open. A new request could open a second ticket."
      )
      : Problem(
        .outcomeUnknown,
        "Sendbird did not respond, so the ticket may be open. A new request could open a second ticket."
      )
  }

  /// The problem of a ticket for which there was no time left.
  package static var ticketTooLate: Problem {
    Problem(.upstreamTimeout, "The server could not reach Sendbird in time, so no ticket was opened.")
  }

  /// The problem of a ticket that the database did not save.
  package static var ticketNotSaved: Problem {
    Problem(
      .storeUnavailable, "The server could not save this request, so no ticket was opened.",
      tryAgainAfter: 1)
  }

  /// The problem of a ticket that repeats an earlier one.
  package static func duplicateTicket(of first: CallbackID) -> Problem {
    var problem = Problem(
      .duplicate,
      "The same ticket was already requested, so no second one was opened. The first request has the id \(first)."
    )
    problem.id = first.description
    return problem
  }

  /// The problem of the first request, for a retry that finds its settled record; nil if the ticket was
  /// opened.
  package init?(repeatingTicket record: StoredCallback) {
    switch (record.status, record.code.flatMap(Code.init(rawValue:))) {
    case (.accepted, _): return nil
    case (.failed, .invalidRequest): self.init(TicketOutcome.Reason.rejected)
    case (.unknown, .upstreamFailed): self = .ticketUnknown(isAnswered: true)
    case (.failed, _), (.unknown, _), (.scheduled, _), (.pending, _), (.cancelled, _), (.expired, _):
      // Sendbird did not respond, or the process that knew more has ended.
      self.init(
        .outcomeUnknown,
        "The outcome of this request is unknown, and the ticket may be open. A new request could open a second ticket."
      )
    }
    id = record.id.description
  }

  /// The problem if there is no such ticket, or it belongs to another caller. The client does not learn
  /// which.
  package static var noTicket: Problem { Problem(.notFound, "You have no ticket with this id.") }
}

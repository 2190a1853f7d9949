// Logs callback requests to Talkdesk.

package import HTTPServer
import Platform
package import Records
import Talkdesk

/// Writes one line for each request to the Callback API, with Talkdesk's trace id, which its support asks for; never a
/// token, a context's value, a whole number or, above `debug`, upstream's words.
package struct CallbackLog: Sendable {
  let log: Log

  package init(log: Log) {
    self.log = log
  }

  /// A request to Talkdesk is over.
  func asked(_ report: CallbackReport, id: String, requestID: RequestID, contact: String) {
    let milliseconds = String(report.duration.nanosecondsClamped / 1_000_000)
    let level: LogSettings.Level
    let message: String
    switch report.outcome.certainty {
    case .accepted: (level, message) = (.info, "Talkdesk accepted a callback")
    case .notAccepted: (level, message) = (.warning, "Talkdesk did not accept a callback")
    case .unknown: (level, message) = (.warning, "the outcome of a callback is unknown: the phone may ring")
    }
    log.write(
      level, message,
      [
        "id": id, "request_id": requestID.description, "contact": contact, "outcome": report.outcome.label,
        "status": report.status.map { String($0) } ?? "", "code": report.code ?? "",
        "detail": report.outcome.failure ?? "", "platform_tid": report.platformTID ?? "",
        "duration_ms": milliseconds,
      ])
    if let message = report.message {
      log.write(.debug, "Talkdesk's own description", ["id": id, "description": message])
    }
    if case .rejected(_, let fields) = report.outcome {
      for field in fields {
        log.write(
          .debug, "Talkdesk's own description of a field",
          ["id": id, "field": field.name, "description": field.description ?? ""])
      }
    }
  }

  /// What came of a callback could not be committed: its record says `pending` until it is taken for unknown.
  func notSettled(_ error: any Error, id: String, state: String, isLast: Bool) {
    log.write(
      .error, "a callback's outcome could not be saved",
      ["id": id, "outcome": state, "detail": "\(error)", "tries_again": String(!isLast)])
  }

  /// What could not be saved at first is saved now.
  func settledLate(id: String, state: String) {
    log.write(.info, "a callback's outcome is saved now", ["id": id, "outcome": state])
  }

  /// What was begun in vain could not be withdrawn at first, and is now.
  func withdrawnLate(id: String) {
    log.write(.info, "the record of a callback that was not sent is deleted now", ["id": id])
  }

  /// A record that was recovered as `unknown`, because its process seemed to be gone, has its true outcome now.
  func corrected(id: String, state: String) {
    log.write(.warning, "the outcome of an unknown callback is known now", ["id": id, "outcome": state])
  }

  /// Records were taken for unknown that nobody will settle.
  func recovered(_ count: Int) {
    log.write(
      .warning, "callbacks have no outcome: they are unknown, and the server does not send them again",
      ["callbacks": String(count)])
  }

  /// The store failed before anything was sent.
  package func storeFailed(_ error: any Error, doing step: String, requestID: RequestID) {
    log.write(
      .error, "the store failed, so the server refused a callback",
      ["step": step, "request_id": requestID.description, "detail": "\(error)"])
  }

  /// Talkdesk asks for a pause.
  func paused(_ span: Duration) {
    log.write(
      .warning, "Talkdesk limits callbacks; the server sends none for a while",
      ["seconds": String(span.wholeSecondsRoundedUp)])
  }
}

extension CallbackOutcome {
  /// The words of the one who failed, where no answer came.
  fileprivate var failure: String? {
    switch self {
    case .unreachable(let error), .unanswered(let error): "\(error)"
    default: nil
    }
  }
}

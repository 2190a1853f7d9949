// Logs the outcomes of callbacks, and later changes of their records.

import Platform
package import Records

/// Logs outcomes and changes of records, for callbacks and tickets. Never logs a token, a context value or a
/// full phone number.
package struct CallbackLog: Sendable {
  package let log: Log

  package init(log: Log) {
    self.log = log
  }

  /// Logs that an outcome, a withdrawal or the release of an appointment could not be saved. If no later
  /// attempt succeeds, the record becomes `unknown`.
  func notSettled(_ error: any Error, id: String, state: String, isLast: Bool) {
    log.write(
      .error, "the outcome of a request could not be saved",
      ["id": id, "outcome": state, "detail": "\(error)", "tries_again": String(!isLast)])
  }

  /// Logs that an outcome, or the release of an appointment, was saved after a failed attempt.
  func settledLate(id: String, state: String) {
    log.write(.info, "outcome saved after retry", ["id": id, "outcome": state])
  }

  /// Logs that the store did not confirm a change of an appointment or an installation. It is not known yet
  /// whether the change was made.
  func notKnown(_ error: any Error, id: String, state: String, isLast: Bool) {
    log.write(
      .error, "the database has not yet confirmed a change",
      ["id": id, "change": state, "detail": "\(error)", "tries_again": String(!isLast)])
  }

  /// Logs that the store has now answered whether an unconfirmed change was made.
  func knownLate(id: String, state: String) {
    log.write(.info, "the database has answered whether a change was made", ["id": id, "change": state])
  }

  /// Logs that a record was withdrawn after a failed attempt.
  func withdrawnLate(id: String) {
    log.write(.info, "the record of a request that was not sent has been deleted", ["id": id])
  }

  /// Logs the true outcome of a record that was recovered as `unknown` because its process seemed to be gone.
  func corrected(id: String, state: String) {
    log.write(.warning, "the outcome of an unknown callback has been found", ["id": id, "outcome": state])
  }

  /// Logs that callbacks became `unknown`, because no process will settle them.
  func recovered(_ count: Int) {
    log.write(
      .warning, "callbacks marked unknown; the server will not resend them",
      ["callbacks": count])
  }

  /// Logs that the store failed before anything was sent.
  package func storeFailed(_ error: any Error, doing step: String, _ context: RequestContext) {
    log.write(
      .error, "the database failed, so the server refused a callback",
      ["step": step, "request_id": "\(context.requestID)", "detail": "\(error)"])
  }

  /// Logs that an appointment will be tried again.
  package func waits(id: String, code: String, for span: Duration) {
    log.write(
      .info, "an appointment will be tried again",
      ["id": id, "code": code, "seconds": span.wholeSecondsRoundedUp])
  }

  /// Logs that this process does not make an appointment's call.
  func notMarked(id: String) {
    log.write(
      .debug, "another instance has the appointment, or it was moved or canceled", ["id": id])
  }

  /// Logs that the store failed before an appointment's call.
  func notMarked(_ error: any Error, id: String) {
    log.write(
      .error, "the database failed, so the server will try an appointment later",
      ["id": id, "detail": "\(error)"])
  }

  /// Logs that Talkdesk requests a pause.
  func paused(_ span: Duration) {
    log.write(
      .warning, "Talkdesk limits callbacks; the server sends none for a while",
      ["seconds": span.wholeSecondsRoundedUp])
  }
}

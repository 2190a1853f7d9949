// Logs the outcomes of callbacks, and what becomes of records.

import Platform
package import Records

/// Logs the outcomes of callbacks, and what becomes of records, those of tickets included; never a token, a context's value or a whole number.
package struct CallbackLog: Sendable {
  package let log: Log

  package init(log: Log) {
    self.log = log
  }

  /// An outcome could not be saved: its record says `pending`, and later `unknown`.
  func notSettled(_ error: any Error, id: String, state: String, isLast: Bool) {
    log.write(
      .error, "the outcome of a request could not be saved",
      ["id": id, "outcome": state, "detail": "\(error)", "tries_again": String(!isLast)])
  }

  /// An outcome was saved that could not be saved at first.
  func settledLate(id: String, state: String) {
    log.write(.info, "outcome saved after retry", ["id": id, "outcome": state])
  }

  /// The store did not confirm a change of an appointment or an installation, and cannot say yet whether the change was made.
  func notKnown(_ error: any Error, id: String, state: String, isLast: Bool) {
    log.write(
      .error, "the database has not yet confirmed a change",
      ["id": id, "change": state, "detail": "\(error)", "tries_again": String(!isLast)])
  }

  /// Whether a change was made that the store did not confirm at first.
  func knownLate(id: String, state: String) {
    log.write(.info, "the database has answered whether a change was made", ["id": id, "change": state])
  }

  /// A record was withdrawn that could not be withdrawn at first.
  func withdrawnLate(id: String) {
    log.write(.info, "the record of a request that was not sent has been deleted", ["id": id])
  }

  /// A record that was recovered as `unknown`, because its process seemed to be gone, has its true outcome now.
  func corrected(id: String, state: String) {
    log.write(.warning, "the outcome of an unknown callback has been found", ["id": id, "outcome": state])
  }

  /// Callbacks became `unknown` because no process will settle them.
  func recovered(_ count: Int) {
    log.write(
      .warning, "callbacks marked unknown; the server will not resend them",
      ["callbacks": count])
  }

  /// The store failed before anything was sent.
  package func storeFailed(_ error: any Error, doing step: String, _ context: RequestContext) {
    log.write(
      .error, "the database failed, so the server refused a callback",
      ["step": step, "request_id": "\(context.requestID)", "detail": "\(error)"])
  }

  /// An appointment is tried again.
  package func waits(id: String, code: String, for span: Duration) {
    log.write(
      .info, "an appointment will be tried again",
      ["id": id, "code": code, "seconds": span.wholeSecondsRoundedUp])
  }

  /// This process does not make an appointment's call.
  func notMarked(id: String) {
    log.write(
      .debug, "another instance has the appointment, or it was moved or canceled", ["id": id])
  }

  /// The store failed before an appointment's call.
  func notMarked(_ error: any Error, id: String) {
    log.write(
      .error, "the database failed, so the server will try an appointment later",
      ["id": id, "detail": "\(error)"])
  }

  /// Talkdesk asks for a pause.
  func paused(_ span: Duration) {
    log.write(
      .warning, "Talkdesk limits callbacks; the server sends none for a while",
      ["seconds": span.wholeSecondsRoundedUp])
  }
}

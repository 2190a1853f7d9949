// Finishes a callback after Talkdesk's response: retries once after a 401, saves the record, reports the result.

import API
import Gate
import HTTP
import HTTPServer
import Metrics
import Platform
import Records
import Store
import Talkdesk
import Tokens

extension Origination {
  /// What comes of an order once Talkdesk's answer to its request is there, or none.
  /// - Parameter token: what the request was sent with.
  func conclude(
    _ order: CallbackOrder, _ turn: Originator.Turn, _ token: AccessToken, _ report: CallbackReport,
    createdAt: Instant, _ cache: AuditRecord.CacheUse
  ) async -> OriginationResult {
    let last = await sending(order, token, turn, report)
    return await conclude(order, turn, last, createdAt: createdAt, cache)
  }

  // MARK: A second try

  private indirect enum Sending {
    case outcome(CallbackReport)
    /// Talkdesk answered 401, and there was no other token or no time for another try.
    case noSecondTry(Problem, CallbackReport)

    /// The last answer, or that there was none.
    var report: CallbackReport {
      switch self {
      case .outcome(let report), .noSecondTry(_, let report): report
      }
    }

    /// Whether the token is to blame.
    var isUnauthorized: Bool {
      if case .outcome(let report) = self, case .unauthorized = report.outcome { true } else { false }
    }

    /// Whether Talkdesk has looked at more than the token.
    var showsAcceptedToken: Bool {
      guard case .outcome(let report) = self else { return false }
      switch report.outcome {
      case .accepted, .rejected: return true
      default: return false
      }
    }
  }

  /// What came of the request, which is sent once more with a new token after a 401, as that certainly accepted nothing.
  private func sending(
    _ order: CallbackOrder, _ token: AccessToken, _ turn: Originator.Turn, _ report: CallbackReport
  ) async -> Sending {
    note(report, order)
    let first = Sending.outcome(report)
    guard first.isUnauthorized, tokens.invalidate(token, scope: scope) else { return first }
    return await sendAgain(order, turn, after: report)
  }

  private func sendAgain(
    _ order: CallbackOrder, _ turn: Originator.Turn, after first: CallbackReport
  ) async -> Sending {
    let next: AccessToken
    do throws(TokenError) {
      next = try await tokens.token(scope, of: upstream, deadline: order.deadline)
    } catch {
      return .noSecondTry(Problem(error), first)
    }
    if let obstacle = obstacle(order, turn) { return .noSecondTry(obstacle, first) }
    let report = await api.request(
      order.content, token: next, traceparent: order.traceparent, timeout: order.deadline - clock.now)
    note(report, order)
    let second = Sending.outcome(report)
    if second.showsAcceptedToken { tokens.accepted(scope: scope) }
    return second
  }

  private func note(_ report: CallbackReport, _ order: CallbackOrder) {
    metrics.asked(
      .callbackAPI, outcome: report.outcome.label, took: report.duration,
      success: report.outcome.certainty == .accepted ? clock.unixTime : nil)
    log.asked(
      report, id: order.intent.id.description, requestID: order.requestID,
      contact: order.intent.contact.masked)
  }

  // MARK: Afterwards

  /// Gives the place back, commits what is known, gives back what is certain to be owed, and says what to answer: the truth,
  /// whether or not it could be committed.
  private func conclude(
    _ order: CallbackOrder, _ turn: Originator.Turn, _ sending: Sending, createdAt: Instant,
    _ cache: AuditRecord.CacheUse
  ) async -> OriginationResult {
    let id = order.intent.id
    let report = sending.report
    let state = CallbackSettlement.Outcome(report.outcome.certainty)
    var problem: Problem?
    switch sending {
    case .noSecondTry(let reason, _): problem = reason
    case .outcome: problem = Problem(report.outcome)
    }
    // An upstream that a reload has replaced asks for no pause of the new one.
    if case .rateLimited(let wait) = report.outcome, upstream == tokens.upstream {
      let span = wait ?? Problem.usualPause
      originator.pause(for: span)
      log.paused(span)
      // An earlier answer may have asked for a longer one.
      problem = .paused(originator.pause ?? span)
    }
    originator.end(turn, wasSent: true)
    problem?.id = id.description
    let answer = storedAnswer(order, sending, problem, createdAt: createdAt)
    let settlement = CallbackSettlement(
      state, code: problem?.code.rawValue, upstreamStatus: report.status, platformTID: report.platformTID,
      answer: answer, keyRetention: order.intent.terms.keyRetention, at: Instant(clock.unixTime))
    await store.settle(order.intent, settlement) { [metrics, log] wasRecovered in
      // One that another instance has counted as unknown is not counted again.
      guard wasRecovered else { return metrics.callbacks.count(state.rawValue) }
      log.corrected(id: id.description, state: state.rawValue)
    }
    if state == .failed { await giveBack(order) }
    if let problem {
      return OriginationResult(.refused(problem), cache: cache, upstreamStatus: report.status)
    }
    guard let answer else { preconditionFailure("an accepted callback without a response") }
    return OriginationResult(
      .accepted(id, content: answer.content), cache: cache, upstreamStatus: report.status)
  }

  /// What repetitions get: what says something about the callback itself. Everything else leaves the key free.
  private func storedAnswer(
    _ order: CallbackOrder, _ sending: Sending, _ problem: Problem?, createdAt: Instant
  ) -> StoredAnswer? {
    guard case .outcome = sending else { return nil }
    guard let problem else {
      return StoredAnswer(
        status: Status.created.code,
        content: CallbackDocument.accepted(
          order.intent.id, createdAt: createdAt, contact: order.intent.contact.masked))
    }
    switch problem.code {
    case .invalidRequest, .upstreamFailed, .outcomeUnknown:
      return StoredAnswer(
        status: problem.code.status.code,
        content: problem.content(instance: order.requestID.description))
    default:
      return nil
    }
  }
}

extension CallbackSettlement.Outcome {
  fileprivate init(_ certainty: CallbackOutcome.Certainty) {
    self =
      switch certainty {
      case .accepted: .accepted
      case .notAccepted: .failed
      case .unknown: .unknown
      }
  }
}

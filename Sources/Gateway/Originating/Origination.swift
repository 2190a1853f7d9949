// One granted callback: a place at Talkdesk, a token, the intent committed, the request, its outcome committed.

internal import Gate
internal import HTTP
internal import Metrics
internal import Platform
internal import Store
internal import Talkdesk

/// A callback that may be made, with all that making it needs.
struct CallbackOrder: Sendable {
  /// Leave to make it, its allowances taken.
  let grant: Grant
  /// Its record to be, and its key.
  let intent: CallbackIntent
  /// What Talkdesk is sent.
  let content: [UInt8]
  /// The caller's trace context.
  let traceparent: String?
  let party: Originator.Party
  /// When the answer has to be there.
  let deadline: MonotonicTime
  let requestID: String
}

/// What came of an order.
struct OriginationResult: Sendable {
  /// What the caller is told.
  enum Outcome: Sendable {
    /// Talkdesk took it: what the caller and its repetitions are told.
    case accepted(CallbackID, content: [UInt8])
    /// It was not made, or nobody can say.
    case refused(Problem)
    /// An earlier request with its key has been answered already.
    case replay(StoredCallback, StoredAnswer?)
  }

  var outcome: Outcome
  /// Where the token came from; `none` where none was needed.
  var cache = AuditRecord.CacheUse.none
  /// The status Talkdesk answered with last.
  var upstreamStatus: Int?
}

/// Carries orders out (docs/callbacks.md): never sends what may have been accepted, and keeps what became of it.
struct Origination: Sendable {
  let originator: Originator
  let tokens: TokenSource
  let store: any CallbackStore
  let ledger: AllowanceLedger
  let api: CallbackAPI
  let scope: TokenSource.ScopeID
  let clock: any TimeSource
  let log: CallbackLog
  let metrics: ServiceMetrics

  /// Carries an order out. What was taken for it is given back wherever Talkdesk certainly did not accept.
  func carryOut(_ order: CallbackOrder) async -> OriginationResult {
    precondition(order.grant.action == .callback && order.grant.phone == order.intent.contact)
    let turn: Originator.Turn
    do throws(Originator.Refusal) {
      turn = try await originator.turn(order.party, deadline: order.deadline, bytes: order.content.count)
    } catch {
      await giveBack(order)
      return OriginationResult(outcome: .refused(Problem(error)))
    }
    var result = OriginationResult(outcome: .refused(.tooLate))
    switch await prepare(order, turn, &result) {
    case .stop(let outcome):
      originator.end(turn, wasSent: false)
      await giveBack(order)
      result.outcome = outcome
    case .send(let token, let createdAt):
      let last = await send(order, token, turn)
      if case .outcome(let report) = last {
        result.upstreamStatus = report.status
        if case .rateLimited(let wait) = report.outcome { pause(wait ?? Problem.usualPause) }
      }
      originator.end(turn, wasSent: true)
      result.outcome = await settle(order, last, createdAt: createdAt)
    }
    return result
  }

  // MARK: Before the first byte

  private enum Preparation {
    case send(AccessToken, createdAt: Instant)
    case stop(OriginationResult.Outcome)
  }

  /// Gets a token and commits the intent: nothing is kept before there is a token, and nothing sent before it is kept.
  private func prepare(
    _ order: CallbackOrder, _ turn: Originator.Turn, _ result: inout OriginationResult
  ) async -> Preparation {
    let token: AccessToken
    if let cached = tokens.cached(scope, now: clock.now) {
      token = cached
      result.cache = .hit
    } else {
      result.cache = .miss
      do throws(TokenError) {
        token = try await tokens.token(scope, deadline: order.deadline)
      } catch {
        if case .exchangeFailed(let cause, _) = error { result.upstreamStatus = cause.status }
        return .stop(.refused(Problem(error)))
      }
    }
    if let rest = originator.pause { return .stop(.refused(.paused(rest))) }
    guard order.deadline - clock.now > turn.leastTime else { return .stop(.refused(.tooLate)) }
    let createdAt = Instant(clock.unixTime)
    if let outcome = await begin(order, at: createdAt) { return .stop(outcome) }
    // The commit may have taken its time.
    guard order.deadline - clock.now > turn.leastTime else {
      await withdraw(order)
      return .stop(.refused(.tooLate))
    }
    return .send(token, createdAt: createdAt)
  }

  /// Commits the intent; says what to answer where that is not possible.
  private func begin(_ order: CallbackOrder, at now: Instant) async -> OriginationResult.Outcome? {
    do throws(StoreError) {
      switch try await store.begin(order.intent, at: now) {
      case .begun: return nil
      case .duplicate(let id): return .refused(.duplicate(of: id.description))
      case .inProgress: return .refused(.stillRunning)
      case .mismatch: return .refused(.otherRequest)
      case .replay(let record, let answer): return .replay(record, answer)
      }
    } catch {
      log.storeFailed(error, doing: "begin", requestID: order.requestID)
      // It may have been committed all the same; nothing was sent, so it must not stand in anybody's way.
      await withdraw(order)
      return .refused(.noStore)
    }
  }

  private func withdraw(_ order: CallbackOrder) async {
    do throws(StoreError) {
      try await store.withdraw(order.intent.id)
    } catch {
      // It becomes unknown after its deadline, which is less than is known but nothing false.
      log.notSettled(error, id: order.intent.id.description, state: "withdrawn", isLast: true)
    }
  }

  private func giveBack(_ order: CallbackOrder) async {
    await ledger.giveBack(order.grant.receipts, at: Instant(clock.unixTime))
  }

  private func pause(_ span: Duration) {
    originator.pause(for: span)
    log.paused(span)
  }

  // MARK: Sending

  private enum Sending {
    case outcome(CallbackReport)
    /// Talkdesk answered 401, and there was no other token or no time for another try.
    case noSecondTry(Problem)
  }

  /// Sends the request once, and once more with a new token after a 401, which certainly accepted nothing.
  private func send(_ order: CallbackOrder, _ token: AccessToken, _ turn: Originator.Turn) async -> Sending {
    let first = await ask(order, token)
    guard case .unauthorized = first.outcome else { return .outcome(first) }
    guard tokens.invalidate(token, scope: scope) else { return .outcome(first) }
    let next: AccessToken
    do throws(TokenError) {
      next = try await tokens.token(scope, deadline: order.deadline)
    } catch {
      return .noSecondTry(Problem(error))
    }
    if let rest = originator.pause { return .noSecondTry(.paused(rest)) }
    guard order.deadline - clock.now > turn.leastTime else { return .noSecondTry(.tooLate) }
    return .outcome(await ask(order, next))
  }

  private func ask(_ order: CallbackOrder, _ token: AccessToken) async -> CallbackReport {
    let report = await api.request(
      order.content, token: token, traceparent: order.traceparent, timeout: order.deadline - clock.now)
    metrics.asked(
      .callbackAPI, outcome: report.outcome.label, took: report.duration,
      success: report.outcome.certainty == .accepted ? clock.unixTime : nil)
    log.asked(
      report, id: order.intent.id.description, requestID: order.requestID,
      contact: order.intent.contact.masked)
    return report
  }

  // MARK: Afterwards

  /// Commits what is known, gives back what is certain to be owed, and says what to answer: the truth, whether or not it
  /// could be committed.
  private func settle(
    _ order: CallbackOrder, _ sending: Sending, createdAt: Instant
  ) async -> OriginationResult.Outcome {
    let id = order.intent.id
    let now = Instant(clock.unixTime)
    var state = CallbackSettlement.Outcome.failed
    var status: Int?
    var platformTID: String?
    var problem: Problem?
    switch sending {
    case .noSecondTry(let reason):
      problem = reason
      status = 401
    case .outcome(let report):
      problem = Problem(report.outcome)
      status = report.status
      platformTID = report.platformTID
      state = CallbackSettlement.Outcome(report.outcome.certainty)
    }
    problem?.id = id.description
    metrics.callbacks.count(state.rawValue)
    let answer = storedAnswer(order, sending, problem, createdAt: createdAt)
    let settlement = CallbackSettlement(
      state, code: problem?.code.rawValue, upstreamStatus: status, platformTID: platformTID, answer: answer,
      at: now)
    do throws(StoreError) {
      try await store.settle(id, settlement)
    } catch {
      log.notSettled(error, id: id.description, state: state.rawValue, isLast: false)
      settleLater(id, settlement)
    }
    if state == .failed { await giveBack(order) }
    if let problem { return .refused(problem) }
    guard let answer else { preconditionFailure("what was accepted has an answer to repeat") }
    return .accepted(id, content: answer.content)
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
        status: problem.code.status.code, content: problem.content(instance: order.requestID))
    default:
      return nil
    }
  }

  /// Tries again to commit an outcome, beside the answer. Should the process end before, the record becomes unknown.
  private func settleLater(_ id: CallbackID, _ settlement: CallbackSettlement) {
    Task {
      for wait in [1, 3, 6] {
        // Nobody cancels this task.
        try? await clock.sleep(until: clock.now + .seconds(wait))
        do throws(StoreError) {
          try await store.settle(id, settlement)
          return
        } catch {
          log.notSettled(error, id: id.description, state: settlement.outcome.rawValue, isLast: wait == 6)
        }
      }
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

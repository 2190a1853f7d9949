// `POST /calls/callback`: authenticates the caller, checks the kill switch, app and body, and starts the callback.

import API
import Callbacks
import Callers
import Configuration
import Deciding
import Delivery
import Gate
import HTTP
import HTTPServer
import Platform
import Records
import Serving
import Store
import Talkdesk

/// One request for a callback on its way, with everything that its response needs.
struct Calling: Sendable {
  /// The generation that serves the request, also after a reload.
  let generation: Generation
  /// When the request was whole.
  let start: MonotonicTime
  /// The loop it came on.
  let lane: Int
  /// Whether the request has `?validate`.
  let isValidation: Bool
  /// Whether the answer may be put off; false where too many requests wait already.
  let mayWait: Bool
  /// The time that it names for the call, to the second.
  var at: Instant?
  var record: AuditRecord
}

/// The checked content of a request for a callback.
struct RequestedCallback: Sendable {
  let request: CallbackRequest
  let key: IdempotencyKey?
  let caller: Caller
  /// Whether it carries a verification code if an installation asks.
  let carriesCode: Bool
  let facts: Facts
  let intent: CallbackIntent
  let deadline: MonotonicTime
}

extension Calling: RequestWork {
  var address: IPAddress { record.clientAddress }
  var context: RequestContext { RequestContext(requestID: record.requestID, trace: record.trace) }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at gateway: Gateway
  ) -> NextStep {
    var calling = self
    return gateway.read(request, &calling, circumstances)
  }

  var needsContent: Bool { true }

  func refuse(_ problem: Problem, because reason: String?, at gateway: Gateway) -> PreparedResponse {
    var calling = self
    calling.record.reason = reason
    return gateway.refuse(&calling, problem)
  }
}

extension Instant {
  /// The point a span later; saturates far beyond any date.
  fileprivate func later(by span: Duration) -> Instant {
    let total = Int64(nanoseconds) + span.nanosecondsClamped % 1_000_000_000
    let carry: Int64 = total >= 1_000_000_000 ? 1 : 0
    return Instant(
      seconds: seconds + span.nanosecondsClamped / 1_000_000_000 + carry,
      nanoseconds: Int32(total - carry * 1_000_000_000))
  }
}

extension Gateway {
  /// Answers a request for a callback. All steps without a wait run on the loop.
  func call(_ request: borrowing Request, _ exchange: inout Exchange) {
    let generation = generations.current
    let address = generation.clientAddress.resolve(request, peer: exchange.peer.address)
    var calling = Calling(
      generation: generation, start: exchange.now, lane: exchange.loopIndex,
      isValidation: request.query != nil && request.hasQueryItem("validate"), mayWait: exchange.mayDefer,
      record: AuditRecord(action: .callback, requestID: exchange.requestID, address: address))
    calling.record.trace = TraceContext(request)
    perform(calling, request, &exchange)
  }

  // MARK: On the loop

  /// Authenticates a request, asks kill switch and app, and checks its content.
  fileprivate func read(
    _ request: borrowing Request, _ calling: inout Calling, _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    let generation = calling.generation
    switch generation.authenticator.authenticate(request, circumstances) {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(refuse(&calling, problem))
    case .caller(let caller):
      calling.record.caller = caller.audited
      let app: App?
      do throws(Decider.Refusal) {
        app = try generation.decider.admit(
          caller.id, to: .callback, app: request.queryItem("app"), installedFor: caller.installedFor)
      } catch {
        calling.record.note(error, generation.decider.policy)
        return .respond(refuse(&calling, error.problem))
      }
      calling.record.app = app?.id
      do throws(Problem) {
        let terms = generation.callbackTerms.terms(of: app?.id)
        let now = Instant(circumstances.time)
        let (asked, key) = try content(of: request, terms) {
          generation.fault(inCallTime: $0, at: now)
        }
        calling.record.contact = asked.maskedContact
        calling.at = asked.at
        var facts = generation.facts(
          .callback, caller, app: app, address: circumstances.address, request, at: circumstances.time)
        facts.phone = asked.contactNumber
        let requested = requested(asked, key, caller, terms, facts, calling)
        guard calling.mayWait else { return .respond(refuse(&calling, .tooManyWaiting)) }
        callbacks.inHand.enter()
        return .later { [self, calling] in await answer(calling, requested, $0) }
      } catch {
        calling.record.verdicts = generation.decider.policy.skipped
        return .respond(refuse(&calling, error))
      }
    }
  }

  /// The content and the key, everything that is wrong with either in one problem.
  private func content(
    of request: borrowing Request, _ terms: CallbackTerms, timeFault: (Instant) -> String?
  ) throws(Problem) -> (CallbackRequest, IdempotencyKey?) {
    try JSONContent.check(
      type: request.value(of: .contentType).map { [head = request.head] in head[$0] },
      encodings: request.values(of: .contentEncoding).map { [head = request.head] in head[$0] })
    var key: IdempotencyKey?
    var keyProblem: Problem?
    do throws(Problem) {
      key = try IdempotencyKey.read(request.value(of: .idempotencyKey).map(request.string))
    } catch {
      keyProblem = error
    }
    do throws(Problem) {
      let asked = try CallbackRequest(parsing: request.content, terms: terms, timeFault: timeFault)
      if var keyProblem {
        if let fault = asked.at.flatMap(timeFault) {
          keyProblem.fields.insert(Problem.FieldProblem(name: "at", description: fault), at: 0)
        }
        throw keyProblem
      }
      return (asked, key)
    } catch {
      var problem = error
      if problem.code == .invalidRequest, let keyProblem, !problem.fields.contains(keyProblem.fields) {
        problem.fields += keyProblem.fields
      }
      throw problem
    }
  }

  private func requested(
    _ asked: CallbackRequest, _ key: IdempotencyKey?, _ caller: Caller, _ own: CallbackTerms, _ facts: Facts,
    _ calling: Calling
  ) -> RequestedCallback {
    let terms = calling.generation.configuration.callbacks
    // Users of one issuer share a caller; a key is one user's own, with or without an installation.
    let owner = caller.owner
    let prefix = owner.subject == owner.callerID ? "" : owner.subject + "\u{0}"
    var intent = CallbackIntent(
      id: CallbackID(at: facts.instant), callerID: owner.callerID, subject: owner.subject, appID: facts.appID,
      contact: asked.contactNumber,
      key: key.map { .init(text: prefix + $0.text, fingerprint: Array(asked.fingerprint.utf8)) },
      terms: .init(
        dedupeWindow: terms.dedupeWindow, keyRetention: terms.keyRetention, retention: terms.retention),
      deadline: facts.instant.later(by: terms.timeout))
    intent.notifies = calling.generation.notified(caller)
    return RequestedCallback(
      request: asked, key: key, caller: caller, carriesCode: own.addsVerificationCode, facts: facts,
      intent: intent, deadline: calling.start + terms.timeout)
  }
}

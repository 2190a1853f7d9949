// Requests for callbacks, from `POST /calls/callback`, GMS clients and AI agents: authenticates the caller,
// checks the kill switch, app and content, and starts the callback.

import API
import Callbacks
import Callers
import Configuration
import Deciding
import Delivery
import Gate
package import HTTP
package import HTTPServer
import Installations
import JOSE
import Notices
import Platform
import PushDelivery
import Records
import Serving
import Store
import Talkdesk

/// A request for a callback, from its start to its response.
struct Calling: Sendable {
  let client: ClientRequest
  /// Whether the request has `?validate`.
  let isValidation: Bool
  /// The time that the request names for the call, to the second.
  var at: Instant?
  var record: AuditRecord
  /// The form of another API; nil for this server's own API.
  var call: CallForm?
  /// The checked content, for the response in that form.
  var asked: CallbackRequest?
  /// The device that the request names.
  var device = CallForm.Device.none
  /// Sends the response; nil until the request waits for it.
  var responder: Responder?
  /// The task that answers an AI agent if the request takes longer than `AgentCall.patience`; nil for other
  /// clients.
  var timer: Task<Void, Never>?
}

/// The checked content of a request for a callback.
struct RequestedCallback: Sendable {
  let request: CallbackRequest
  let key: IdempotencyKey?
  let caller: Caller
  /// Whether the callback of an installation carries a verification code.
  let carriesCode: Bool
  var facts: Facts
  let intent: CallbackIntent
  let deadline: MonotonicTime
}

extension Calling: AuditedWork {
  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    var calling = self
    return handlers.read(request, &calling, circumstances)
  }

  var needsContent: Bool { true }
}

extension Handlers {
  /// Answers a request for a callback. All steps without a wait run on the loop.
  ///
  /// - Parameter form: The form of another API; nil for this server's own API.
  package func call(
    _ request: borrowing Request, _ exchange: inout Exchange, as form: CallForm? = nil
  ) {
    let client = client(request, exchange, form: form?.responses)
    perform(
      Calling(
        client: client,
        isValidation: form == nil && request.query != nil && request.hasQueryItem("validate"),
        record: client.record(of: .callback), call: form),
      request, &exchange)
  }

  // MARK: On the loop

  /// Authenticates a request, checks kill switch and app, and checks its content.
  fileprivate func read(
    _ request: borrowing Request, _ calling: inout Calling, _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    let name = calling.call?.app ?? request.queryItem("app")
    switch identify(request, app: name, for: calling.client, circumstances, &calling.record) {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(refuse(calling, problem))
    case .caller(let caller):
      calling.record.caller = caller.audited
      return read(request, &calling, of: caller, circumstances)
    }
  }

  /// Checks kill switch and app for the request of a known caller, and checks its content.
  func read(
    _ request: borrowing Request, _ calling: inout Calling, of caller: Caller,
    _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    let generation = calling.generation
    let agent = calling.call?.agent
    let app: App?
    do throws(Decider.Refusal) {
      app = try generation.decider.admit(
        Applicant(caller), to: .callback, app: calling.call?.app ?? request.queryItem("app"))
    } catch {
      calling.record.note(error, generation.decider.policy)
      return .respond(refuse(calling, error.problem))
    }
    calling.record.app = app?.id
    do throws(Problem) {
      if circumstances.isEarly {
        if calling.call == nil {
          try JSONContent.check(request)
        } else {
          _ = try JSONContent.isForm(request)
        }
        try JSONContent.checkLength(request, atMost: CallbackLimits.contentBytes)
        return .content
      }
      var terms = generation.callbackTerms.terms(of: app?.id)
      if agent != nil { terms = terms.takingReasons(longest: AgentCall.longestReason) }
      var facts = generation.facts(
        .callback, caller, app: app, address: circumstances.address, request, at: circumstances.time)
      terms.knownTexts = agent?.requiredTexts == nil ? generation.textsToKnow(facts) : nil
      let now = Instant(circumstances.time)
      let fault = { generation.fault(inCallTime: $0, at: now) }
      let read = calling.call?.read(request)
      let isOfAnother = read != nil
      let reading = { [terms] (content: [UInt8]) throws(Problem) in
        try CallbackRequest(
          parsing: content, terms: terms, namesFields: isOfAnother, timeFault: fault)
      }
      let (asked, key): (CallbackRequest, IdempotencyKey?)
      if let agent, let read {
        // An agent's request gets its own key, so an `Idempotency-Key` of its client does not count.
        (asked, key) = (try reading(try read.get().content), nil)
        guard agent.mistakes.isEmpty else { throw .invalid([]) }
      } else {
        (asked, key) = try IdempotencyKey.read(with: request, converted: read?.map { $0.content }, reading) {
          $0.at.flatMap(fault).map { [$0] } ?? []
        }
      }
      calling.record.contact = asked.maskedContact
      calling.at = asked.at
      if case .success(let read)? = read { calling.device = read.device }
      if calling.call != nil { calling.asked = asked }
      calling.record.consent = generation.consent(asked.consent)
      facts.phone = asked.contactNumber
      facts.number = generation.evidence(asked)
      let requested = requested(asked, key, caller, terms, facts, calling)
      guard calling.mayWait else { return .respond(refuse(calling, .tooManyWaiting)) }
      callbacks.inHand.enter()
      if let agent {
        return .later { [self, calling] in await answer(calling, requested, agent, $0) }
      }
      return .later { [self, calling] in await answer(calling, requested, $0) }
    } catch {
      calling.record.verdicts = generation.decider.policy.skipped
      return .respond(refuse(calling, error))
    }
  }

  private func requested(
    _ asked: CallbackRequest, _ key: IdempotencyKey?, _ caller: Caller, _ own: CallbackTerms, _ facts: Facts,
    _ calling: Calling
  ) -> RequestedCallback {
    let terms = calling.generation.configuration.callbacks
    let owner = caller.owner
    let agent = calling.call?.agent
    let conversation = agent?.conversation(of: owner)
    var intent = CallbackIntent(
      id: CallbackID(at: facts.instant), callerID: owner.callerID, subject: owner.subject, appID: facts.appID,
      contact: asked.contactNumber,
      key: conversation.map { AgentCall.key(in: $0, asked.contactNumber, at: asked.at) }
        ?? key.map { .init(text: caller.owned($0), fingerprint: Array(asked.fingerprint.utf8)) },
      terms: terms.kept(agent),
      deadline: facts.instant.advanced(by: terms.timeout))
    intent.conversation = conversation
    intent.installation = caller.installation?.installation.identity
    notify(caller, of: &intent, calling)
    intent.alias = calling.call?.alias(intent)
    intent.talkdeskNumber = asked.talkdeskNumber
    intent.consent = calling.record.consent
    intent.screening = calling.generation.screeningID(of: asked.contactNumber)
    intent.ownership = calling.generation.ownership(asked.contactNumber, of: caller, facts)
    return RequestedCallback(
      request: asked, key: key, caller: caller, carriesCode: own.addsVerificationCode, facts: facts,
      intent: intent, deadline: calling.start + terms.timeout)
  }

  /// Sets the receiver of the push notifications: the device that the request names, or else the caller's
  /// installation. If that device cannot be used, there is no receiver.
  private func notify(_ caller: Caller, of intent: inout CallbackIntent, _ calling: Calling) {
    switch calling.device {
    case .none:
      intent.notifies = calling.generation.notified(caller)
      return
    case .token(let token):
      let platforms = calling.generation.push?.senders.platforms ?? []
      guard platforms.contains(token.platform), let keys = appointments.keys else { break }
      do throws(OpenSSLError) {
        intent.notify(try GivenDevice(token, of: intent.id, keys))
        return
      } catch {
        log.write(
          .error, "a device could not be encrypted, so it gets no push notifications",
          ["error.message": "\(error)"])
      }
    case .unusable: break
    }
    callbacks.ignoredDevice()
  }
}

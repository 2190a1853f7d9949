// Handles `POST /mcp`: checks who may use it, and runs the tool that a message calls.

import API
import Callers
import Configuration
import Deciding
import Delivery
import Gate
package import HTTP
package import HTTPServer
import JSON
import Platform
import Records
import Responses
import Serving
import Store
import Texts

/// One message from an AI agent's client.
private struct AgentRequest: RequestWork {
  var client: ClientRequest
  let mcp: Configuration.MCP

  // A message itself has no audit line. Calls of some tools and refused credentials have one.
  var line: AuditRecord? { nil }
  var needsContent: Bool { true }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    guard generation.takesAgents(from: request) else {
      return .respond(handlers.refuse(client, nil, .foreignPage))
    }
    var line: AuditRecord? = client.record(of: .callback)
    line?.via = .mcp
    switch handlers.authenticate(request, for: client, circumstances, &line) {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem):
      let isUnauthenticated = problem.code.status == .unauthorized
      return .respond(
        handlers.refuse(client, isUnauthenticated ? line : nil, generation.challenged(problem)))
    case .caller(let caller):
      do throws(Problem) {
        guard mcp.callers?.contains(exactly: caller.id) ?? true else {
          throw Problem(.denied, "This caller may not use the tools of this server.")
        }
        try JSONContent.check(request)
        try JSONContent.checkLength(request, atMost: AgentProtocol.contentBytes)
        guard request.content.count <= AgentProtocol.contentBytes else {
          throw .contentTooLarge(AgentProtocol.contentBytes)
        }
      } catch {
        return .respond(handlers.refuse(client, nil, error))
      }
      if circumstances.isEarly { return .content }
      return handlers.take(request, from: caller, client, mcp, circumstances)
    }
  }
}

extension Handlers {
  /// Handles one message from an agent's client.
  package func takeAgentMessage(_ request: borrowing Request, _ exchange: inout Exchange) {
    let client = client(request, exchange)
    guard let mcp = client.generation.configuration.mcp else {
      return exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
    }
    perform(AgentRequest(client: client, mcp: mcp), request, &exchange)
  }

  /// Refuses every method except POST, as the server has no streams. Answers preflight requests from allowed
  /// origins.
  package func refuseAgentMethod(_ request: borrowing Request, _ exchange: inout Exchange) {
    let generation = generations.current
    var problem = Problem.methodNotAllowed("POST")
    if generation.configuration.mcp == nil {
      problem = .noEndpoint
    } else if request.method == .options, generation.takesAgents(from: request),
      let fields = generation.agentOrigins.preflight(request, allowed: "POST")
    {
      return exchange.respond(Response(status: .noContent, fields: fields))
    }
    exchange.respond(problem.response(requestID: exchange.requestID))
  }

  /// `GET /.well-known/oauth-protected-resource`: returns the issuers from which agents get tokens (RFC
  /// 9728).
  package func showAgentMetadata(_ exchange: inout Exchange) {
    let configuration = generations.current.configuration
    guard let url = configuration.externalURLs.first, !configuration.agentIssuers.isEmpty else {
      return exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
    }
    let document: JSONObject = [
      "resource": .string(url + "/mcp"),
      "authorization_servers": .array(configuration.agentIssuers.map { .string($0.issuer) }),
      "bearer_methods_supported": ["header"], "resource_name": "Callgate",
    ]
    exchange.respond(
      Response(
        status: .ok, fields: ["Content-Type": "application/json", "Access-Control-Allow-Origin": "*"],
        content: document.serialized()))
  }

  // MARK: Messages

  fileprivate func take(
    _ request: borrowing Request, from caller: Caller, _ client: ClientRequest, _ mcp: Configuration.MCP,
    _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    let tools = AgentTools(mcp, texts: client.generation.configuration.numbers?.consentNames ?? [])
    switch AgentMessage(request.content, AgentHead(request), tools) {
    case .answer(let response): return .respond(PreparedResponse(response))
    case .call(let reply, let tool, let given):
      let arguments = tools.read(given, of: tool)
      let generation = client.generation
      let answers = AgentAnswers(
        reply: reply, tool: tool, mistakes: arguments.mistakes,
        times: GMSLocalTimes(zone: generation.decider.policy.zoneOfHours),
        calls: generation.metrics.agentCalls)
      let form = ResponseForm(via: .mcp) { problem, _ in answers.problem(problem) }
      let client = client.answered(in: form)
      let app = mcp.app.map { Request.QueryItem.value($0) } ?? request.queryItem("app")
      var record = client.record(of: tool == .requestCallback ? .callback : .cancel)
      record.caller = caller.audited
      record.conversation =
        arguments.conversation.isEmpty ? nil : arguments.conversation.hidingPhoneNumbers
      guard tool == .requestCallback else {
        return use(arguments, answers, for: app, request, caller, client, record, circumstances)
      }
      let agent = AgentCall(
        conversation: arguments.conversation, repeats: mcp.repeats,
        requiredTexts: tools.requiresConsent ? tools.texts : nil, mistakes: arguments.mistakes,
        repeated: { answers.repeated($0) },
        pending: { id, isRepeated, intent, at in
          answers.pending(id, at: at, contact: intent.maskedContact, isRepeated: isRepeated)
        })
      let content = arguments.callback(at: Instant(circumstances.time))
      var calling = Calling(
        client: client, isValidation: false, record: record,
        call: CallForm(
          form, app: app, content: { _ in (content, .none) }, alias: { _ in nil },
          success: { answers.created($0) }, agent: agent))
      return read(request, &calling, of: caller, circumstances)
    }
  }

  /// Runs a tool that does not request a callback.
  private func use(
    _ arguments: AgentTools.Arguments, _ answers: AgentAnswers, for app: Request.QueryItem,
    _ request: borrowing Request, _ caller: Caller, _ client: ClientRequest, _ record: AuditRecord,
    _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    let line = answers.tool == .cancelCallback ? record : nil
    guard client.generation.decider.stops.isKnown else {
      return .respond(refuse(client, line, .stopsUnknown))
    }
    guard client.mayWait else { return .respond(refuse(client, line, .tooManyWaiting)) }
    let kept = request.withoutContent()
    return .later { [self] responder in
      let visit = Visit(
        client: client, caller: caller, request: kept, time: circumstances.time, responder: responder,
        waiting: WaitingRequest(caller, kept, circumstances))
      var line = line
      do throws(Problem) {
        let response = try await answer(arguments, answers, for: app, visit, &line)
        if let line { audit.append(line, since: client.start, lane: client.lane) }
        responder.respond(response)
      } catch {
        responder.respond(refuse(client, line, error))
      }
    }
  }

  private func answer(
    _ arguments: AgentTools.Arguments, _ answers: AgentAnswers, for app: Request.QueryItem, _ visit: Visit,
    _ line: inout AuditRecord?
  ) async throws(Problem) -> Response {
    guard arguments.mistakes.isEmpty else { throw .invalid([]) }
    guard answers.tool != .availability else {
      func item(_ name: String) -> Request.QueryItem {
        arguments[name].map { $0.string.map { .value($0) } ?? .malformed } ?? .absent
      }
      return answers.availability(
        try await availability(visit, app: app) { () throws(Problem) in
          try SlotSpan(from: item("from"), to: item("to"))
        })
    }
    var record = try await record(arguments.text("id") ?? "", of: visit.caller)
    let owner = visit.caller.owner
    let conversation = AgentCall.digest(
      arguments.conversation, callerID: owner.callerID, subject: owner.subject)
    guard record.conversation == conversation else { throw .noCallback }
    line?.note(record)
    if answers.tool == .cancelCallback {
      record = try await cancel(record, visit.generation, visit.context, visit.responder)
    } else {
      visit.generation.told(record, by: visit.responder)
    }
    return answers.status(record)
  }

  // MARK: Callbacks

  /// Answers an agent's request for a callback. If that takes longer than an agent waits, the answer is
  /// `pending`. A closed connection cancels nothing, since the agent will ask again.
  func answer(
    _ calling: Calling, _ requested: RequestedCallback, _ agent: AgentCall, _ responder: Responder
  ) async {
    let intent = requested.intent
    var calling = calling
    calling.timer = Task { [clock, callbacks, start = calling.start, at = calling.at] in
      let own = intent.id.description
      func respond(_ first: String) {
        responder.respond(agent.pending(first, !first.hasSameBytes(as: own), intent, at))
      }
      // If the timer was canceled, the request already has its answer.
      guard await clock.hasSlept(until: start + AgentCall.patience) else { return }
      if let first = callbacks.inHand.first(of: intent), !first.hasSameBytes(as: own) {
        return respond(first)
      }
      // Another instance may have the record. The store has a short time to find it.
      Task {
        var first = own
        // If the store fails, the answer names this request.
        do throws(StoreError) {
          let standing = try await callbacks.store.standing(of: intent, at: Instant(clock.unixTime))
          if case .replay(let record) = standing.key { first = record.id.description }
        } catch {}
        respond(first)
      }
      if await clock.hasSlept(until: clock.now + AgentCall.lookup) { respond(own) }
    }
    let work = Task { [calling] in await answer(calling, requested, responder) }
    await work.value
  }

  /// Waits until this request may call the number. If an equal request has saved its callback by then,
  /// answers with that one.
  ///
  /// The first of several equal requests to get its turn makes the callback, even if another one claimed the
  /// key.
  ///
  /// - Parameter duplicate: Becomes the id of another callback to the number.
  /// - Returns: The answer about that callback, or a refusal: the number was not free in time, too many
  ///   requests wait, or the store failed. Nil if this request continues, to make the callback or to be
  ///   refused as a duplicate.
  func follow(
    _ calling: inout Calling, _ requested: RequestedCallback, _ claim: CallbacksInHand.Claim,
    isAppointment: Bool, _ duplicate: inout CallbackID?, _ hold: inout Hold
  ) async -> PreparedResponse? {
    let intent = requested.intent
    var mustRead = claim != .free
    while duplicate == nil {
      let turn = await hold.takeNumber(deadline: requested.deadline)
      switch turn {
      case .free where !mustRead: return nil
      case .free, .taken: mustRead = true
      case .late: return refuse(calling, Problem(.noTurn(.late)))
      case .full: return refuse(calling, Problem(.noTurn(.overloaded(retryAfter: .seconds(1)))))
      }
      do throws(StoreError) {
        let standing = try await callbacks.store.standing(of: intent, at: Instant(clock.unixTime))
        if case .replay(let record) = standing.key {
          // Have the waiting requests read the record at once, and not one after the other.
          if turn == .free, standing.duplicate == record.id || intent.terms.dedupeWindow == .zero {
            hold.recorded(record.id)
          }
          return replay(&calling, record)
        }
        // An immediate callback to the number does not prevent an appointment.
        if !isAppointment { duplicate = standing.duplicate }
      } catch {
        callbacks.log.storeFailed(error, doing: "standing", calling.context)
        return refuse(calling, Problem(.notSaved))
      }
      if turn == .free { break }
    }
    // From now on, equal requests that wait for long are answered with this callback's id.
    let name = intent.id.description
    if duplicate == nil, claim != .free, hold.claimKey(fingerprint: name) != .free {
      callbacks.inHand.rename(firstOf: intent, to: name)
    }
    return nil
  }

  /// The problem of a duplicate. An agent gets the id of the earlier callback only if both belong to the same
  /// conversation.
  func known(_ problem: Problem, _ first: CallbackID, _ calling: Calling) async -> Problem {
    guard let agent = calling.call?.agent else { return problem }
    var problem = problem
    // If the store fails, the answer has no id.
    do throws(StoreError) {
      if let record = try await store.callbacks([first]).first {
        problem.isOfConversation =
          record.conversation
          == AgentCall.digest(agent.conversation, callerID: record.callerID, subject: record.subject)
      }
    } catch {}
    return problem
  }
}

extension ClientRequest {
  /// The same request, with problems in another form.
  fileprivate func answered(in form: ResponseForm) -> ClientRequest {
    ClientRequest(
      generation: generation, address: address, context: context, start: start, lane: lane, mayWait: mayWait,
      form: form, round: round)
  }
}

extension Generation {
  /// Whether a request comes from an allowed web page, or from a client that is no web page. The sandbox also
  /// allows its own pages on this machine.
  fileprivate func takesAgents(from request: borrowing Request) -> Bool {
    guard request.count(of: .origin) > 0 else { return true }
    if agentOrigins.lists(request) { return true }
    guard configuration.purpose == .sandbox, request.count(of: .origin) == 1,
      let origin = request.value(of: .origin), let host = request.text(of: .host)
    else { return false }
    return request.equals(origin, "http://" + host) && Self.isLoopback(host)
  }

  /// Whether a `Host` names this machine.
  private static func isLoopback(_ host: String) -> Bool {
    let octets = Array(host.utf8)
    let end = octets.lastIndex(of: UInt8(ascii: ":")).flatMap { octets.last == UInt8(ascii: "]") ? nil : $0 }
    let name = octets[..<(end ?? octets.endIndex)].filter { !"[]".utf8.contains($0) }
    return name.elementsEqual("localhost".utf8) || IPAddress(octets: name[...])?.isLoopback == true
  }

  /// Adds the URL of the metadata to a refused credential. The metadata says where agents get a token.
  fileprivate func challenged(_ problem: Problem) -> Problem {
    guard problem.code.status == .unauthorized, !configuration.agentIssuers.isEmpty,
      let url = configuration.externalURLs.first
    else { return problem }
    let others = problem.responseFields.lines.filter { line in
      !(line.name.hasSameBytes(as: "WWW-Authenticate") && line.value.utf8.starts(with: "Bearer ".utf8))
    }
    let error = problem.code == .invalidToken ? #", error="invalid_token""# : ""
    var problem = problem
    problem.responseFields = [
      "WWW-Authenticate":
        #"Bearer resource_metadata="\#(url)/.well-known/oauth-protected-resource/mcp""# + error
    ]
    for line in others { problem.responseFields.append(line.name, line.value) }
    return problem
  }
}

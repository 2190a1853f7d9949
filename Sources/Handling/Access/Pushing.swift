// Tokens by push: sends the notification with a claim, returns the token for the claim, and registers
// devices.

import API
import Callers
import Configuration
import Deciding
import Gate
package import HTTP
package import HTTPServer
import Installations
import JSON
import Platform
import PushDelivery
import Records
import Responses
import Serving
import Store
import Tokens

extension Handlers {
  private static let fields: Fields = ["Content-Type": "application/json", "Cache-Control": "no-store"]

  // MARK: The notice

  /// Answers a request for a token of an app whose tokens come by push.
  func push(
    _ vending: inout Vending, _ caller: Caller, _ app: App, _ request: borrowing Request,
    _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    vending.record.verdicts = vending.generation.decider.policy.skipped
    guard let installation = caller.installation?.installation, let push = vending.generation.push else {
      preconditionFailure("a caller that is no installation was admitted to an app whose tokens come by push")
    }
    guard vending.mayWait else { return .respond(refuse(vending, .tooManyWaiting)) }
    let facts = vending.generation.facts(
      .access, caller, app: app, address: circumstances.address, request, at: circumstances.time)
    // HEAD shows what GET would answer, and sends nothing.
    let sends = request.method != .head
    let waiting = WaitingRequest(caller, request.withoutContent(), circumstances)
    return .later { [self, vending] in
      guard let response = await answer(vending, push, installation.identity, facts, waiting, sends: sends)
      else { return await judgeAgain(vending, waiting, $0) }
      $0.respond(response)
    }
  }

  /// - Returns: The response; nil to evaluate the request again.
  private func answer(
    _ vending: Vending, _ push: TokenPush, _ id: InstallationIdentity, _ facts: Facts,
    _ waiting: WaitingRequest, sends: Bool
  ) async -> PreparedResponse? {
    var vending = vending
    let statuses: [AllowanceStatus]
    do throws(Problem) {
      guard let left = try await notify(&vending, push, id, facts, waiting, sends: sends) else { return nil }
      statuses = left
    } catch {
      guard !Task.isCancelled else {
        return refuse(vending, .clientLeft)
      }
      return refuse(vending, error)
    }
    if vending.record.reason == nil { vending.record.reason = "the token comes by push" }
    audit.append(vending.record, since: vending.start, lane: vending.lane)
    var response = Response(
      status: .accepted, fields: Self.fields, content: Array(#"{"delivery":"push"}"#.utf8))
    response.fields.append(allowances: statuses)
    return PreparedResponse(response)
  }

  /// Evaluates the rules. If they permit the token, takes the allowances and sends the notification.
  ///
  /// - Parameter sends: False for HEAD, which takes nothing and sends nothing.
  /// - Returns: The caller's remaining allowances; nil to evaluate the request again.
  private func notify(
    _ vending: inout Vending, _ push: TokenPush, _ id: InstallationIdentity, _ facts: Facts,
    _ waiting: WaitingRequest, sends: Bool
  ) async throws(Problem) -> [AllowanceStatus]? {
    let device = try await push.book.device(of: id)
    let generation = vending.generation
    let ruling = try await generation.decider.ruling(
      facts, taking: sends, deadline: vending.start + generation.configuration.tokens.deadline)
    vending.note(ruling)
    let statuses = ruling.statuses
    switch ruling.concluded() {
    case .refused(let denial):
      logRefusal(denial, of: facts, by: generation.decider.policy, vending.context)
      throw Problem(denial)
    case .granted(let grant):
      guard sends else { return statuses }
      guard !Task.isCancelled else {
        await push.book.giveBack(grant.receipts)
        throw .clientLeft
      }
      // The intent comes first, because the notification lets the device fetch the token.
      do throws(Problem) { try await intend(vending.record) } catch {
        await push.book.giveBack(grant.receipts)
        throw error
      }
      let receipts = grant.receipts
      do throws(Problem) {
        guard try await isPermitted(vending.client, waiting, app: vending.app, isLong: false) else {
          await push.book.giveBack(receipts)
          return nil
        }
      } catch {
        await push.book.giveBack(receipts)
        throw error
      }
      try await push.send(grant, to: device)
      return statuses
    }
  }

  // MARK: The claim

  /// `POST /access/claim`: returns the token for the `_id` of its notification, once.
  package func claimToken(_ request: borrowing Request, _ exchange: inout Exchange) {
    let form = AccessForm(accepting: request)
    let check: HeadCheck = { request, caller, generation, line throws(Problem) in
      // Only the store knows the app of the claim. A stop of that app is checked later.
      try generation.checkStop(of: .access, by: caller, app: caller.installedFor, &line)
      try Self.checkJSON(atMost: MemberReader.mostBytes)(request, caller, generation, &line)
      _ = try generation.installationWithPush(caller)
    }
    visit(request, &exchange, as: .access, checking: check) { [self] visit, line throws(Problem) in
      line?.verdicts = visit.generation.decider.policy.skipped
      let (push, id) = try visit.generation.installationWithPush(visit.caller)
      let claim: StoredClaim
      switch try await push.book.find(ClaimRequest(parsing: visit.request.content).id, for: id) {
      case .live(let found): claim = found
      case .over: throw .claimExpired
      case .foreign: throw Problem(.denied, "This claim belongs to another installation.")
      case .unknown:
        try await push.book.countUnknown(from: visit.address)
        throw .claimExpired
      }
      let (token, hasWaited) = try await token(for: claim, visit, &line)
      if let line { try await intend(line) }
      // Even if the token was cached, a rule may have waited for a remote policy.
      guard
        try await isPermitted(
          visit.client, visit.waiting, app: .value(claim.appID), isLong: hasWaited)
      else { return nil }
      // Redeem the claim only when the token is available and the client is still connected.
      guard !Task.isCancelled else { throw .clientLeft }
      try await push.book.redeem(claim)
      line?.tokenSHA256 = token.sha256
      return form.response(token, expiresIn: token.wholeSecondsLeft(at: clock.now))
    }
  }

  /// Evaluates the rules again without taking allowances, and gets the token.
  ///
  /// - Returns: The token, and whether it needed a request to Talkdesk ID.
  private func token(
    for claim: StoredClaim, _ visit: Visit, _ line: inout AuditRecord?
  ) async throws(Problem) -> (token: AccessToken, hasWaited: Bool) {
    let generation = visit.generation
    let decider = generation.decider
    let app: App?
    do throws(Decider.Refusal) {
      app = try decider.admit(Applicant(visit.caller), to: .access, app: .value(claim.appID))
    } catch {
      line?.note(error, decider.policy)
      throw error.problem
    }
    line?.app = app?.id
    // A reload gave the app a chat desk. Tokens of a chat desk do not come by push.
    guard app?.desk == nil else { throw .claimExpired }
    let facts = generation.facts(
      .access, visit.caller, app: app, address: visit.address, visit.request, at: clock.unixTime)
    let ruling = try await decider.ruleAgain(
      facts, asking: .besideAllowances, deadline: visit.start + generation.configuration.tokens.deadline)
    line?.verdicts = ruling.verdicts
    line?.reason = ruling.reason
    switch ruling.concluded() {
    case .refused(let denial):
      logRefusal(denial, of: facts, by: decider.policy, visit.context)
      throw Problem(denial)
    case .granted(let grant):
      let scope = generation.scopes.scope(of: grant.appID)
      switch tokens.vendAtOnce(grant, scope: scope, now: clock.now) {
      case .token(let token):
        line?.cache = .hit
        return (token, false)
      case .notCached(let grant):
        line?.cache = .miss
        do throws(TokenError) {
          let token = try await tokens.vend(grant, scope: scope, trace: visit.context.trace)
          line?.upstreamStatus = 200
          return (token, true)
        } catch {
          if case .exchangeFailed(let cause, _) = error { line?.upstreamStatus = cause.status }
          throw Problem(error)
        }
      }
    }
  }

  /// `GET /notices/{id}`: returns the action of a push notification, and its callback if it is about one.
  package func showNotice(_ id: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange) { visit, _ throws(Problem) in
      if case (let push, let installation)? = visit.generation.pushed(visit.caller) {
        switch try await push.book.find(id, for: installation) {
        case .live, .over:
          return Response(status: .ok, fields: Self.fields, content: Array(#"{"action":"access"}"#.utf8))
        case .foreign, .unknown: break
        }
        // `find` returns only notifications of valid installations, so the same id means the same
        // installation.
        if let found = try await push.notices.find(id), found.notice.installation.id == installation.id {
          var document: JSONObject = ["action": .string(found.notice.action.rawValue)]
          document["callback"] = found.notice.callback.map { .string($0.description) }
          return Response(status: .ok, fields: Self.fields, content: document.serialized())
        }
        try await push.book.countUnknown(from: visit.address)
      }
      throw Problem(.notFound, "This installation has no such notification.")
    }
  }

  // MARK: The device

  /// `PUT /installations/self/push`: registers the device of the calling installation.
  package func registerDevice(_ request: borrowing Request, _ exchange: inout Exchange) {
    let check: HeadCheck = { request, caller, generation, line throws(Problem) in
      try Self.checkJSON(atMost: DeviceRequest.contentBytes)(request, caller, generation, &line)
      _ = try generation.installationWithPush(caller)
    }
    visit(request, &exchange, as: .device, checking: check) { visit, line throws(Problem) in
      let (push, id) = try visit.generation.installationWithPush(visit.caller)
      let asked = try DeviceRequest(parsing: visit.request.content, platforms: push.senders.platforms)
      line?.app = visit.caller.installedFor
      try await push.register(asked.token, of: id)
      return Response(status: .noContent, fields: ["Cache-Control": "no-store"])
    }
  }

  /// `DELETE /installations/self/push`: removes the device of the calling installation.
  package func removeDevice(_ request: borrowing Request, _ exchange: inout Exchange) {
    let check: HeadCheck = { _, caller, generation, _ throws(Problem) in
      _ = try generation.installationWithPush(caller)
    }
    visit(request, &exchange, as: .device, checking: check) { visit, line throws(Problem) in
      let (push, id) = try visit.generation.installationWithPush(visit.caller)
      line?.app = visit.caller.installedFor
      line?.reason = "the device is removed"
      try await push.book.removeDevice(of: id)
      return Response(status: .noContent, fields: ["Cache-Control": "no-store"])
    }
  }
}

extension Generation {
  /// The calling installation; nil for other callers, and if this server sends no push notifications.
  fileprivate func pushed(_ caller: Caller) -> (push: TokenPush, id: InstallationIdentity)? {
    guard let id = caller.installation?.installation.identity, let push else { return nil }
    return (push, id)
  }

  fileprivate func installationWithPush(
    _ caller: Caller
  ) throws(Problem) -> (push: TokenPush, id: InstallationIdentity) {
    guard let installation = pushed(caller) else {
      throw Problem(.denied, "Only installations get push notifications.")
    }
    return installation
  }
}

// Answers requests for a token: authenticates the caller, evaluates the rules, and gets a token from the
// cache, Talkdesk ID or Sendbird.

import API
import Callers
import Configuration
import Deciding
import Delivery
import Gate
package import HTTP
package import HTTPServer
import Installations
import Platform
import Records
package import Responses
import Serving
import Store
import Tokens

/// One request for a token, with everything that its response needs, now or later.
struct Vending: Sendable {
  let form: AccessForm
  /// The app that the request names, if any.
  let app: Request.QueryItem
  let client: ClientRequest
  var record: AuditRecord
  /// The user whose session token is requested; nil for an app without a chat desk.
  var session: UserSessions?
  /// The number of audit lines that were lost before the request in strict mode; otherwise 0.
  let lost: Int

  /// Whether the request uses allowances. A probe uses none.
  var takes: Bool { form != .probe }
}

extension Handlers {
  /// Answers a request for a token, now or later.
  /// - Parameter name: The app of the request; nil for the one that its query names.
  package func vend(
    as form: AccessForm, app name: Request.QueryItem?, _ request: borrowing Request,
    _ exchange: inout Exchange
  ) {
    let client = client(request, exchange)
    let app = name ?? client.generation.decider.apps.name(in: request)
    let record = client.record(of: .access)
    let lost = audit.strict?.lostLines ?? 0
    perform(
      Vending(form: form, app: app, client: consume client, record: consume record, lost: lost), request,
      &exchange)
  }

  /// Evaluates a request for a token again.
  func judgeAgain(
    _ vending: Vending, _ waiting: WaitingRequest, _ responder: Responder
  ) async {
    await judgeAgain(vending.client, waiting, responder) {
      Vending(
        form: vending.form, app: vending.app, client: $0, record: $0.record(of: .access), lost: vending.lost)
    }
  }

  /// Authenticates a request, evaluates the rules, and responds from the cache if it can.
  fileprivate func consider(
    _ vending: inout Vending, _ request: borrowing Request, _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    let generation = vending.generation
    let facts: Facts
    let caller: Caller
    switch identify(request, app: vending.app, for: vending.client, circumstances, &vending.record) {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(refuse(vending, problem))
    case .caller(let known):
      caller = known
      vending.record.caller = caller.audited
      do throws(Decider.Refusal) {
        let app = try generation.decider.admit(Applicant(caller), to: .access, app: vending.app)
        vending.record.app = app?.id
        if circumstances.isEarly { return .content }
        if let desk = app?.desk {
          vending.session = UserSessions(caller, app, generation)
          vending.record.desk = vending.session == nil ? nil : desk
        }
        // A probe sends no push notification. It checks the rules and whether a token is available, as for
        // other apps.
        if let app, app.isPushed, vending.form != .probe {
          return push(&vending, caller, app, request, circumstances)
        }
        if let grant = generation.decider.policy.unconditionalAccess(
          callerID: caller.id, subject: caller.subject, appID: app?.id, at: Instant(circumstances.time))
        {
          return proceed(&vending, grant, [], caller, request, circumstances)
        }
        facts = generation.facts(
          .access, caller, app: app, address: circumstances.address, request, at: circumstances.time)
      } catch {
        vending.record.note(error, generation.decider.policy)
        return .respond(refuse(vending, error.problem))
      }
    }

    switch generation.decider.ruleAtOnce(facts, taking: vending.takes) {
    case .ruled(let ruling):
      vending.note(ruling)
      let statuses = ruling.statuses
      switch ruling.concluded() {
      case .refused(let denial):
        logRefusal(denial, of: facts, by: generation.decider.policy, vending.context)
        return .respond(refuse(vending, Problem(denial)))
      case .granted(let grant): return proceed(&vending, grant, statuses, caller, request, circumstances)
      }
    case .undecided(let known):
      guard vending.mayWait else { return .respond(refuse(vending, .tooManyWaiting)) }
      let waiting = WaitingRequest(caller, request.withoutContent(), circumstances)
      return .later { [self, vending] in await rule(vending, facts, known, waiting, $0) }
    }
  }

  /// Answers a granted request from the cache, or with a request upstream.
  private func proceed(
    _ vending: inout Vending, _ grant: consuming Grant, _ statuses: [AllowanceStatus], _ caller: Caller,
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    if let session = vending.session {
      return proceed(&vending, grant, session, statuses, caller, request, circumstances)
    }
    let account = AccountTokens(source: tokens, scope: vending.generation.scopes.scope(of: grant.appID))
    return proceed(&vending, grant, account, statuses, caller, request, circumstances)
  }

  private func proceed(
    _ vending: inout Vending, _ grant: consuming Grant, _ vendor: some TokenVendor,
    _ statuses: [AllowanceStatus], _ caller: Caller, _ request: borrowing Request,
    _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    // In strict mode, every success waits for its audit line.
    guard audit.strict == nil || vending.mayWait else { return .respond(refuse(vending, .tooManyWaiting)) }
    guard vending.form != .probe else {
      guard !vendor.holdsToken(now: circumstances.now, lane: vending.lane) else {
        vending.record.cache = .hit
        return leaving(answerProbe(vending, statuses), vending)
      }
      guard vending.mayWait else { return .respond(refuse(vending, .tooManyWaiting)) }
      return .later { [self, vending] in $0.respond(await probe(vending, vendor, statuses)) }
    }
    switch vendor.vendAtOnce(grant, now: circumstances.now, lane: vending.lane) {
    case .token(let token):
      vending.record.cache = .hit
      return leaving(
        answer(&vending, token, of: vendor, statuses, at: circumstances.now, circumstances.time), vending)
    case .notCached(let grant):
      // This grant did not wait for the store, so it has used no allowances to give back.
      guard vending.mayWait else { return .respond(refuse(vending, .tooManyWaiting)) }
      let waiting = WaitingRequest(caller, request.withoutContent(), circumstances)
      return .later(consuming: grant) { [self, vending] grant, responder in
        await fetch(vending, grant, vendor, statuses, waiting, responder)
      }
    }
  }

  /// Answers with a success that has waited for nothing, and so has used no allowances of the store.
  private func leaving(_ response: PreparedResponse, _ vending: Vending) -> NextStep {
    guard audit.strict != nil else { return .respond(response) }
    return .later { [self] in $0.respond(await recorded(response, vending, givingBack: [])) }
  }

  /// The response to a success. In strict mode it waits until the audit line is on the disk. If the line may
  /// be lost, the response is 503 `audit_unavailable`, and the allowances are given back.
  private func recorded(
    _ response: PreparedResponse, _ vending: Vending, givingBack receipts: [AllowanceReceipt]
  ) async -> PreparedResponse {
    guard let strict = audit.strict, await !strict.isRecorded(since: vending.lost) else { return response }
    await giveBack(receipts, vending)
    return PreparedResponse(Problem.noAudit.response(requestID: vending.context.requestID))
  }

  /// Evaluates the rules if that has to wait for a remote policy or the store, and then continues with the
  /// request.
  private func rule(
    _ vending: Vending, _ facts: Facts, _ known: Decider.Preliminary, _ waiting: WaitingRequest,
    _ responder: Responder
  ) async {
    var vending = vending
    let generation = vending.generation
    let ruling: Ruling
    do throws(Problem) {
      ruling = try await generation.decider.ruling(
        facts, taking: vending.takes, after: known,
        deadline: vending.start + generation.configuration.tokens.deadline)
    } catch {
      guard !Task.isCancelled else { return responder.respond(await abandon(&vending, [])) }
      vending.record.verdicts = generation.decider.policy.skipped
      return responder.respond(refuse(vending, error))
    }
    vending.note(ruling)
    let statuses = ruling.statuses
    switch ruling.concluded() {
    case .refused(let denial):
      guard !Task.isCancelled else { return responder.respond(await abandon(&vending, [])) }
      logRefusal(denial, of: facts, by: generation.decider.policy, vending.context)
      responder.respond(refuse(vending, Problem(denial)))
    case .granted(let grant):
      guard !Task.isCancelled else {
        return responder.respond(await abandon(&vending, grant.receipts))
      }
      if let session = vending.session {
        return await vend(vending, grant, session, statuses, waiting, responder)
      }
      let account = AccountTokens(source: tokens, scope: generation.scopes.scope(of: grant.appID))
      await vend(vending, grant, account, statuses, waiting, responder)
    }
  }

  /// Answers a request that has waited for the rules.
  private func vend(
    _ vending: Vending, _ grant: consuming Grant, _ vendor: some TokenVendor, _ statuses: [AllowanceStatus],
    _ waiting: WaitingRequest, _ responder: Responder
  ) async {
    if vending.form == .probe { return responder.respond(await probe(vending, vendor, statuses)) }
    let receipts = grant.receipts
    switch vendor.vendAtOnce(grant, now: clock.now, lane: vending.lane) {
    case .token(let token):
      var vending = vending
      vending.record.cache = .hit
      await hand(&vending, token, of: vendor, statuses, receipts, waiting, isLong: false, responder)
    case .notCached(let grant): await fetch(vending, grant, vendor, statuses, waiting, responder)
    }
  }

  /// Responds with the token after a wait, if the request is still permitted. Otherwise gives the
  /// allowances back and evaluates the request again, or refuses it if the store cannot tell.
  ///
  /// - Parameter isLong: Whether the request has waited for the token, not only for the rules.
  private func hand<Vendor: TokenVendor>(
    _ vending: inout Vending, _ token: Vendor.Token, of vendor: Vendor, _ statuses: [AllowanceStatus],
    _ receipts: [AllowanceReceipt], _ waiting: WaitingRequest, isLong: Bool, _ responder: Responder
  ) async {
    do throws(Problem) {
      guard try await isPermitted(vending.client, waiting, app: vending.app, isLong: isLong) else {
        await giveBack(receipts, vending)
        return await judgeAgain(vending, waiting, responder)
      }
    } catch {
      await giveBack(receipts, vending)
      return responder.respond(refuse(vending, error))
    }
    let response = answer(&vending, token, of: vendor, statuses, at: clock.now, clock.unixTime)
    responder.respond(await recorded(response, vending, givingBack: receipts))
  }

  /// Gets a token, in one request upstream for all requests that wait for it. Gives the allowances back if it
  /// gets none.
  private func fetch(
    _ vending: Vending, _ grant: consuming Grant, _ vendor: some TokenVendor, _ statuses: [AllowanceStatus],
    _ waiting: WaitingRequest, _ responder: Responder
  ) async {
    var vending = vending
    vending.record.cache = .miss
    let receipts = grant.receipts
    do throws(TokenError) {
      let token = try await vendor.vend(grant, for: vending, audit)
      vending.record.upstreamStatus = 200
      await hand(&vending, token, of: vendor, statuses, receipts, waiting, isLong: true, responder)
    } catch {
      responder.respond(await refuse(&vending, error, givingBack: receipts))
    }
  }

  /// Checks whether a token could be vended. Returns no token and uses no allowances.
  private func probe(
    _ vending: Vending, _ vendor: some TokenVendor, _ statuses: [AllowanceStatus]
  ) async -> PreparedResponse {
    var vending = vending
    vending.record.cache = .miss
    do throws(TokenError) {
      if try await vendor.probe(for: vending, audit) {
        vending.record.upstreamStatus = 200
      } else {
        vending.record.cache = .hit
      }
      return await recorded(answerProbe(vending, statuses), vending, givingBack: [])
    } catch {
      return await refuse(&vending, error, givingBack: [])
    }
  }

  /// Refuses a request that got no token, and gives the allowances back.
  private func refuse(
    _ vending: inout Vending, _ error: TokenError, givingBack receipts: [AllowanceReceipt]
  ) async -> PreparedResponse {
    if case .cancelled = error { return await abandon(&vending, receipts) }
    await giveBack(receipts, vending)
    // During a cool-down the server sends no request, so there is no status.
    if case .exchangeFailed(let cause, _) = error { vending.record.upstreamStatus = cause.status }
    return refuse(vending, Problem(error, from: vending.session == nil ? .talkdeskID : .sendbird))
  }

  /// Ends a request whose client closed the connection during a wait: vends nothing and gives the
  /// allowances back.
  private func abandon(_ vending: inout Vending, _ receipts: [AllowanceReceipt]) async -> PreparedResponse {
    await giveBack(receipts, vending)
    return refuse(vending, .clientLeft)
  }

  private func giveBack(_ receipts: [AllowanceReceipt], _ vending: Vending) async {
    await vending.generation.decider.ledger.giveBack(receipts, at: Instant(clock.unixTime))
  }

  /// Writes the audit line of a vended token, before the token is sent, and makes the response.
  private func answer<Vendor: TokenVendor>(
    _ vending: inout Vending, _ token: Vendor.Token, of vendor: Vendor, _ statuses: [AllowanceStatus],
    at now: MonotonicTime, _ time: UnixTime
  ) -> PreparedResponse {
    vending.record.tokenSHA256 = vendor.fingerprint(token)
    audit.append(vending.record, since: vending.start, at: time, lane: vending.lane)
    let ready = vendor.response(token, as: vending.form, prepared, now: now, lane: vending.lane)
    guard !statuses.isEmpty else { return ready }
    var fields = Fields()
    fields.append(allowances: statuses)
    return ready.adding(fields)
  }

  /// Writes the audit line of an allowed probe and makes its response. The line names no token, because a
  /// probe returns none.
  private func answerProbe(_ vending: Vending, _ statuses: [AllowanceStatus]) -> PreparedResponse {
    audit.append(vending.record, since: vending.start, lane: vending.lane)
    var response = AccessForm.probed
    response.fields.append(allowances: statuses)
    return PreparedResponse(response)
  }
}

extension Vending: AuditedWork {
  mutating func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    handlers.consider(&self, request, circumstances)
  }

  var needsContent: Bool { false }

  /// Notes the ruling for the audit line.
  mutating func note(_ ruling: borrowing Ruling) {
    record.verdicts = ruling.verdicts
    record.reason = ruling.reason
  }
}

extension AccessToken {
  /// The remaining lifetime in whole seconds, rounded down; nil if it is not known.
  func wholeSecondsLeft(at now: MonotonicTime) -> Int64? {
    remaining(at: now).map { max(0, $0.components.seconds) }
  }
}

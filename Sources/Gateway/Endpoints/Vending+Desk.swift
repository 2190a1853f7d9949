// Answers requests for the session token of a chat desk, once they are granted.

import API
import Callers
import ChatDesk
import Gate
import HTTP
import HTTPServer
import Handling
import Platform
import Records
import Responses
import Serving
import Store
import Tokens

/// Whom a request gets a session token for, and where.
struct SessionRequest: Sendable {
  let user: DeskUser
  let source: SessionSource

  /// Nil for an app without a desk.
  init?(_ caller: Caller, _ app: App?, _ generation: Generation) {
    guard let name = app?.desk, let desk = generation.desks[name] else { return nil }
    let owner = caller.owner
    user = desk.userIDs.user(owner.subject, of: owner.callerID, requestedAs: caller.subject)
    source = desk.source
  }
}

extension Handlers {
  /// Answers a granted request from the kept tokens, or by asking Sendbird.
  func proceed(
    _ vending: inout Vending, _ grant: consuming Grant, _ session: SessionRequest,
    _ statuses: [AllowanceStatus],
    _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    guard vending.form != .probe else {
      guard !session.source.holdsToken(session.user, now: circumstances.now, lane: vending.lane) else {
        vending.record.cache = .hit
        return .respond(answerProbe(vending, statuses))
      }
      guard vending.mayWait else { return .respond(refuse(vending, .tooManyWaiting)) }
      return .later { [self, vending] in $0.respond(await probe(vending, session, statuses)) }
    }
    switch session.source.vendAtOnce(grant, user: session.user, now: circumstances.now, lane: vending.lane) {
    case .token(let token):
      vending.record.cache = .hit
      return .respond(answer(&vending, token, statuses, at: circumstances.now))
    case .notCached(let grant):
      guard vending.mayWait else { return .respond(refuse(vending, .tooManyWaiting)) }
      let granted = Once(grant)
      return .later { [self, vending] in
        $0.respond(await fetch(vending, granted.take(), session, statuses))
      }
    }
  }

  /// The answer to a request that had to wait for the rules: from the saved tokens, or by asking Sendbird.
  func vend(
    _ vending: Vending, _ grant: consuming Grant, _ session: SessionRequest, _ statuses: [AllowanceStatus]
  ) async -> PreparedResponse {
    if vending.form == .probe { return await probe(vending, session, statuses) }
    switch session.source.vendAtOnce(grant, user: session.user, now: clock.now, lane: vending.lane) {
    case .token(let token):
      var vending = vending
      vending.record.cache = .hit
      return answer(&vending, token, statuses, at: clock.now)
    case .notCached(let grant): return await fetch(vending, grant, session, statuses)
    }
  }

  /// Gets a user's token, in one request to Sendbird for all requests that wait for this user. Gives the allowances back if it
  /// gets none.
  private func fetch(
    _ vending: Vending, _ grant: consuming Grant, _ session: SessionRequest, _ statuses: [AllowanceStatus]
  ) async -> PreparedResponse {
    var vending = vending
    vending.record.cache = .miss
    let receipts = grant.receipts
    do throws(TokenError) {
      let token = try await session.source.vend(grant, user: session.user, trace: vending.record.trace)
      vending.record.upstreamStatus = 200
      return answer(&vending, token, statuses, at: clock.now)
    } catch {
      return await refuse(&vending, error, givingBack: receipts)
    }
  }

  private func probe(
    _ vending: Vending, _ session: SessionRequest, _ statuses: [AllowanceStatus]
  ) async -> PreparedResponse {
    var vending = vending
    vending.record.cache = .miss
    do throws(TokenError) {
      if try await session.source.probe(session.user, lane: vending.lane, trace: vending.record.trace) {
        vending.record.upstreamStatus = 200
      } else {
        vending.record.cache = .hit
      }
      return answerProbe(vending, statuses)
    } catch {
      return await refuse(&vending, error, givingBack: [])
    }
  }

  /// Writes the record of a vended session token, before the token leaves, and makes its answer.
  private func answer(
    _ vending: inout Vending, _ token: SessionToken, _ statuses: [AllowanceStatus], at now: MonotonicTime
  ) -> PreparedResponse {
    vending.record.tokenSHA256 = token.sha256
    audit.append(vending.record, since: vending.start, lane: vending.lane)
    if vending.form == .text, statuses.isEmpty { return prepared.response(for: token, loop: vending.lane) }
    let left = max(0, (token.expiresAt - now).components.seconds)
    var response = vending.form.response(token.secret, of: token.user.text, expiresIn: left)
    response.fields.append(allowances: statuses)
    return PreparedResponse(response)
  }
}

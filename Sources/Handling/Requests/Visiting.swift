// Authenticates simple requests, such as reads and changes, and calls a handler once the caller is known.

package import API
package import Callers
import Deciding
import Gate
package import HTTP
package import HTTPServer
package import Platform
package import Records
package import Serving
import Store

/// A request of a known caller, for the handler that answers it.
package struct Visit: ForClient {
  package let client: ClientRequest
  package let caller: Caller
  package let request: Request
  package let time: UnixTime
  /// Reports whether the client is still connected. The handler returns its response instead of sending it
  /// with this.
  package let responder: Responder
  /// The data for evaluating the request again.
  let waiting: WaitingRequest
}

/// A check of a request's head once the caller is known. It throws to refuse the request. It gets the
/// configuration that serves the request.
package typealias HeadCheck =
  @Sendable (borrowing Request, Caller, Generation, inout AuditRecord?) throws(Problem) -> Void

extension Generation {
  /// Refuses an action that an operator has stopped, and notes the stop.
  ///
  /// - Parameter app: The app that the head names, or for which the caller is installed.
  func checkStop(
    of action: Action, by caller: Caller, app: String?, _ line: inout AuditRecord?
  ) throws(Problem) {
    line?.verdicts = decider.policy.skipped
    guard let stop = decider.stops.stop(for: action, callerID: caller.id, appID: app) else { return }
    line?.app = app
    line?.reason = stop.auditReason
    throw .stopped
  }
}

extension Handlers {
  /// Checks by the head that the content is JSON of at most `limit` bytes.
  static func checkJSON(atMost limit: Int) -> HeadCheck {
    { (request, _, _, _) throws(Problem) in
      try JSONContent.check(request)
      try JSONContent.checkLength(request, atMost: limit)
    }
  }

  /// Authenticates a request, and runs `answer` in a task. If `answer` returns nil, the request is
  /// evaluated again from the start.
  ///
  /// - Parameters:
  ///   - readsContent: Whether the handler needs the content. Audited requests always do: they change
  ///     something, or reveal something about a secret.
  ///   - app: The app that the request is for; nil for the one that its query names.
  ///   - isAttested: Whether the app's App Check terms apply to the request.
  ///   - admitsRevoked: Whether an installation that was revoked a short while ago still counts as a caller.
  ///   - check: Checks a head before the content is read. It may note in the audit line why it refuses.
  package func visit(
    _ request: borrowing Request, _ exchange: inout Exchange, as action: AuditedAction? = nil,
    readsContent: Bool = false, form: ResponseForm? = nil, app: Request.QueryItem? = nil,
    isAttested: Bool = true, admitsRevoked: Bool = false,
    checking check: @escaping HeadCheck = { (_, _, _, _) throws(Problem) in },
    _ answer: @escaping @Sendable (Visit, inout AuditRecord?) async throws(Problem) -> Response?
  ) {
    let client = client(request, exchange, form: form)
    perform(
      Visiting(
        client: client, line: action.map(client.record), needsContent: readsContent || action != nil,
        app: isAttested ? app ?? request.queryItem("app") : nil, admitsRevoked: admitsRevoked, check: check,
        answer: answer),
      request, &exchange)
  }
}

/// The work for a request that `visit` answers.
private struct Visiting: RequestWork {
  var client: ClientRequest
  /// Nil if the request is not audited.
  let line: AuditRecord?
  let needsContent: Bool
  /// The request's app, whose App Check terms apply; nil to apply none.
  let app: Request.QueryItem?
  let admitsRevoked: Bool
  let check: HeadCheck
  /// Makes the response, and notes in the record what the request is about.
  let answer: @Sendable (Visit, inout AuditRecord?) async throws(Problem) -> Response?

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    var line = line
    let outcome: Authenticator.Outcome
    if let app {
      outcome = handlers.identify(request, app: app, for: client, circumstances, &line)
    } else {
      outcome = handlers.authenticate(request, for: client, circumstances, &line)
    }
    switch outcome {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(handlers.refuse(client, line, problem))
    case .caller(let caller):
      line?.caller = caller.audited
      guard generation.decider.stops.isKnown else {
        return .respond(handlers.refuse(client, line, .stopsUnknown))
      }
      do throws(Problem) { try check(request, caller, generation, &line) } catch {
        return .respond(handlers.refuse(client, line, error))
      }
      guard mayWait else { return .respond(handlers.refuse(client, line, .tooManyWaiting)) }
      let kept = needsContent ? copy request : request.withoutContent()
      return .later { [self, line] responder in
        let waiting = WaitingRequest(caller, kept, circumstances)
        let visit = Visit(
          client: client, caller: caller, request: kept, time: circumstances.time, responder: responder,
          waiting: waiting)
        var line = line
        do throws(Problem) {
          guard let response = try await answer(visit, &line) else {
            return await handlers.judgeAgain(client, waiting, responder) { client in
              var again = self
              again.client = client
              return again
            }
          }
          if let line { handlers.audit.append(line, since: start, lane: lane) }
          responder.respond(response)
        } catch {
          responder.respond(handlers.refuse(client, line, error))
        }
      }
    }
  }
}

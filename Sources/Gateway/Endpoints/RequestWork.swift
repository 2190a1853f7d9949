// Runs a request that needs a caller: at once, later, or after the issuer's keys were fetched.

import API
import Callers
import Delivery
import HTTP
import HTTPServer
import Platform
import Records

/// The work for one request at an endpoint that needs a caller.
protocol RequestWork: Sendable {
  /// Where the request comes from.
  var address: IPAddress { get }
  /// The request's context, for logs and upstream.
  var context: RequestContext { get }
  /// Whether the work looks at the request's content.
  var needsContent: Bool { get }
  /// Authenticates the request and does everything that needs no waiting, by the given clocks.
  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at gateway: Gateway
  ) -> NextStep
  /// Ends the work without having begun it, and writes its audit line where it has one.
  /// - Parameter reason: Why, for operators.
  func refuse(_ problem: Problem, because reason: String?, at gateway: Gateway) -> PreparedResponse
}

/// The next step for a request.
enum NextStep {
  case respond(PreparedResponse)
  /// The work has to wait for something, and responds itself.
  case later(@Sendable (Responder) async -> Void)
  /// The issuer's keys have to be fetched before the caller is known.
  case fetchFirst(KeySource)
}

extension Gateway {
  /// Does a request's work. Where its token names a key that is not known, the issuer's keys are fetched first. Then the work
  /// begins again, by the clocks of then: a token, a rate or an opening may have ended while the request waited.
  func perform(_ work: some RequestWork, _ request: borrowing Request, _ exchange: inout Exchange) {
    let circumstances = Authenticator.Circumstances(
      address: work.address, time: clock.unixTime, now: exchange.now)
    switch work.begin(request, circumstances, at: self) {
    case .respond(let response): exchange.respond(response)
    case .later(let rest):
      let responder = exchange.deferred()
      work.context.task(answering: responder) { await rest(responder) }
    case .fetchFirst(let keys):
      let bytes = work.needsContent ? request.content.count : 0
      guard exchange.mayDefer, callbacks.inHand.hold(bytes) else {
        return exchange.respond(work.refuse(.tooManyWaiting, because: nil, at: self))
      }
      let responder = exchange.deferred()
      let request = work.needsContent ? copy request : request.withoutContent()
      work.context.task(answering: responder) { [self] in
        await keys.fetchForUnknownKey()
        callbacks.inHand.release(bytes: bytes)
        guard !Task.isCancelled else {
          return responder.respond(work.refuse(.clientLeft, because: AuditRecord.clientLeft, at: self))
        }
        let circumstances = Authenticator.Circumstances(
          address: work.address, time: clock.unixTime, now: clock.now, hasFetched: true)
        switch work.begin(request, circumstances, at: self) {
        case .respond(let response): responder.respond(response)
        case .later(let rest): await rest(responder)
        case .fetchFirst: preconditionFailure("keys are fetched once for a request")
        }
      }
    }
  }
}

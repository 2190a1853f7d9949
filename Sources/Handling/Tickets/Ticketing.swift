// `POST /tickets` and `GET /tickets/{id}`: authenticates the caller, checks the kill switch, app and body,
// and starts the ticket.

import API
import Callbacks
import Callers
import ChatDesk
import Configuration
import Deciding
import Delivery
import Gate
package import HTTP
package import HTTPServer
import Installations
import JOSE
import Platform
import Records
import Responses
import Serving
import Store

/// A request for a ticket, from its start to its response.
struct Ticketing: Sendable {
  let client: ClientRequest
  var record: AuditRecord
  /// The caller's remaining allowances, for the header fields of a success.
  var statuses: [AllowanceStatus] = []
}

/// The checked content of a request for a ticket.
struct RequestedTicket: Sendable {
  let ticket: NewTicket
  let caller: Caller
  let user: DeskUser
  let desk: ServedDesk.Tickets
  let facts: Facts
  var intent: CallbackIntent
  let deadline: MonotonicTime
}

extension Ticketing: AuditedWork {
  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    var ticketing = self
    return handlers.read(request, &ticketing, circumstances)
  }

  var needsContent: Bool { true }
}

extension Handlers {
  /// Answers a request for a ticket. All steps without a wait run on the loop.
  package func openTicket(_ request: borrowing Request, _ exchange: inout Exchange) {
    let client = client(request, exchange)
    perform(Ticketing(client: client, record: client.record(of: .ticket)), request, &exchange)
  }

  /// `GET /tickets/{id}`: returns the record to the caller that requested it or, if users share a caller, to
  /// the user.
  package func showTicket(_ id: String, _ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange) { [self] visit, _ throws(Problem) in
      guard let id = CallbackID(id) else { throw .noTicket }
      let owner = visit.caller.owner
      let record: StoredCallback?
      do throws(StoreError) {
        record = try await store.callback(id, of: owner.callerID)
      } catch {
        throw .noRecords
      }
      guard let record, record.ticket != nil, record.belongs(to: owner.subject) else { throw .noTicket }
      return CallbackDocument.response(TicketDocument.record(record))
    }
  }

  // MARK: On the loop

  /// Authenticates a request, checks kill switch and app, and checks its content.
  fileprivate func read(
    _ request: borrowing Request, _ ticketing: inout Ticketing, _ circumstances: Authenticator.Circumstances
  ) -> NextStep {
    let generation = ticketing.generation
    let name = request.queryItem("app")
    switch identify(request, app: name, for: ticketing.client, circumstances, &ticketing.record) {
    case .first(let prerequisite): return .first(prerequisite)
    case .refused(let problem): return .respond(refuse(ticketing, problem))
    case .caller(let caller):
      ticketing.record.caller = caller.audited
      let app: App?
      do throws(Decider.Refusal) {
        app = try generation.decider.admit(Applicant(caller), to: .ticket, app: name)
      } catch {
        ticketing.record.note(error, generation.decider.policy)
        return .respond(refuse(ticketing, error.problem))
      }
      ticketing.record.app = app?.id
      ticketing.record.desk = app?.desk
      do throws(Problem) {
        if circumstances.isEarly {
          try JSONContent.check(request)
          try JSONContent.checkLength(request, atMost: TicketRequest.contentBytes)
          return .content
        }
        let (served, tickets) = desk(of: app, generation)
        let (asked, key) = try IdempotencyKey.read(with: request) { (content) throws(Problem) in
          try TicketRequest(parsing: content)
        }
        let facts = generation.facts(
          .ticket, caller, app: app, address: circumstances.address, request, at: circumstances.time)
        let terms = generation.configuration.callbacks
        let owner = caller.owner
        // The same content for another app is another ticket.
        let digest = SHA256Digest(of: Array((facts.appID ?? "").utf8) + [0] + asked.digest.bytes).bytes
        let intent = CallbackIntent(
          id: CallbackID(at: facts.instant), callerID: owner.callerID, subject: owner.subject,
          appID: facts.appID, matter: .ticket(digest),
          // No callback has this fingerprint, so a key that was used for a callback cannot be used again for
          // a ticket.
          key: key.map { .init(text: caller.owned($0), fingerprint: Array("ticket".utf8) + digest) },
          terms: terms.kept,
          deadline: facts.instant.advanced(by: terms.timeout))
        let requested = RequestedTicket(
          ticket: asked.ticket, caller: caller,
          user: served.userIDs.user(owner.subject, of: owner.callerID, requestedAs: caller.subject),
          desk: tickets, facts: facts,
          intent: intent, deadline: ticketing.start + terms.timeout)
        guard ticketing.mayWait else { return .respond(refuse(ticketing, .tooManyWaiting)) }
        callbacks.inHand.enter()
        return .later { [self, ticketing] in await answer(ticketing, requested, $0) }
      } catch {
        ticketing.record.verdicts = generation.decider.policy.skipped
        return .respond(refuse(ticketing, error))
      }
    }
  }

  /// The desk of an app that was admitted for a ticket.
  private func desk(of app: App?, _ generation: Generation) -> (ServedDesk, ServedDesk.Tickets) {
    guard let desk = app?.desk.flatMap({ generation.desks[$0] }), let tickets = desk.tickets else {
      preconditionFailure("a ticket was admitted to an app without a chat desk that takes tickets")
    }
    return (desk, tickets)
  }

  // MARK: Answers

  /// Writes the audit line of a success, before the response is sent, and makes the response.
  func answer(
    _ ticketing: inout Ticketing, _ id: CallbackID, _ opened: StoredTicket.Opened
  ) -> PreparedResponse {
    ticketing.record.callback = id.description
    audit.append(ticketing.record, since: ticketing.start, lane: ticketing.lane)
    var response = TicketDocument.created(id, opened)
    response.fields.append(allowances: ticketing.statuses)
    return PreparedResponse(response)
  }
}

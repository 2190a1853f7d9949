// Answers the dialogs before an appointment: `POST /genesys/1/service/{id}/{action}`, with the id of a notice for a credential.

import API
import Appointments
import Callers
import Configuration
import Deciding
import Gate
package import HTTP
package import HTTPServer
package import Handling
import JSON
import Notices
import Platform
import PushDelivery
import Records
import Responses
import Serving
import Store

/// A request for a dialog.
struct DialogVisit: Sendable {
  let generation: Generation
  let push: TokenPush
  let address: IPAddress
  let context: RequestContext
  let start: MonotonicTime
  let lane: Int
  /// Nil where the action changes nothing, and so has no audit line.
  var line: AuditRecord?
  /// Gets the response.
  let responder: Responder
}

/// An appointment that its notice asks about.
struct DialogSubject: Sendable {
  let id: NoticeID
  let serial: Int
  let record: StoredCallback
  let at: Instant
  /// How often the customer has put it off.
  let snoozes: Int
}

extension Handlers {
  private static let empty = Response(status: .noContent, fields: ["Cache-Control": "no-store"])

  /// Answers an action with the id of a notice.
  package func answerDialog(
    _ id: String, _ action: String, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    let generation = generations.current
    let address = generation.clientAddress.resolve(request, peer: exchange.peer.address)
    let context = RequestContext(requestID: exchange.requestID, trace: TraceContext(request))
    let asked = DialogAction(rawValue: action)
    var line = asked?.audited.map {
      AuditRecord(action: $0, requestID: exchange.requestID, address: address)
    }
    line?.trace = context.trace
    let (start, lane) = (exchange.now, exchange.loopIndex)
    guard let push = generation.push, exchange.mayDefer else {
      let problem: Problem = generation.push == nil ? .noNotice : .tooManyWaiting
      return exchange.respond(refuse(problem, line, start, lane, context))
    }
    let responder = exchange.deferred()
    let visit = DialogVisit(
      generation: generation, push: push, address: address, context: context, start: start, lane: lane,
      line: line, responder: responder)
    context.task(answering: responder) { [self] in
      var visit = visit
      do throws(Problem) {
        let informs = [Notice.Action.access, .changed, .expired].contains { $0.rawValue == action }
        let response = try await answer(&visit, NoticeID(id), asked, informs: informs)
        if let line = visit.line { audit.append(line, since: start, lane: lane) }
        responder.respond(response)
      } catch {
        responder.respond(refuse(error, visit.line, start, lane, context))
      }
    }
  }

  private func refuse(
    _ problem: Problem, _ line: AuditRecord?, _ start: MonotonicTime, _ lane: Int, _ context: RequestContext
  ) -> PreparedResponse {
    if var line {
      line.outcome = problem.code.isError ? .error : .deny
      line.code = problem.code
      line.rule = problem.rule
      audit.append(line, since: start, lane: lane)
    }
    return PreparedResponse(problem.response(requestID: context.requestID))
  }

  // MARK: The notice

  private func answer(
    _ visit: inout DialogVisit, _ id: NoticeID?, _ action: DialogAction?, informs: Bool
  ) async throws(Problem) -> Response {
    guard let id else { throw await unknown(visit) }
    guard let found = try await visit.push.notices.find(id.exposed) else {
      // A claim is no appointment: its app claims the token elsewhere.
      guard try await visit.push.book.isKnown(id) else { throw await unknown(visit) }
      guard informs else { throw .noNotice }
      return Self.empty
    }
    visit.line?.installation = found.notice.installation.description
    // What only informs the app needs no answer.
    guard !informs else { return Self.empty }
    guard found.notice.action.asks, found.isLive, let record = found.record, let at = record.at,
      let notices = record.notices
    else {
      throw .noNotice
    }
    visit.line?.note(record)
    guard let action else { throw .noNotice }
    return try await answer(
      &visit, action,
      DialogSubject(
        id: id, serial: found.notice.serial, record: record, at: at, snoozes: notices.snoozes))
  }

  /// Counts an id that is not known, for its address.
  private func unknown(_ visit: DialogVisit) async -> Problem {
    do throws(Problem) {
      try await visit.push.book.countUnknown(from: visit.address)
      return .noNotice
    } catch {
      return error
    }
  }

  // MARK: The action

  private func answer(
    _ visit: inout DialogVisit, _ action: DialogAction, _ subject: DialogSubject
  ) async throws(Problem) -> Response {
    switch action {
    case .menu, .menuWithCode:
      guard let url = visit.generation.configuration.notices?.externalURL else { throw .noNotice }
      let minutes = try await snooze(subject, visit).map { $0.components.seconds / 60 }
      return Self.response(
        .menu(
          Dialog.Links(url, subject.id), providesCode: action == .menuWithCode,
          expires: subject.at.rfc3339, snooze: minutes))
    case .waitForAgent: return Self.response(.waiting(subject.id))
    case .connect, .connectOutbound:
      try await connect(&visit, subject)
      return Self.response(.calling(subject.id))
    case .snooze:
      try await putOff(&visit, subject)
      return Self.empty
    case .cancel:
      _ = try await end(subject, visit)
      return Self.empty
    case .connectInbound: return Self.response(try await dial(visit, subject))
    }
  }

  private static func response(_ dialog: Dialog) -> Response {
    CallbackDocument.response(dialog.document)
  }
}

extension DialogAction {
  /// The action in the audit line; nil where nothing changes.
  fileprivate var audited: AuditedAction? {
    switch self {
    case .menu, .menuWithCode, .waitForAgent: nil
    case .connect, .connectOutbound: .connect
    case .snooze: .snooze
    case .cancel, .connectInbound: .cancel
    }
  }
}

extension Problem {
  /// An id that never was, that a dialog has spent, or that its appointment has outlived, and an action that is none.
  static var noNotice: Problem { Problem(.notFound, "There is no such dialog, or it is over.") }
}

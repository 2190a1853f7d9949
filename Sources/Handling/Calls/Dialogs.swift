// Answers the dialogs before an appointment: `POST /genesys/1/service/{id}/{action}`. The credential is the
// id of a notification, or for GMS clients also the id of the callback. GMS clients may use GET.

import API
import Appointments
import Callers
import Configuration
import Deciding
import Delivery
import Gate
package import HTTP
package import HTTPServer
import JSON
import Notices
import Platform
import PushDelivery
import Records
import Responses
import Serving
import Store
import Texts

/// A request for a dialog.
struct DialogVisit: ForClient {
  let client: ClientRequest
  let push: TokenPush
  /// The audit line; nil if the action changes nothing.
  var line: AuditRecord?
  /// Sends the response, and reports whether the client has left.
  let responder: Responder
}

/// The appointment that a dialog is about, with the ID that the client used and the serial number of the
/// notification (0 for a callback that has none).
struct DialogSubject: Sendable {
  let id: NoticeID
  let serial: Int
  let record: StoredCallback
  let at: Instant
}

extension Handlers {
  private static let empty = Response(status: .noContent, fields: ["Cache-Control": "no-store"])

  /// Answers an action of a dialog. The client knows the id of a notification or, with GMS, of a callback.
  package func answerDialog(
    _ id: String, _ action: String, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    let client = client(request, exchange)
    let generation = client.generation
    let isGMS = generation.configuration.gms != nil
    // GMS clients send GET for everything.
    if request.method == .get, !isGMS {
      return exchange.respond(
        Problem.methodNotAllowed("POST, OPTIONS").response(requestID: exchange.requestID))
    }
    let asked = DialogAction(rawValue: action)
    let line = asked?.audited.map(client.record)
    // A browser follows a link by GET, so a page of another site could trigger the action.
    if line != nil, request.namesForeignOrigin, !generation.crossOrigin.lists(request) {
      return exchange.respond(refuse(client, line, .foreignPage))
    }
    guard let push = generation.push, client.mayWait else {
      return exchange.respond(
        refuse(client, line, generation.push == nil ? .noNotice : .tooManyWaiting))
    }
    guard !exchange.isEarly else { return }
    let responder = exchange.deferred()
    client.context.task(answering: responder) { [self] in
      var visit = DialogVisit(client: client, push: push, line: line, responder: responder)
      do throws(Problem) {
        let informs = [Notice.Action.access, .changed, .expired, .calling].contains { $0.rawValue == action }
        var response = try await answer(&visit, NoticeID(id), asked, asks: action, informs: informs)
        if isGMS, response.status == .noContent, let id = NoticeID(id) {
          response = Self.response(.done(Self.text(action, generation), id))
        }
        if let line = visit.line { audit.append(line, since: client.start, lane: client.lane) }
        responder.respond(response)
      } catch {
        responder.respond(refuse(client, visit.line, error))
      }
    }
  }

  // MARK: The notice

  private func answer(
    _ visit: inout DialogVisit, _ id: NoticeID?, _ action: DialogAction?, asks name: String, informs: Bool
  ) async throws(Problem) -> Response {
    guard let id else { throw await unknown(visit) }
    let isGMS = visit.generation.configuration.gms != nil
    let isPosition = isGMS && name.hasSameBytes(as: Self.queuePosition)
    guard let found = try await visit.push.notices.find(id.exposed) else {
      if isGMS, let record = try await aliased(id) {
        guard !isPosition else { return Self.position }
        guard !informs else { return Self.empty }
        return try await answer(&visit, id, action, of: record)
      }
      // The id belongs to a claim and not to an appointment: the app redeems it at another endpoint.
      guard try await visit.push.book.isKnown(id) else { throw await unknown(visit) }
      guard !isPosition else { return Self.position }
      guard informs else { throw .noNotice }
      return Self.empty
    }
    guard !isPosition else { return Self.position }
    if found.notice.installation.isDevice {
      visit.line?.via = .gms
    } else {
      visit.line?.installation = found.notice.installation.description
    }
    // A notification that only informs the app needs no answer.
    guard !informs else { return Self.empty }
    guard found.notice.action.asks, found.isLive, let record = found.record, let at = record.at,
      record.notices != nil
    else {
      throw .noNotice
    }
    visit.line?.note(record)
    guard let action else { throw .noNotice }
    return try await answer(
      &visit, action,
      DialogSubject(id: id, serial: found.notice.serial, record: record, at: at))
  }

  // MARK: GMS

  /// The action by which clients of GMS ask for their position while they wait.
  private static let queuePosition = "check-queue-position"
  /// Talkdesk does not report positions in a queue.
  private static let position = CallbackDocument.response([
    "_position": "0", "_eta": "0", "_total_waiting": "0", "_agent_ready_threshold_passed": "false",
  ])

  /// The text that a client of GMS shows. Other apps get no content instead.
  private static func text(_ action: String, _ generation: Generation) -> String {
    let texts = generation.configuration.notices?.texts
    switch Notice.Action(rawValue: action) {
    case .access: return texts?.access ?? "Your secure connection is ready."
    case .expired: return texts?.expired ?? "We could not call you in time."
    case .calling: return texts?.calling(from: nil) ?? "We're calling you now."
    case .changed, .confirm, .confirmWithCode: return texts?.changed ?? "Your callback has changed."
    case nil:
      return DialogAction(rawValue: action) == .snooze
        ? "We will call you later" : "Your callback is canceled"
    }
  }

  /// The callback that a GMS client knows by this ID; nil if there is none.
  private func aliased(_ id: NoticeID) async throws(Problem) -> StoredCallback? {
    do throws(StoreError) {
      return try await store.callbacks(.name(id.digest)).first
    } catch {
      throw .noRecords
    }
  }

  /// Answers an action with the ID that the callback got at its creation. The ID is valid while the
  /// callback is scheduled.
  private func answer(
    _ visit: inout DialogVisit, _ id: NoticeID, _ action: DialogAction?, of record: StoredCallback
  ) async throws(Problem) -> Response {
    visit.line?.via = .gms
    visit.line?.note(record)
    guard let action, record.status == .scheduled, let at = record.at else { throw .noNotice }
    return try await answer(
      &visit, action,
      DialogSubject(id: id, serial: record.notices?.serial ?? 0, record: record, at: at))
  }

  /// Counts an unknown id against the client's address.
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
      guard let notices = visit.generation.configuration.notices, let url = notices.externalURL else {
        throw .noNotice
      }
      let minutes = try await snooze(subject, visit).map { $0.components.seconds / 60 }
      return Self.response(
        .menu(
          Dialog.Links(url, subject.id),
          heading: visit.generation.hasAgent ? Dialog.agentAvailable : notices.texts.ready,
          providesCode: action == .menuWithCode,
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
  /// The action in the audit line; nil if nothing changes.
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
  /// The problem of an unknown id or action, of a notification that was already answered or is no longer
  /// valid (for example because its appointment has ended or is being called), and of a server without
  /// dialogs.
  static var noNotice: Problem { Problem(.notFound, "This dialog is unknown or has ended.") }
}

// The admin endpoints for installations: list, find, approve, deny and revoke.

package import API
import Callers
import Documents
import Gate
package import HTTP
package import HTTPServer
package import Installations
import JOSE
import JSON
import Platform
import Records
import Responses
import Serving
import Store

extension Administration {
  /// `GET /admin/installations`
  package func listInstallations(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let asked = try InstallationList(request)
    let generation = operators.generation
    guard let service = generation.installationService else {
      return exchange.respond(InstallationDocument.list([], next: nil))
    }
    let responder = exchange.deferred()
    operators.context.task { [clock] in
      do throws(StoreError) {
        let (entries, next) = try await asked.entries(service, at: Instant(clock.unixTime))
        let terms = generation.installations?.terms ?? [:]
        responder.respond(
          InstallationDocument.list(
            entries.map { InstallationDocument.entry($0) { terms[$0] } }, next: next))
      } catch {
        responder.respond(
          Problem(InstallationService.Failure.store(error)).response(requestID: responder.requestID))
      }
    }
  }

  /// `POST /admin/installations/find`
  package func findInstallation(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let code = try Self.userCode(request.content)
    let service = try service(operators)
    answer(operators, &exchange, nil) { [store] _ throws(InstallationService.Failure) in
      let found = try await service.find(userCode: code)
      let replaced = found.state == .denied ? nil : try await service.replaced(by: found)
      var scheduled = 0
      if let replaced {
        do throws(StoreError) { scheduled = try await store.scheduledCount(of: replaced) } catch {
          throw .store(error)
        }
      }
      return InstallationDocument.found(found, replacing: replaced, scheduled: scheduled)
    }
  }

  /// `POST /admin/installations/approve` and `/deny`
  package func judgeInstallation(
    _ judgement: Enrolling.Judgement, _ request: borrowing Request, _ operators: OperatorRequest,
    _ exchange: inout Exchange
  ) throws(Problem) {
    let code = try Self.userCode(request.content)
    let service = try service(operators)
    let action: AuditedAction =
      switch judgement {
      case .approve: .approve
      case .deny: .deny
      }
    answer(operators, &exchange, action) { [audit] line throws(InstallationService.Failure) in
      if case .approve = judgement, let strict = audit.strict {
        line.record.note(try await service.find(userCode: code))
        guard await strict.intends(AuditIntent(line.record)) else { throw .unrecorded }
      }
      line.record.note(try await service.judge(judgement, userCode: code, by: operators.by.identity))
      return Self.done
    }
  }

  /// Approves an installation for the sandbox's page. In the sandbox, every user of this machine is an
  /// operator. The sandbox has checked the origin of the request.
  package func approveInSandbox(_ request: borrowing Request, _ exchange: inout Exchange) {
    let generation = generations.current
    let operators = OperatorRequest(
      by: .local, generation: generation,
      address: generation.clientAddress.resolve(request, peer: exchange.peer.address),
      context: RequestContext(requestID: exchange.requestID, trace: TraceContext(request)))
    do throws(Problem) {
      try judgeInstallation(.approve, request, operators, &exchange)
    } catch {
      exchange.respond(error.response(requestID: exchange.requestID))
    }
  }

  /// `POST /admin/installations/revoke`
  package func revokeInstallation(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    var body = try AdminBody(request.content)
    let text = body.text("client_id")
    let subject = body.text("subject")
    let id = text.flatMap { InstallationID($0) }
    if text != nil, id == nil { body.note("client_id", "This is not a UUID.") }
    if (text == nil) == (subject == nil) {
      for name in ["client_id", "subject"] { body.note(name, "Give either client_id or subject.") }
    }
    try body.finish()
    let service = try service(operators)
    // If the revocation is confirmed only later, it gets its own audit line: the request's line has the
    // error.
    let found: @Sendable (OperatorLine) -> @Sendable (InstallationService.Revocation) -> Void = {
      [audit] line in
      { revocation in
        var line = line
        line.record.note(revocation)
        line.append(to: audit)
      }
    }
    answer(operators, &exchange, .revoke) { [audit] answered throws(InstallationService.Failure) in
      if let id {
        answered.record.installation = id.description
        answered.record.note(try await service.revoke(id, onFound: found(answered)))
        return Self.done
      }
      // Each installation gets its own audit line. After a failure in the middle, the installations before it
      // stay revoked, with their lines.
      let blank = answered
      var hasRevoked = false
      for id in try await service.installations(subject: subject ?? "") {
        var line = blank
        line.record.installation = id.description
        do throws(InstallationService.Failure) {
          line.record.note(try await service.revoke(id, onFound: found(line)))
        } catch {
          // Another operator has revoked the installation meanwhile.
          if case .refused = error { continue }
          answered = line
          throw error
        }
        if hasRevoked { answered.append(to: audit) }
        answered = line
        hasRevoked = true
      }
      guard hasRevoked else { throw .refused(.unknown) }
      return Self.done
    }
  }

  private static let done = Response(status: .noContent, fields: ["Cache-Control": "no-store"])

  private func service(_ operators: OperatorRequest) throws(Problem) -> InstallationService {
    guard let service = operators.generation.installationService else {
      throw Problem(.notFound, "No app on this server has installations.")
    }
    return service
  }

  private static func userCode(_ content: [UInt8]) throws(Problem) -> String {
    var body = try AdminBody(content)
    let text = body.text("user_code")
    let code = text.flatMap { UserCode.normalized($0) }
    if text == nil {
      body.note("user_code", "Give the code that the customer reads to you.")
    } else if code == nil {
      body.note("user_code", "Give eight letters, such as BCDF-GHJK.")
    }
    try body.finish()
    guard let code else { preconditionFailure("neither a code nor a mistake") }
    return code
  }

  /// Runs the work in a task and responds.
  ///
  /// - Parameter action: The action for the audit line; nil to write none.
  private func answer(
    _ operators: OperatorRequest, _ exchange: inout Exchange, _ action: AuditedAction?,
    _ body: @escaping @Sendable (inout OperatorLine) async throws(InstallationService.Failure) -> Response
  ) {
    let line = operators.line(action ?? .approve, exchange)
    let responder = exchange.deferred()
    operators.context.task { [audit] in
      var line = line
      let response: Response
      var code: Problem.Code?
      do throws(InstallationService.Failure) {
        response = try await body(&line)
      } catch {
        let problem = Problem(error)
        code = problem.code
        response = problem.response(requestID: responder.requestID)
      }
      if action != nil { line.append(to: audit, code) }
      responder.respond(response)
    }
  }
}

/// The query for the list: one state, or all states one after the other.
private struct InstallationList: Sendable {
  private var states: [InstallationQuery.State]
  /// The key of the last entry on the previous page, in the first of the states; nil to begin with that
  /// state's first entry.
  private var after: String?
  private let limit: Int

  /// Reads `state`, `after` and `limit`.
  init(_ request: borrowing Request) throws(Problem) {
    var query = QueryReader()
    let all = InstallationQuery.State.allCases
    let state = query.value(
      "state", request.queryItem("state"), "Give one of \(all.map(\.rawValue).joined(separator: ", ")).",
      InstallationQuery.State.init)
    let cursor = query.value("after", request.queryItem("after"), "Send next from the previous page.") {
      text -> (InstallationQuery.State, String)? in
      guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
        let state = InstallationQuery.State(rawValue: String(text[..<colon]))
      else { return nil }
      let key = String(text[text.utf8.index(after: colon)...])
      guard key.utf8.count <= 64, key.isEmpty || Hex.decode(key) != nil else { return nil }
      return (state, key)
    }
    limit =
      query.value("limit", request.queryItem("limit"), "Give a whole number from 1 to 1000.") {
        Digits.read($0, in: 1...1000)
      } ?? 50
    try query.finish()
    states = state.map { [$0] } ?? all
    if let (first, key) = cursor {
      states = Array(states.drop { $0 != first })
      // Without a key, the page begins at the start of the state: the previous page ended with the last entry
      // of another state.
      after = key.isEmpty ? nil : key
    }
  }

  /// A page, and the cursor of the next one; nil after the last page.
  func entries(_ service: InstallationService, at now: Instant) async throws(StoreError) -> (
    [InstallationEntry], next: String?
  ) {
    var entries: [InstallationEntry] = []
    for (index, state) in states.enumerated() {
      let query = InstallationQuery(
        state, after: index == 0 ? after : nil, limit: limit - entries.count, at: now)
      let page = try await service.list(query)
      entries += page.entries
      if let next = page.next { return (entries, "\(state.rawValue):\(next)") }
      if entries.count == limit, index + 1 < states.count {
        return (entries, "\(states[index + 1].rawValue):")
      }
    }
    return (entries, nil)
  }
}

extension AuditRecord {
  fileprivate mutating func note(_ enrolment: Enrolment) {
    (installation, app) = (enrolment.client.id.description, enrolment.appID)
  }

  /// Notes the app of a revoked installation, and how many of its appointments ended.
  fileprivate mutating func note(_ revocation: InstallationService.Revocation) {
    (app, cancelled) = (revocation.installation?.appID, revocation.cancelled)
  }
}

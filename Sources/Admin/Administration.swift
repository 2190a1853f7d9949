// The admin endpoints for the kill switch, reload, callbacks, explanations and metrics. They are the same
// on the public and on the admin listener.

package import API
package import Appointments
package import Callers
import Configuration
import Deciding
import Delivery
import Documents
package import Gate
package import HTTP
package import HTTPServer
import JSON
package import Platform
package import Records
import Responses
package import Serving
package import Store
import Texts

/// A request of an authenticated operator whose role allows the request.
package struct OperatorRequest: Sendable {
  package let by: Operator
  /// The configuration that serves the request, even after a reload.
  let generation: Generation
  /// The client's address.
  let address: IPAddress
  let context: RequestContext

  package init(by operator: Operator, generation: Generation, address: IPAddress, context: RequestContext) {
    by = `operator`
    self.generation = generation
    self.address = address
    self.context = context
  }
}

/// The handlers of `/metrics` and `/admin/*`.
package final class Administration: Sendable {
  /// The generations of the configuration. The current one is in use.
  package let generations: Generations
  let runtime: Runtime
  let store: any Store
  let reloader: Reloader
  let health: Health
  private let metrics: MetricsPage
  let audit: AuditLog
  let activity: RecentActivity
  let attention: AttentionList
  /// The routes whose latency the status shows.
  // Our text: the paths of this server.
  let appRoutes: Set<String>
  /// Makes the calls of appointments; nil without a store key.
  let keeper: AppointmentKeeper?
  /// The log for refusals and changes.
  package let log: Log
  package let clock: StoreClock
  let started: UnixTime
  /// The counter of wrong tokens. It is separate from the callers' throttle, so that failed logins of apps
  /// cannot lock operators out of the kill switch.
  package let throttle = LoginThrottle()

  /// - Parameter appRoutes: The routes whose latency the status shows.
  package init(
    generations: Generations, runtime: Runtime, store: any Store, reloader: Reloader,
    health: Health,
    metrics: MetricsPage, audit: AuditLog, activity: RecentActivity,
    attention: AttentionList, appRoutes: Set<String>,
    keeper: AppointmentKeeper?, log: Log,
    clock: StoreClock
  ) {
    self.audit = audit
    self.activity = activity
    self.attention = attention
    self.appRoutes = appRoutes
    self.keeper = keeper
    self.generations = generations
    self.runtime = runtime
    self.store = store
    self.reloader = reloader
    self.health = health
    self.metrics = metrics
    self.log = log
    self.clock = clock
    started = clock.unixTime
  }

  /// `GET /metrics`
  package func showMetrics(_ operators: OperatorRequest, _ exchange: inout Exchange) {
    // Counting thousands of file descriptors takes milliseconds, which would block the event loop for too
    // long.
    let responder = exchange.deferred()
    Task { [metrics] in responder.respond(metrics.response()) }
  }

  /// `POST /admin/stop`
  package func stop(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let wanted = try StopRequest(request.content, isStop: true)
    let stop = wanted.stop(at: runtime.stops.time, by: operators.by.identity)
    try check(wanted.target, operators.generation)
    change(&exchange, operators, .stop, stop, unsaved: UnsavedChange.stop) {
      [runtime] () async throws(StoreError) in
      try await runtime.stops.stop(stop)
      return (.warning, "stopped by an operator")
    }
  }

  /// `POST /admin/resume`
  package func resume(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let wanted = try StopRequest(request.content, isStop: false)
    // Operators can resume everything that is stopped, even if the configuration no longer has the app or
    // caller.
    if !runtime.stops.stops.list.contains(where: { $0.target == wanted.target }) {
      try check(wanted.target, operators.generation)
    }
    let resumed = wanted.stop(at: runtime.stops.time, by: operators.by.identity)
    change(&exchange, operators, .resume, resumed, unsaved: UnsavedChange.resume) {
      [runtime] () async throws(StoreError) in
      try await runtime.stops.resume(wanted.target, wanted.action)
        ? (.warning, "resumed by an operator")
        : (.info, "nothing to resume: it was not stopped")
    }
  }

  /// `POST /admin/reload`
  package func reload(_ operators: OperatorRequest, _ exchange: inout Exchange) {
    let line = operators.line(.reload, exchange)
    let responder = exchange.deferred()
    operators.context.task { [reloader, audit] in
      let outcome = await reloader.reload(because: "operator \(operators.by.identity.name)")
      line.append(to: audit, outcome.isSuccess ? nil : .invalidRequest)
      responder.respond(Self.answer(outcome, responder.requestID))
    }
  }

  /// `GET /admin/callbacks`
  package func listCallbacks(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let query = try CallbackQuery(request)
    let responder = exchange.deferred()
    operators.context.task { [store] in
      do throws(StoreError) {
        let records = try await store.callbacks(query)
        responder.respond(Self.answer(CallbackDocument.list(records, limit: query.limit)))
      } catch {
        let problem = Problem(
          .storeUnavailable, "The server cannot read its database right now.", tryAgainAfter: 1)
        responder.respond(problem.response(requestID: responder.requestID))
      }
    }
  }

  /// `POST /admin/explain`
  package func explain(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    let generation = operators.generation
    let question = try Question(admin: request.content)
    let inquiry: Question.Inquiry
    do throws(Question.Mistakes) {
      inquiry = try question.inquiry(generation.configuration, now: Instant(clock.unixTime))
    } catch {
      throw .invalid(error.list.map { Problem.FieldProblem(name: $0.member, description: $0.description) })
    }
    let responder = exchange.deferred()
    operators.context.task {
      let explanation = await generation.decider.explain(inquiry)
      responder.respond(Self.answer(.object(explanation.document)))
    }
  }

  // MARK: Kill switch

  /// Changes the stops, and responds with all current stops.
  ///
  /// - Parameters:
  ///   - unsaved: The texts for log and operator if the store cannot save the change.
  ///   - body: Makes the change and returns the result for the log.
  private func change(
    _ exchange: inout Exchange, _ operators: OperatorRequest, _ action: AuditedAction, _ stop: Stop,
    unsaved: @escaping @Sendable (StoreError) -> UnsavedChange,
    _ body: @escaping @Sendable () async throws(StoreError) -> (LogSettings.Level, String)
  ) {
    var line = operators.line(action, exchange)
    line.record.app = if case .app(let id) = stop.target { id } else { nil }
    line.record.reason = stop.auditedChange
    let responder = exchange.deferred()
    let address = operators.address
    operators.context.task { [self, line] in
      do throws(StoreError) {
        let (level, message) = try await body()
        log.write(stop, message, level, address: address)
        line.append(to: audit)
        // Update the list now, so that a new stop counts the requests that it refuses from here on.
        _ = attention.entries()
        responder.respond(Self.answer(["stops": stops]))
      } catch {
        let unsaved = unsaved(error)
        log.write(stop, unsaved.log, .error, address: address, error: error)
        line.append(to: audit, .storeUnavailable)
        let problem = Problem(.storeUnavailable, unsaved.detail, retryAfter: 1)
        responder.respond(problem.response(requestID: responder.requestID))
      }
    }
  }

  /// Refuses an unknown app or caller, because an operator would believe in a stop that stops nothing.
  private func check(_ target: Stop.Target, _ generation: Generation) throws(Problem) {
    let known: [String]
    switch target {
    case .all: return
    case .app: known = generation.configuration.apps.map(\.id)
    case .caller:
      known = generation.configuration.callers.map(\.id) + [Caller.anonymousID, Caller.installationID]
    }
    let (scope, id) = target.parts
    guard !known.contains(exactly: id) else { return }
    let near = Spelling.nearest(to: id, among: known).map { " Did you mean \($0)?" } ?? ""
    throw .invalid([
      Problem.FieldProblem(name: "id", description: "There is no \(scope) \(quoted(id)).\(near)")
    ])
  }

  var stops: JSONValue {
    .array(
      runtime.stops.stops.list.map { stop in
        let (scope, id) = stop.target.parts
        var document: JSONObject = ["scope": .string(scope)]
        if !id.isEmpty { document["id"] = .string(id) }
        document["action"] = .string(stop.action.rawValue)
        document["since"] = .string(Instant(seconds: stop.since).rfc3339)
        if let until = stop.until { document["until"] = .string(Instant(seconds: until).rfc3339) }
        if let reason = stop.reason { document["reason"] = .string(reason) }
        document.put(stop.by)
        return .object(document)
      })
  }

  // MARK: Documents

  private static func answer(_ document: JSONValue) -> Response {
    Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: document.serialized())
  }

  private static func answer(_ outcome: Reloader.Outcome, _ requestID: RequestID) -> Response {
    guard outcome.isSuccess else {
      var problem = Problem(.invalidRequest, "The new configuration has a mistake. The old one stays in use.")
      problem.fields = outcome.problems.map { found in
        let subject = found.subject.map { "\($0): " } ?? ""
        return Problem.FieldProblem(
          name: "\(found.place)", description: "\(subject)\(found.message) — \(found.remedy)")
      }
      return problem.response(requestID: requestID)
    }
    return answer([
      "generation": .number(JSONNumber(Int64(outcome.generation))),
      "notices": .array(outcome.notices.map { .string("\($0)") }),
      "restart_needed": .array(outcome.restartNeeded.map { .string($0) }),
    ])
  }
}

/// The texts for log and operator about a stop or resume that the store did not confirm.
struct UnsavedChange {
  let log: String
  let detail: String

  /// The texts about a stop. It applies only to this instance until the store works again. A store that did
  /// not respond may have saved it.
  static func stop(_ error: StoreError) -> UnsavedChange {
    UnsavedChange(
      log:
        "stopped by an operator, but not saved: the stop applies only to this instance until the database is back",
      detail:
        "The database did not save the stop. It applies only to this instance until the database is back. Repeat it then."
        + (error.isInDoubt ? " The database may have saved it after all: run `callgate status`." : ""))
  }

  /// The texts about a resume. The server resumes nothing until the store has saved the change. A store
  /// that did not respond may have saved it.
  static func resume(_ error: StoreError) -> UnsavedChange {
    error.isInDoubt
      ? UnsavedChange(
        log: "the resume may not be saved: the database did not respond",
        detail: "The database did not respond, so the resume may not be saved. "
          + "Run `callgate status`. If it is still paused, resume again.")
      : UnsavedChange(
        log: "not resumed: the database could not save it",
        detail: "The database could not save this, so nothing has changed.")
  }
}

extension Log {
  /// Logs the unsaved stops that have ended because the store works again.
  package func write(lapsed stops: [Stop]) {
    for stop in stops { write(stop, "a stop that was not saved has ended because the database is back") }
  }

  /// Logs the result of a stop or resume.
  package func write(
    _ stop: Stop, _ message: String, _ level: LogSettings.Level = .warning, address: IPAddress? = nil,
    error: StoreError? = nil
  ) {
    write(
      level, message,
      [
        "scope": stop.target.parts.scope, "id": stop.target.parts.id, "action": stop.action.rawValue,
        "until": stop.until.map { Instant(seconds: $0).rfc3339 } ?? "", "reason": stop.reason ?? "",
        "address": address.map { "\($0)" } ?? "", "error.message": error.map { "\($0)" } ?? "",
        "operator": stop.by?.name ?? "", "by": stop.by?.by.rawValue ?? "",
      ])
  }
}

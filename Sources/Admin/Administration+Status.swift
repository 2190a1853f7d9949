// `GET /admin/status` and `GET /admin/decisions`: the state of the server for operators, and recent
// decisions.

package import API
import Appointments
import Callers
import Configuration
import Deciding
import Delivery
import Documents
import Gate
package import HTTP
package import HTTPServer
import Installations
import JSON
import Platform
import Records
import Serving
import Store

extension Administration {
  /// `GET /admin/status`
  package func showStatus(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    var query = QueryReader()
    let after = query.value(
      "after", request.queryItem("after"), "Send the sequence of the previous response.",
      { Digits.read($0, in: 0...999_999_999_999) })
    try query.finish()
    let responder = exchange.deferred()
    // The status reads thousands of counters, which would block the event loop for too long.
    operators.context.task { [self] in
      var (status, lines) = status(operators.generation, after: after ?? 0)
      status["operator"] = [
        "name": .string(operators.by.identity.name), "role": .string(operators.by.role.rawValue),
        "by": .string(operators.by.identity.by.rawValue),
      ]
      responder.respond(StatusDocument.response(status, decisions: lines))
    }
  }

  /// `GET /admin/decisions`
  package func showDecisions(
    _ request: borrowing Request, _ operators: OperatorRequest, _ exchange: inout Exchange
  ) throws(Problem) {
    var query = QueryReader()
    let need = "Give a request id, such as a response has in X-Request-ID."
    var wanted = request.queryItem("request_id")
    if case .absent = wanted { wanted = .malformed }
    let id = query.value("request_id", wanted, need) { $0.isEmpty ? nil : $0 }
    try query.finish()
    let responder = exchange.deferred()
    // The search reads millions of bytes, which would block the event loop for too long.
    operators.context.task { [audit] in
      let found = audit.recent.decisions(of: id ?? "")
      responder.respond(
        found.isEmpty
          ? Problem(.notFound, "None of the last 10,000 decisions of this instance has this request id.")
            .response(requestID: responder.requestID)
          : StatusDocument.response([:], decisions: found))
    }
  }

  private func status(
    _ generation: Generation, after number: Int
  ) -> (status: JSONObject, decisions: [RecentDecisions.Entry]) {
    let openings = StatusDocument.openings(generation, at: Instant(clock.unixTime))
    let attention = self.attention.entries()
    let callbacks = self.attention.callbacks(
      attention, isOpen: openings.isEmpty || openings.contains { $0["open"] == true })
    var status: JSONObject = [
      "status": .string(health.word), "callbacks": .string(callbacks.rawValue),
      "attention": .array(
        attention.map { StatusDocument.entry($0, generation.configuration.admin.runbooks) }),
      "server": server(generation), "started": .string(started.rfc3339),
      "time": .string(clock.unixTime.rfc3339),
      "configuration": configuration(generation),
      "callers": .array(generation.configuration.callers.map { .string($0.id) }),
      "apps": .array(generation.configuration.apps.map { .string($0.id) }),
      "rules": .array(
        generation.configuration.policy.rules.map { rule in
          [
            "name": .string(rule.name), "kind": .string(rule.kind.word.rawValue),
            "mode": .string(rule.mode.rawValue),
          ]
        }),
      "stops": stops, "store": .object(storeState),
      "tokens": .array(health.scopes), "keys": .object(health.keys),
      "upstreams": .array(runtime.metrics.upstreams.map(StatusDocument.upstream)),
      "openings": .array(openings),
      "callback_counts": StatusDocument.callbacks(runtime.metrics), "queue": queue,
      "brakes": .array(brakes(generation)),
    ]
    if generation.appointments != nil, let counts = keeper?.counts {
      status["appointments"] = [
        "scheduled": StatusDocument.number(counts.scheduled),
        "pending": StatusDocument.number(counts.pending),
      ]
    }
    if generation.installations != nil, let counts = runtime.installations?.counts.latest {
      status["installations"] = .object(
        InstallationQuery.State.allCases.reduce(into: JSONObject()) {
          $0[$1.rawValue] = StatusDocument.number(counts[$1])
        })
    }
    let trust = runtime.metrics.trust
    if !trust.isEmpty { status["trust"] = .array(trust.map(StatusDocument.trust)) }
    let desks = health.desks
    if !desks.isEmpty { status["desks"] = .array(desks) }
    let hour = activity.report()
    status["last_hour"] = StatusDocument.hour(hour)
    status["latency"] = .array(StatusDocument.latency(hour, of: appRoutes))
    let recent = audit.recent.after(number)
    status["sequence"] = StatusDocument.number(recent.last)
    return (status, recent.entries)
  }

  private func configuration(_ generation: Generation) -> JSONValue {
    var configuration: JSONObject = [
      "generation": .number(JSONNumber(Int64(generation.number))),
      "files": .array(generation.configuration.files.keys.sorted().map { .string($0) }),
    ]
    if let last = reloader.last {
      var reload: JSONObject = [
        "time": .string(last.time.rfc3339), "status": .string(last.isSuccess ? "ok" : "failed"),
      ]
      if !last.isSuccess { reload["problems"] = .array(last.problems.map { .string("\($0)") }) }
      if !last.restartNeeded.isEmpty {
        reload["restart_needed"] = .array(last.restartNeeded.map { .string($0) })
      }
      configuration["last_reload"] = .object(reload)
    }
    return .object(configuration)
  }

  /// The server's host, release, account and region.
  private func server(_ generation: Generation) -> JSONValue {
    let talkdesk = generation.configuration.talkdesk
    var server: JSONObject = ["instance": .string(HostName.current), "version": .string(Version.current)]
    if let upstream = talkdesk.upstream {
      let isSandbox = generation.configuration.purpose == .sandbox
      server["account"] = .string(isSandbox ? "sandbox" : StatusDocument.account(upstream.tokenURL))
      server["region"] = .string(talkdesk.regionName)
    }
    return .object(server)
  }

  /// The number of callbacks that are being sent to Talkdesk, and the number that wait for it.
  private var queue: JSONValue {
    let load = runtime.callbacks.queue.load
    return ["running": StatusDocument.number(load.running), "waiting": StatusDocument.number(load.waiting)]
  }

  private var storeState: JSONObject {
    var store: JSONObject = ["kind": .string(runtime.storeKind)]
    if let age = runtime.stops.age {
      store["stops_age_seconds"] = .number(JSONNumber(max(0, age.components.seconds)))
    }
    if let failure = runtime.storeHealth.failure { store["failure"] = .string("\(failure)") }
    if let ahead = runtime.storeHealth.clockAhead {
      store["clock_difference_seconds"] = .number(JSONNumber(ahead.components.seconds))
    }
    return store
  }

  /// All brakes (safety limits) that are on. The brake on each number has no `used_ratio`.
  private func brakes(_ generation: Generation) -> [JSONValue] {
    let policy = generation.decider.policy
    let figures = policy.brakes
    return policy.possibleBrakes.filter { figures[$0] > 0 }.map { brake in
      var document: JSONObject = [
        "brake": .string(brake.rawValue), "limit": .number(JSONNumber(figures[brake])),
      ]
      if let ratio = runtime.callbacks.brakes.usedRatio(brake, figures).flatMap(JSONNumber.init) {
        document["used_ratio"] = .number(ratio)
      }
      return .object(document)
    }
  }
}

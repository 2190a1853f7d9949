// The parts of the status that show activity: current problems, decisions, latency, opening hours, callbacks,
// attestations and upstream services.

import API
import Callers
import Configuration
import Deciding
import Gate
import HTTP
import HTTPServer
import JSON
import Metrics
import Platform
import Records
import Serving

/// Writes parts of `GET /admin/status`.
enum StatusDocument {
  /// The maximum number of pairs of app and caller whose opening hours are shown.
  private static let mostOpenings = 64

  static func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }

  /// The last hour: its minutes, and its decisions by code and rule.
  static func hour(_ report: RecentActivity.Report) -> JSONValue {
    [
      "minutes": .array(
        report.minutes.map { minute in
          [
            "start": .string(minute.start.rfc3339), "allow": number(minute.allow),
            "deny": number(minute.deny), "error": number(minute.error),
          ]
        }),
      "decisions": .array(
        report.decisions.map { share in
          var document: JSONObject = ["decision": .string(share.decision), "count": number(share.count)]
          if !share.code.isEmpty { document["code"] = .string(share.code) }
          if !share.rule.isEmpty { document["rule"] = .string(share.rule) }
          return .object(document)
        }),
    ]
  }

  /// The latency of responses to apps in the last hour.
  /// - Parameter appRoutes: The routes of apps.
  static func latency(_ report: RecentActivity.Report, of appRoutes: Set<String>) -> [JSONValue] {
    report.latencies.filter { latency in appRoutes.contains(latency.route) }.map { latency in
      var document: JSONObject = ["route": .string(latency.route), "count": number(latency.count)]
      for (name, share) in [("p50_seconds", 0.5), ("p95_seconds", 0.95), ("p99_seconds", 0.99)] {
        document[name] =
          latency.bound(share).flatMap(JSONNumber.init).map { .number($0) } ?? .null
      }
      return .object(document)
    }
  }

  /// Whether callbacks are open now, for each app, and for each caller if callers differ.
  static func openings(_ generation: Generation, at now: Instant) -> [JSONValue] {
    let configuration = generation.configuration
    var callers = configuration.callers.map(\.id)
    if configuration.allowAnonymous { callers.append(Facts.anonymous) }
    var left = mostOpenings
    let apps: [(id: String?, callers: [String])] =
      configuration.apps.isEmpty
      ? [(nil, callers)]
      : configuration.apps.map { app in
        let installations = app.installations == nil ? [] : [Caller.installationID]
        return (id: app.id, callers: (app.callers ?? callers) + installations)
      }
    return apps.flatMap { app -> [JSONValue] in
      let standings = app.callers.prefix(left).map { caller in
        let availability = generation.decider.policy.availability(
          of: .callback, callerID: caller, appID: app.id, at: now, span: 0)
        return (caller: caller, isOpen: availability.isOpen, nextChange: availability.nextChange)
      }
      left -= standings.count
      guard let first = standings.first else { return [] }
      let agree = standings.allSatisfy { $0.isOpen == first.isOpen && $0.nextChange == first.nextChange }
      return (agree ? [first] : standings).map { standing in
        var document = JSONObject()
        if let id = app.id { document["app"] = .string(id) }
        if !agree { document["caller"] = .string(standing.caller) }
        document["open"] = .bool(standing.isOpen)
        document["next_change"] = standing.nextChange.map { .string($0.rfc3339) } ?? .null
        return .object(document)
      }
    }
  }

  /// A current problem.
  /// - Parameter runbooks: The runbook's address.
  static func entry(_ entry: Attention, _ runbooks: String) -> JSONValue {
    var document: JSONObject = ["code": .string(entry.code.rawValue), "since": .string(entry.since.rfc3339)]
    if let until = entry.until { document["until"] = .string(until.rfc3339) }
    document["count"] = number(entry.count)
    document["text"] = .string(entry.text)
    document["action"] = .string(entry.action)
    document["runbook"] = .string("\(runbooks)#\(entry.code.section)")
    return .object(document)
  }

  /// The account in the URL of Talkdesk ID: `acme` in `https://acme.talkdeskid.com/oauth/token`; for
  /// another host, the host itself.
  static func account(_ tokenURL: String) -> String {
    let host = tokenURL.utf8.split(separator: UInt8(ascii: "/")).dropFirst().first ?? tokenURL.utf8[...]
    let labels = host.split(separator: UInt8(ascii: "."), maxSplits: 1)
    let isTalkdesk = labels.count == 2 && labels[1].starts(with: "talkdeskid".utf8)
    return String(decoding: isTalkdesk ? labels[0] : host, as: UTF8.self)
  }

  /// The numbers of callbacks by final state, since the start of the process.
  static func callbacks(_ metrics: ServiceMetrics) -> JSONValue {
    .object(
      ["accepted", "failed", "unknown", "cancelled", "expired"].reduce(into: JSONObject()) {
        $0[$1] = number(metrics.callbacks.total($1))
      })
  }

  /// The number of checked attestations of a type, or of checked proofs of keys, and how many of them
  /// failed.
  static func trust(_ kind: (kind: String, judged: Int, failed: Int)) -> JSONValue {
    ["kind": .string(kind.kind), "judged": number(kind.judged), "failed": number(kind.failed)]
  }

  /// The outcomes of requests to an upstream service, and the time of the last success.
  static func upstream(_ health: ServiceMetrics.UpstreamHealth) -> JSONValue {
    var document: JSONObject = [
      "upstream": .string(health.name),
      "outcomes": .object(
        health.outcomes.reduce(into: JSONObject()) { $0[$1.name] = number($1.count) }),
    ]
    if let time = health.lastSuccess { document["last_success"] = .string(time.rfc3339) }
    return .object(document)
  }

  /// The status with the last decisions. Their audit lines are JSON already, so they are copied without being
  /// parsed.
  static func response(_ status: JSONObject, decisions: [RecentDecisions.Entry]) -> Response {
    var content = JSONValue.object(status).serialized()
    content.removeLast()
    content.append(contentsOf: status.members.isEmpty ? #""decisions":["#.utf8 : #","decisions":["#.utf8)
    for (index, decision) in decisions.enumerated() {
      content.append(contentsOf: "\(index == 0 ? "" : ","){\"sequence\":\(decision.number),".utf8)
      // The audit line, without its opening brace and its final newline.
      content.append(contentsOf: decision.line.dropFirst().dropLast())
    }
    content.append(contentsOf: "]}".utf8)
    return Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"], content: content
    )
  }
}

// The emulated calls report: jobs that finish at the second status request, and report files in both forms.

import HTTP
import JSON
import Platform
import Synchronization

/// `POST /data/reports/calls/jobs`, `GET …/jobs/{id}`, `GET …/files/{id}`. The report contains the last 1000
/// calls whose outcome was posted to `/_sandbox/outcome`.
struct ReportService: Sendable {
  struct State: Sendable {
    /// Whether reports have the form that Talkdesk used before May 2026.
    var isOld = false
    /// The calls, each as the event that reports it.
    fileprivate var calls = RecentList<JSONObject>(capacity: 1000)
    fileprivate var jobs: [String: Int] = [:]

    /// Adds the call that an event reports.
    mutating func add(_ event: JSONObject) { calls.append(event) }
  }

  /// The names of the two forms: the current one, and the one that Talkdesk used before May 2026.
  static let forms = ["today", "before"]
  private static let prefix = "/data/reports/calls/"
  private static let mostJobs = 1000

  let issuer: EmulatedTokenIssuer

  /// Whether a path is a report's.
  static func owns(_ path: String) -> Bool { path.hasPrefix(prefix) }

  func act(_ call: Call, path: String, now: UnixTime, state: borrowing Mutex<EmulatorState>) -> Reply {
    guard let baseURL = state.withLock({ $0.baseURL }) else { return Self.error(.notFound) }
    let scope = EmulatorConfiguration.reportScopes[call.method == .post ? 0 : 1]
    if let refusal = issuer.refusal(of: call, scope: scope, audience: baseURL, now: now) {
      return .json(refusal.status, refusal.content)
    }
    let parts = path.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    return state.withLock { state in
      switch (call.method, parts.first, parts.count) {
      case (.post, "jobs", 1):
        guard state.reports.jobs.count < Self.mostJobs else { return Self.error(.tooManyRequests) }
        let id = Identifier.random()
        state.reports.jobs[id] = 0
        return .json(.accepted, (["id": .string(id), "status": "created"] as JSONObject).serialized())
      case (.get, "jobs", 2):
        let id = String(parts[1])
        guard let looks = state.reports.jobs[id] else { return Self.error(.notFound) }
        state.reports.jobs[id] = min(looks + 1, 2)
        guard looks == 0 else {
          return Reply(Status(303, "See Other"), fields: ["Location": Self.prefix + "files/" + id])
        }
        return .json(
          .ok, (["job": ["id": .string(id), "status": "processing"]] as JSONObject).serialized())
      case (.get, "files", 2) where state.reports.jobs[String(parts[1])] != nil:
        return .json(.ok, Self.report(state.reports).serialized())
      default: return Self.error(.notFound)
      }
    }
  }

  private static func report(_ state: State) -> JSONObject {
    let entries = state.calls.elements.map { JSONValue.object(state.isOld ? old($0) : today($0)) }
    let total = JSONValue.number(JSONNumber(Int64(entries.count)))
    guard !state.isOld else { return ["entries": .array(entries), "total": total] }
    return ["type": "calls", "version": "v1", "entries": .array(entries), "total": total]
  }

  private static func seconds(_ event: JSONObject, _ name: String) -> Int64 {
    event[name]?.string.flatMap { Int64($0) } ?? 0
  }

  private static func today(_ event: JSONObject) -> JSONObject {
    func span(_ name: String) -> JSONValue { .number(JSONNumber(seconds(event, name))) }
    return [
      "call_id": event["call_id"] ?? .null, "type": event["type"] ?? .null,
      "start_at": event["start_time"] ?? .null, "end_at": event["timestamp"] ?? .null,
      "talkdesk_phone_number": event["talkdesk_phone_number"] ?? .null,
      "contact_phone_number": event["contact_phone_number"] ?? .null, "total_time": span("total_duration"),
      "talk_time": span("duration"), "wait_time": span("waiting_time"), "hold_time": span("hold_time"),
      "is_callback_from_queue": false, "recording_url": .null,
    ]
  }

  private static func old(_ event: JSONObject) -> JSONObject {
    func span(_ name: String) -> JSONValue {
      JSONNumber(Double(seconds(event, name)) / 86_400).map { .number($0) } ?? .null
    }
    func time(_ name: String) -> JSONValue {
      guard let text = event[name]?.string else { return .null }
      return .string(text.prefix(10) + " " + text.dropFirst(11).prefix(8))
    }
    return [
      "interaction_id": event["interaction_id"] ?? .null, "call_type": event["type"] ?? .null,
      "start_time": time("start_time"), "end_time": time("timestamp"),
      "talkdesk_phone_number": event["talkdesk_phone_number"] ?? .null,
      "contact_phone_number": event["contact_phone_number"] ?? .null, "total_time": span("total_duration"),
      "talk_time": span("duration"), "waiting_time": span("waiting_time"), "hold_time": span("hold_time"),
      "in_business_hours?": "TRUE", "callback_from_queue?": "FALSE", "hangup": "agent",
    ]
  }

  private static func error(_ status: Status) -> Reply {
    .json(status, TalkdeskError(status: status, code: "not_found", message: status.reason).content)
  }
}

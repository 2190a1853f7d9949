// The emulated Live API: one query, subscriptions, and streams that end with each event.

import HTTP
import JSON
import Platform
import Synchronization

/// `GET /live-queries`, `POST /live-subscriptions` and their streams. A stream has one result and ends: at once where its subscription has
/// not had the present number, otherwise when the number changes, after 45 seconds at the latest.
struct LiveService: Sendable {
  /// What changes.
  struct State: Sendable {
    /// How many agents are available; `POST /_sandbox/agents` changes it.
    var available: Int64 = 3
    /// The subscriptions by their ids, with the number that each was told last.
    fileprivate var told: [String: Int64?] = [:]
  }

  private static let prefix = "/live-"
  private static let queryID = "7b8d3f0e"
  /// The name of the query.
  private static let query = "agents-available"
  private static let mostSubscriptions = 500
  private static let hold = Duration.seconds(45)

  let issuer: EmulatedTokenIssuer

  /// Whether a path is the Live API's.
  static func owns(_ path: String) -> Bool { path.hasPrefix(prefix) }

  /// Acts on a request. A stream may wait.
  func act(
    _ call: Call, path: String, clock: any TimeSource, state: borrowing Mutex<EmulatorState>
  ) async -> Reply {
    guard let baseURL = state.withLock({ $0.baseURL }) else { return Self.error(.notFound, "not_found") }
    if let refusal = issuer.refusal(
      of: call, scope: EmulatorConfiguration.liveScopes[call.method == .post ? 0 : 1], audience: baseURL,
      now: clock.unixTime)
    {
      return .json(refusal.status, refusal.content)
    }
    switch (call.method, path) {
    case (.get, "/live-queries"): return .json(.ok, Self.queries.serialized())
    case (.post, "/live-subscriptions"):
      return state.withLock { Self.subscribe(call, baseURL, &$0.live) }
    case (.get, _):
      let parts = path.split(separator: "/")
      guard parts.count == 3, parts[0] == "live-subscriptions", parts[2] == "stream" else {
        return Self.error(.notFound, "not_found")
      }
      return await stream(String(parts[1]), clock, state)
    default: return Self.error(.methodNotAllowed, "method_not_allowed")
    }
  }

  private static let queries: JSONObject = [
    "total": 1, "count": 1, "page": 1, "per_page": 100,
    "_embedded": [
      "queries": [
        [
          "id": .string(queryID), "name": .string(query), "params": [],
          "filters": [["name": "ring_groups", "json_map": true, "type": "array"]],
        ]
      ]
    ],
  ]

  private static func subscribe(_ call: Call, _ baseURL: String, _ state: inout State) -> Reply {
    let body: JSONValue
    do { body = try JSONValue(parsing: call.content) } catch {
      return Self.error(.badRequest, "invalid_json")
    }
    guard body["queries"]?.array?.count == 1, body["queries"]?.array?.first?["id"]?.string == queryID else {
      return Self.error(.unprocessableContent, "unknown_query")
    }
    guard state.told.count < mostSubscriptions else { return Self.error(.unprocessableContent, "too_many") }
    let id = Identifier.random()
    state.told.updateValue(nil, forKey: id)
    let reply: JSONObject = [
      "id": .string(id),
      "_links": [
        "stream": ["href": .string("\(baseURL)/live-subscriptions/\(id)/stream?token=\(Identifier.random())")]
      ],
    ]
    return .json(.ok, reply.serialized())
  }

  private func stream(
    _ id: String, _ clock: any TimeSource, _ state: borrowing Mutex<EmulatorState>
  ) async -> Reply {
    let end = clock.now + Self.hold
    while true {
      let isOver = clock.now >= end
      let found = state.withLock { state -> (isKnown: Bool, number: Int64?) in
        guard let told = state.live.told[id] else { return (false, nil) }
        guard told != state.live.available || isOver else { return (true, nil) }
        state.live.told[id] = state.live.available
        return (true, state.live.available)
      }
      guard found.isKnown else { return Self.error(.notFound, "not_found") }
      if let number = found.number {
        let data: JSONObject = [
          "metadata": ["name": .string(Self.query)], "query_id": .string(Self.queryID), "entry_id": "1",
          "result": ["value": .number(JSONNumber(number))],
        ]
        let text = "event:result\ndata:\(String(decoding: data.serialized(), as: UTF8.self))\n\n"
        return Reply(
          .ok, contentType: "text/event-stream", content: Array(text.utf8),
          fields: ["Cache-Control": "no-store"])
      }
      guard await clock.hasSlept(until: clock.now + .milliseconds(200)) else {
        return Self.error(.notFound, "not_found")
      }
    }
  }

  private static func error(_ status: Status, _ code: String) -> Reply {
    .json(status, TalkdeskError(status: status, code: code, message: status.reason).content)
  }
}

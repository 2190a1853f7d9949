// The emulated Live API: one query, subscriptions, and their streams.

import HTTP
import HTTPServer
import JSON
import Platform
import Synchronization

/// `GET /live-queries`, `POST /live-subscriptions` and their streams. A stream sends a result at once,
/// whenever the number changes, and after 45 seconds without one. It ends when the client disconnects.
struct LiveService: Sendable {
  struct State: Sendable {
    /// The number of available agents; `POST /_sandbox/agents` changes it.
    var available: Int64 = 3
    fileprivate var subscriptions: Set<String> = []
  }

  private static let prefix = "/live-"
  private static let queryID = "7b8d3f0e"
  private static let query = "agents-available"
  private static let mostSubscriptions = 500
  private static let longestPause = Duration.seconds(45)
  private static let interval = Duration.milliseconds(200)

  let issuer: EmulatedTokenIssuer

  /// Whether a path is the Live API's.
  static func owns(_ path: String) -> Bool { path.hasPrefix(prefix) }

  /// Acts on a request.
  ///
  /// - Returns: The response; nil for a stream, which `follow` sends.
  func act(_ call: Call, path: String, now: UnixTime, state: borrowing Mutex<EmulatorState>) -> Reply? {
    guard let baseURL = state.withLock({ $0.baseURL }) else { return Self.error(.notFound, "not_found") }
    if let refusal = issuer.refusal(
      of: call, scope: EmulatorConfiguration.liveScopes[call.method == .post ? 0 : 1], audience: baseURL,
      now: now)
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
      let isKnown = state.withLock { $0.live.subscriptions.contains(String(parts[1])) }
      return isKnown ? nil : Self.error(.notFound, "not_found")
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
    guard state.subscriptions.count < mostSubscriptions else {
      return Self.error(.unprocessableContent, "too_many")
    }
    let id = Identifier.random()
    state.subscriptions.insert(id)
    let reply: JSONObject = [
      "id": .string(id),
      "_links": [
        "stream": ["href": .string("\(baseURL)/live-subscriptions/\(id)/stream?token=\(Identifier.random())")]
      ],
    ]
    return .json(.ok, reply.serialized())
  }

  /// Sends a stream until the task is canceled.
  static func follow(
    _ responder: Responder, _ clock: any TimeSource, _ state: borrowing Mutex<EmulatorState>
  ) async {
    responder.send(
      Array(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
          .utf8))
    var told: (number: Int64, at: MonotonicTime)?
    repeat {
      let number = state.withLock { $0.live.available }
      if let told, told.number == number, clock.now < told.at + longestPause { continue }
      told = (number, clock.now)
      responder.send(event(number))
    } while await clock.hasSlept(until: clock.now + interval)
    responder.closeUnanswered()
  }

  private static func event(_ number: Int64) -> [UInt8] {
    let data: JSONObject = [
      "metadata": ["name": .string(query)], "query_id": .string(queryID), "entry_id": "1",
      "result": ["value": .number(JSONNumber(number))],
    ]
    return Array("event:result\ndata:\(String(decoding: data.serialized(), as: UTF8.self))\n\n".utf8)
  }

  private static func error(_ status: Status, _ code: String) -> Reply {
    .json(status, TalkdeskError(status: status, code: code, message: status.reason).content)
  }
}

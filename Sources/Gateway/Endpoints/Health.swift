// Liveness and readiness: neither ever asks Talkdesk.

internal import HTTP
internal import HTTPServer
internal import JSON
internal import Store
internal import Synchronization
internal import Talkdesk

/// What platforms ask to decide whether to send requests here.
final class Health: Sendable {
  /// The process works: says nothing about Talkdesk, or its outage would restart healthy servers.
  static let alive = PreparedResponse(
    Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: Array(#"{"status":"pass"}"#.utf8)))

  private let tokens: TokenSource
  private let stops: StopBoard
  private let draining = Atomic<Bool>(false)

  init(tokens: TokenSource, stops: StopBoard) {
    self.tokens = tokens
    self.stops = stops
  }

  /// From now on `/readyz` says that this instance is going away.
  func beginDrain() { draining.store(true, ordering: .relaxed) }

  /// Whether this instance can serve. Trouble at Talkdesk is a warning: an outage there must not take every instance
  /// out of service.
  func readiness() -> Response {
    let isDraining = draining.load(ordering: .relaxed)
    let status = tokens.status
    let word = word
    let document: JSONValue = [
      "status": .string(word),
      "checks": [
        "configuration": ["status": "pass"],
        "process": ["status": isDraining ? "fail" : "pass"],
        "key": .object(Self.keys(status)),
        "store": ["status": stops.failure == nil ? "pass" : "fail"],
        "talkdesk_id": [
          "status": status.isWell ? "pass" : "warn", "scopes": .array(status.scopes.map(Self.check)),
        ],
      ],
    ]
    return Response(
      status: word == "fail" ? .serviceUnavailable : .ok,
      fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: document.serialized())
  }

  /// The sum of it: `pass`, `warn` or `fail`. Without its store an instance can neither count nor hear of a stop.
  var word: String {
    guard !draining.load(ordering: .relaxed), stops.failure == nil else { return "fail" }
    let status = tokens.status
    return status.isWell && !status.hasRefusedCredential ? "pass" : "warn"
  }

  /// What is known of the keys: which one serves, and whether a rotation is stuck.
  var keys: JSONObject { Self.keys(tokens.status) }

  private static func keys(_ status: TokenSourceStatus) -> JSONObject {
    let isRefused = status.hasRefusedCredential || status.scopes.contains(where: \.isRefused)
    var check: JSONObject = ["status": isRefused ? "warn" : "pass"]
    if let serving = status.servingCredential { check["serving"] = .string(serving) }
    check["keys"] = .array(
      status.credentials.map { credential in
        var key: JSONObject = [
          "key_id": .string(credential.name), "role": .string(credential.role.rawValue),
          "state": .string(credential.state.rawValue),
        ]
        if let age = credential.age {
          key["age_seconds"] = .number(JSONNumber(max(0, age.components.seconds)))
        }
        if let wait = credential.retryIn {
          key["retry_in_seconds"] = .number(JSONNumber(max(0, wait.components.seconds)))
        }
        return .object(key)
      })
    return check
  }

  /// What is known of each scope's tokens.
  var scopes: [JSONValue] { tokens.status.scopes.map(Self.check) }

  /// What is known of one scope's last exchange. Names keys by id and tokens not at all.
  private static func check(_ scope: TokenSourceStatus.Scope) -> JSONValue {
    var check: JSONObject = ["scope": .string(scope.scope)]
    func seconds(_ name: String, _ duration: Duration?) {
      guard let duration else { return }
      check[name] = .number(JSONNumber(max(0, duration.components.seconds)))
    }
    if let last = scope.lastRequest {
      check["last_exchange"] = .string(last.label)
      check["key_id"] = .string(last.credential)
    }
    seconds("last_exchange_age_seconds", scope.lastRequestAge)
    seconds("token_expires_in_seconds", scope.expiresIn)
    seconds("cool_down_seconds", scope.coolDown?.remaining)
    return .object(check)
  }
}

extension TokenSourceStatus.Scope {
  /// Whether Talkdesk ID refused the credential when it was last asked.
  fileprivate var isRefused: Bool {
    if case .failure(.refused) = lastRequest?.outcome { true } else { false }
  }
}

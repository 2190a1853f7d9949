// Liveness and readiness: neither ever asks Talkdesk.

internal import HTTP
internal import HTTPServer
internal import JSON
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
  private let draining = Atomic<Bool>(false)

  init(tokens: TokenSource) {
    self.tokens = tokens
  }

  /// From now on `/readyz` says that this instance is going away.
  func beginDrain() { draining.store(true, ordering: .relaxed) }

  /// Whether this instance can serve. Trouble at Talkdesk is a warning: an outage there must not take every instance
  /// out of service.
  func readiness() -> Response {
    let isDraining = draining.load(ordering: .relaxed)
    let status = tokens.status
    let document: JSONValue = [
      "status": .string(word),
      "checks": [
        "configuration": ["status": "pass"],
        "process": ["status": isDraining ? "fail" : "pass"],
        "key": ["status": status.scopes.contains(where: \.isRefused) ? "warn" : "pass"],
        "talkdesk_id": [
          "status": status.isWell ? "pass" : "warn", "scopes": .array(status.scopes.map(Self.check)),
        ],
      ],
    ]
    return Response(
      status: isDraining ? .serviceUnavailable : .ok,
      fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: document.serialized())
  }

  /// The sum of it: `pass`, `warn` or `fail`.
  var word: String { draining.load(ordering: .relaxed) ? "fail" : tokens.status.isWell ? "pass" : "warn" }

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

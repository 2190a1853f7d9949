// Runs a gateway with an emulated Talkdesk for the tests of callbacks.

import HTTP
import JOSE
import JSON

@testable import Gateway
@testable import RoomSupport

/// Requests callbacks over loopback, and reads what the emulated Talkdesk received.
struct CallingFixture: Sendable {
  let service: RunningService
  static let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "TD_PHONE_NUMBER": accountNumber,
  ]
  static let credentials: Fields = [
    "Authorization": "Basic " + Base64.encode(Array("app:canary-pass".utf8))
  ]

  /// The credential for operator paths if `CALLGATE_ADMIN_TOKEN` is `canary-operators-token`.
  static let operators: Fields = ["Authorization": "Bearer canary-operators-token"]

  init(yaml: String? = nil, environment: [String: String] = [:]) throws {
    service = try RunningService(
      environment: Self.environment.merging(environment) { $1 }, yaml: yaml)
  }

  /// Uses a service that already runs.
  init(_ service: RunningService) { self.service = service }

  /// A response of the gateway.
  struct Answer: Sendable {
    let status: Int
    let fields: Fields
    let content: [UInt8]

    var json: JSONValue? {
      do { return try JSONValue(parsing: content) } catch { return nil }
    }
    var code: String? { json?["code"]?.string }
    var id: String? { json?["id"]?.string }
    /// Names of the invalid members.
    var names: [String] { json?["fields"]?.array?.compactMap { $0["name"]?.string } ?? [] }
    /// Status and code, or only the status.
    var summary: String { code.map { "\(status) \($0)" } ?? "\(status)" }
  }

  /// Asks for a callback.
  func call(
    _ number: String = customerNumber, path: String = "/calls/callback", key: String? = nil,
    body: String? = nil, fields: Fields = credentials, type: String? = "application/json"
  ) async throws -> Answer {
    var fields = fields
    if let type { fields.append("Content-Type", type) }
    if let key { fields.append("Idempotency-Key", key) }
    let body = body ?? #"{"contact_phone_number":"\#(number)","context":{"issue":"help"}}"#
    let answer = try await service.ask(.post, path, fields, content: Array(body.utf8))
    return Answer(status: answer.status, fields: answer.fields, content: answer.content)
  }

  /// Sends a GET request.
  func look(_ path: String, _ fields: Fields = credentials) async throws -> Answer {
    let answer = try await service.ask(.get, path, fields)
    return Answer(status: answer.status, fields: answer.fields, content: answer.content)
  }

  /// Sends a request with a method and, if given, a JSON body.
  func send(
    _ method: HTTP.Method, _ path: String, _ body: String? = nil, fields: Fields = credentials,
    type: String? = "application/json"
  ) async throws -> Answer {
    var fields = fields
    if body != nil, let type { fields.append("Content-Type", type) }
    let answer = try await service.ask(method, path, fields, content: Array((body ?? "").utf8))
    return Answer(status: answer.status, fields: answer.fields, content: answer.content)
  }

  /// Makes the emulator misbehave.
  func fault(_ fault: JSONValue) async throws {
    try await service.tellTalkdesk(.post, "/_sandbox/faults", fault)
  }

  /// Waits until the emulator delays a response, then releases all delayed responses.
  func release() async throws { try await service.delays.release() }

  /// What the emulator saw.
  struct Journal: Sendable {
    let rings: [String: Int64]
    let arrivals: Int64
    let callbacks: [JSONValue]
  }

  func journal() async throws -> Journal {
    let seen = try await service.tellTalkdesk(.get, "/_sandbox/callbacks")
    var rings: [String: Int64] = [:]
    for member in seen["rings"]?.object?.members ?? [] { rings[member.name] = member.value.int }
    return Journal(
      rings: rings, arrivals: seen["arrivals"]?.int ?? -1, callbacks: seen["callbacks"]?.array ?? [])
  }

  /// Ends everything and returns the audit lines in order.
  func end() async throws -> [JSONValue] {
    try await service.end().filter { $0["log"]?.string == "audit" }
  }
}

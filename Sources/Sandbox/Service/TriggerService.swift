// The emulated webhook triggers: registrations, and the messages that they send about a call.

import HTTP
import JSON
import Platform
import Synchronization

/// `POST /webhooks/triggers/{name}`, `DELETE /webhooks/triggers/{name}/{id}`. A message is a text in which
/// each `{{name}}` is replaced with the call's value, without escaping.
struct TriggerService: Sendable {
  struct State: Sendable {
    fileprivate var registered: [Registration] = []

    /// The messages that the registrations of one trigger send about a call, and their URLs.
    func messages(of trigger: String, with event: JSONObject) -> [(url: String, content: [UInt8])] {
      registered.filter { $0.name == trigger }.map {
        ($0.url, Array(TriggerService.text($0.message, with: event).utf8))
      }
    }
  }

  fileprivate struct Registration: Sendable {
    let id: String
    let name: String
    let url: String
    let message: String
  }

  /// The names of the supported triggers.
  static let names = ["outboundCallEnds", "inboundCallEnds"]
  private static let prefix = "/webhooks/triggers/"
  private static let most = 100

  let issuer: EmulatedTokenIssuer

  /// Whether a path is a trigger's.
  static func owns(_ path: String) -> Bool { path.hasPrefix(prefix) }

  func act(_ call: Call, path: String, now: UnixTime, state: borrowing Mutex<EmulatorState>) -> Reply {
    guard let baseURL = state.withLock({ $0.baseURL }) else { return Self.error(.notFound, "not_found") }
    if let refusal = issuer.refusal(
      of: call, scope: EmulatorConfiguration.triggerScope, audience: baseURL, now: now)
    {
      return .json(refusal.status, refusal.content)
    }
    let parts = path.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    guard let name = parts.first.map(String.init), Self.names.contains(name) else {
      return Self.error(.notFound, "unknown_trigger")
    }
    return state.withLock { state in
      switch (call.method, parts.count) {
      case (.post, 1): return Self.add(name, call, &state.triggers)
      case (.delete, 2):
        let before = state.triggers.registered.count
        state.triggers.registered.removeAll { $0.name == name && $0.id == parts[1] }
        return state.triggers.registered.count < before
          ? Reply(.noContent) : Self.error(.notFound, "not_found")
      default: return Self.error(.methodNotAllowed, "method_not_allowed")
      }
    }
  }

  private static func add(_ name: String, _ call: Call, _ state: inout State) -> Reply {
    let body: JSONValue
    do { body = try JSONValue(parsing: call.content) } catch {
      return Self.error(.badRequest, "invalid_json")
    }
    guard let url = body["callbackurl"]?.string, url.hasPrefix("http://") || url.hasPrefix("https://"),
      let message = body["message"]?.string
    else { return Self.error(.badRequest, "invalid_trigger") }
    guard state.registered.count < most else { return Self.error(.tooManyRequests, "too_many") }
    let id = Identifier.random()
    state.registered.append(Registration(id: id, name: name, url: url, message: message))
    return .json(.created, (["id": .string(id)] as JSONObject).serialized())
  }

  /// Fills in a message with the values of a call. A placeholder for which the call has no value stays as it
  /// is.
  static func text(_ message: String, with event: JSONObject) -> String {
    let parts = message.split(separator: "{{", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(String(parts[0])) { text, part in
      let halves = part.split(separator: "}}", maxSplits: 1, omittingEmptySubsequences: false)
      let place = halves[0] == "interaction.type" ? "type" : String(halves[0])
      guard halves.count == 2, let value = event[place]?.string else { return text + "{{" + part }
      return text + value + halves[1]
    }
  }

  private static func error(_ status: Status, _ code: String) -> Reply {
    .json(status, TalkdeskError(status: status, code: code, message: status.reason).content)
  }
}

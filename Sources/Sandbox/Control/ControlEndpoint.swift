import HTTP
import JSON

/// `/_sandbox/`: what tests and demos ask the emulator to do, and to show. Pure: a call and the state in, a reply out.
enum ControlEndpoint {
  /// Where it stands.
  static let prefix = "/_sandbox/"

  /// Answers a call to a path that begins with `prefix`.
  static func answer(_ call: Call, path: String, state: inout EmulatorState) throws(ControlRefusal) -> Reply {
    switch path.dropFirst(prefix.count) {
    case "faults":
      switch try method(of: call, among: [.get, .post, .delete]) {
      case .post: return try post(call, &state.faults)
      case .delete: state.faults.removeAll()
      default: return json(list(state.faults))
      }
    case "exchanges":
      guard try method(of: call, among: [.get, .delete]) == .delete else {
        return json(state.journal.exchangesJSON)
      }
      state.journal.removeExchanges()
    case "callbacks":
      guard try method(of: call, among: [.get, .delete]) == .delete else {
        return json(state.journal.callbacksJSON)
      }
      state.journal.removeCallbacks()
    case "demo.js":
      _ = try method(of: call, among: [.get])
      return DemoClient.scriptReply
    case "demo.css":
      _ = try method(of: call, among: [.get])
      return DemoClient.styleReply
    default:
      throw ControlRefusal(status: .notFound, code: "not_found", detail: "The sandbox has nothing here.")
    }
    return Reply(.noContent, fields: ["Cache-Control": "no-store"])
  }

  private static func post(_ call: Call, _ faults: inout FaultQueue) throws(ControlRefusal) -> Reply {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: call.content)
    } catch {
      throw ControlRefusal(
        status: .badRequest, code: "invalid_json",
        detail: "The content is not valid JSON, at byte \(error.offset).")
    }
    let fault = try FaultParser.parse(value)
    guard faults.append(fault) else {
      throw ControlRefusal(
        status: .unprocessableContent, code: "invalid_request",
        detail: "\(FaultQueue.capacity) faults are waiting already.")
    }
    return .json(.created, fault.json.serialized(), fields: ["Cache-Control": "no-store"])
  }

  private static func list(_ faults: FaultQueue) -> JSONValue {
    var members = JSONObject()
    members.append("faults", .array(faults.waiting.map(\.json)))
    members.append("count", .number(JSONNumber(Int64(faults.waiting.count))))
    return .object(members)
  }

  private static func json(_ value: JSONValue) -> Reply {
    .json(.ok, value.serialized(), fields: ["Cache-Control": "no-store"])
  }

  /// The method if it is allowed, HEAD counting as GET. What changes something is refused to pages of other sites:
  /// they could otherwise reach a developer's loopback through the browser.
  private static func method(of call: Call, among allowed: [Method]) throws(ControlRefusal) -> Method {
    let method = call.method == .head ? .get : call.method
    guard allowed.contains(method) else {
      throw ControlRefusal(
        status: .methodNotAllowed, code: "method_not_allowed", detail: "This takes other methods.",
        allow: allowed)
    }
    guard method == .get || [nil, "none", "same-origin"].contains(call.fetchSite) else {
      throw ControlRefusal(
        status: .forbidden, code: "denied", detail: "Other sites may not change the sandbox.")
    }
    return method
  }
}

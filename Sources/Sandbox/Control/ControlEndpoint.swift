// The `/_sandbox/` endpoints, through which tests and demos control and inspect the emulator.

import HTTP
import JSON
import Platform

/// `/_sandbox/`: what tests and demos ask the emulator to do, and to show. Pure: a call and the state in, a reply out.
enum ControlEndpoint {
  /// The prefix of its paths.
  static let prefix = "/_sandbox/"
  /// Where an installation is approved, which only a gateway on the same port can do.
  static let approvalPath = prefix + "installations/approve"

  /// Answers a call to a path that begins with `prefix`.
  static func answer(
    _ call: Call, path: String, state: inout EmulatorState, clock: SandboxClock,
    forgetTokens: (@Sendable () -> Void)? = nil
  ) throws(ControlRefusal) -> Reply {
    try requireThisMachine(call)
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
    case "token":
      guard let forgetTokens else { throw noGateway }
      _ = try method(of: call, among: [.delete])
      forgetTokens()
    case "clock":
      switch try method(of: call, among: [.get, .post, .delete]) {
      case .post:
        let body = try ControlBody(call, members: ["offset_seconds"])
        let furthest = SandboxClock.furthest
        clock.offset = try body.integer("offset_seconds", within: -furthest...furthest)
        return json(show(clock))
      case .delete: clock.offset = 0
      default: return json(show(clock))
      }
    case "keys":
      if try method(of: call, among: [.get, .post]) == .post {
        let body = try ControlBody(call, members: ["key_id", "accepted"])
        let id = try body.text("key_id", among: state.keyIDs)
        if try body.flag("accepted") { state.retiredKeys.remove(id) } else { state.retiredKeys.insert(id) }
      }
      return json(show(state.keyIDs, retired: state.retiredKeys))
    case "demo.js":
      _ = try method(of: call, among: [.get])
      return DemoClient.scriptReply
    case "demo.css":
      _ = try method(of: call, among: [.get])
      return DemoClient.styleReply
    default:
      throw ControlRefusal(
        status: .notFound, code: "not_found", detail: "The sandbox has no endpoint at this path.")
    }
    return Reply(.noContent, fields: ["Cache-Control": "no-store"])
  }

  /// What answers a request to approve an installation, if the request may be answered.
  static func admitApproval<Approve>(_ call: Call, _ approve: Approve?) throws(ControlRefusal) -> Approve {
    try requireThisMachine(call)
    guard let approve else { throw noGateway }
    _ = try method(of: call, among: [.post])
    return approve
  }

  /// What was seen and what is to go wrong is no business of a site whose name was made to point here.
  private static func requireThisMachine(_ call: Call) throws(ControlRefusal) {
    guard call.meansThisMachine else {
      throw ControlRefusal(
        status: .forbidden, code: "denied",
        detail: "Use the sandbox's IP address or localhost; from beyond this machine also a name in .local.")
    }
  }

  private static var noGateway: ControlRefusal {
    ControlRefusal(
      status: .notFound, code: "not_found",
      detail: "Callgate does not run on this port. Use the port of serve --sandbox.")
  }

  private static func post(_ call: Call, _ faults: inout FaultQueue) throws(ControlRefusal) -> Reply {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: call.content)
    } catch {
      throw .invalidJSON(at: error.offset)
    }
    let fault = try FaultParser.parse(value)
    guard faults.append(fault) else {
      throw ControlRefusal(
        status: .unprocessableContent, code: "invalid_request",
        detail: "\(FaultQueue.capacity) faults are waiting already. Delete some first.")
    }
    return .json(.created, fault.json.serialized(), fields: ["Cache-Control": "no-store"])
  }

  private static func show(_ clock: SandboxClock) -> JSONValue {
    ["offset_seconds": .number(JSONNumber(clock.offset)), "time": .string(clock.unixTime.rfc3339)]
  }

  private static func show(_ keys: [String], retired: Set<String>) -> JSONValue {
    ["keys": .array(keys.map { ["key_id": .string($0), "accepted": .bool(!retired.contains($0))] })]
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
        status: .methodNotAllowed, code: "method_not_allowed",
        detail: "This path does not support the method. Use one in Allow.",
        allow: allowed)
    }
    guard method == .get || [nil, "none", "same-origin"].contains(call.fetchSite) else {
      throw ControlRefusal(
        status: .forbidden, code: "denied", detail: "Other sites may not change the sandbox.")
    }
    return method
  }
}

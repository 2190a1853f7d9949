// The `/_sandbox/` endpoints, through which tests and demos control and inspect the emulator.

import HTTP
import JOSE
import JSON
import Platform

/// The `/_sandbox/` endpoints, through which tests and demos control the emulator and the gateway on its
/// port.
enum ControlEndpoint {
  /// The prefix of the endpoints' paths.
  static let prefix = "/_sandbox/"
  /// The path for approving an installation. Only a gateway on the same port can do that.
  static let approvalPath = prefix + "installations/approve"

  /// Answers a call to a path under `prefix`, except for paths that `Emulator` handles: outcomes, approvals,
  /// the webhook receiver and the demo page.
  ///
  /// - Parameter gateway: The gateway on the same port; nil if the emulator runs alone.
  static func answer(
    _ call: Call, path: String, state: inout EmulatorState, clock: SandboxClock, gateway: GatewayLink? = nil,
    attesters: Attesters
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
    case "notices":
      guard try method(of: call, among: [.get, .delete]) == .delete else {
        return json(state.journal.noticesJSON)
      }
      state.journal.removeNotices()
    case "sessions":
      guard try method(of: call, among: [.get, .delete]) == .delete else {
        return json(state.journal.sessionsJSON(users: state.users.count))
      }
      state.journal.removeSessions()
    case "tickets":
      guard try method(of: call, among: [.get, .delete]) == .delete else {
        return json(DeskService.journal(state.desk))
      }
      (state.desk.tickets, state.desk.count, state.desk.arrivals) = ([], 0, 0)
    case "token":
      guard let gateway else { throw noGateway }
      _ = try method(of: call, among: [.delete])
      gateway.forgetTokens()
    case "pauses":
      guard let gateway else { throw noGateway }
      guard try method(of: call, among: [.get, .delete]) == .delete else { return json(pauses(gateway)) }
      gateway.endPauses()
    case "operator":
      _ = try method(of: call, among: [.get])
      return json(["admin_token": gateway?.adminToken.map { .string($0.exposedString()) } ?? .null])
    case "attest":
      _ = try method(of: call, among: [.post])
      return json(try attest(call, attesters, clock, gateway))
    case "number-proof":
      _ = try method(of: call, among: [.post])
      return json(try proveNumber(call, attesters, clock, gateway))
    case "jwt":
      _ = try method(of: call, among: [.post])
      return try jwt(call, gateway)
    case "clock":
      switch try method(of: call, among: [.get, .post, .delete]) {
      case .post:
        try move(clock, gateway, ControlBody(call, members: ["offset_seconds"], optional: ["everything"]))
        return json(show(clock, gateway))
      case .delete:
        gateway?.setClock(ahead: 0)
        clock.offset = 0
      default: return json(show(clock, gateway))
      }
    case "agents":
      if try method(of: call, among: [.get, .post]) == .post {
        state.live.available = try ControlBody(call, members: ["available"]).integer(
          "available", within: 0...1_000_000)
      }
      return json(["available": .number(JSONNumber(state.live.available))])
    case "reports":
      if try method(of: call, among: [.get, .post]) == .post {
        state.reports.isOld =
          try ControlBody(call, members: ["form"]).text("form", among: ReportService.forms)
          == ReportService.forms[1]
      }
      return json(["form": .string(ReportService.forms[state.reports.isOld ? 1 : 0])])
    case "keys":
      if try method(of: call, among: [.get, .post]) == .post {
        let body = try ControlBody(call, members: ["key_id", "accepted"])
        let id = try body.text("key_id", among: state.keyIDs)
        if try body.flag("accepted") { state.retiredKeys.remove(id) } else { state.retiredKeys.insert(id) }
      }
      return json(show(state.keyIDs, retired: state.retiredKeys))
    default:
      throw ControlRefusal(
        status: .notFound, code: "not_found", detail: "The sandbox has no endpoint at this path.")
    }
    return Reply(.noContent, fields: ["Cache-Control": "no-store"])
  }

  /// Checks a request to approve an installation, and returns the gateway that handles it.
  static func admitApproval(_ call: Call, at gateway: GatewayLink?) throws(ControlRefusal) -> GatewayLink {
    try requireThisMachine(call)
    guard let gateway else { throw noGateway }
    _ = try method(of: call, among: [.post])
    return gateway
  }

  /// Checks a request to report a call's outcome, and reads it.
  static func admitOutcome(_ call: Call) throws(ControlRefusal) -> CallToDial {
    try requireThisMachine(call)
    _ = try method(of: call, among: [.post])
    return try CallToDial(call)
  }

  /// The refusal of a request about a callback that the emulator does not know.
  static var noCallback: ControlRefusal {
    ControlRefusal(
      status: .notFound, code: "not_found", detail: "The sandbox has called for no callback with this id.")
  }

  /// Prevents DNS rebinding: a website whose name resolves to this machine must neither read requests nor set
  /// faults.
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

  /// Sets the emulator's clock, which the gateway's scheduler shares. With `everything`, sets the gateway's
  /// clock too.
  private static func move(_ clock: SandboxClock, _ gateway: GatewayLink?, _ body: ControlBody)
    throws(ControlRefusal)
  {
    guard try body.flag("everything", default: false) else {
      let furthest = SandboxClock.furthestAlone
      clock.offset = try body.integer("offset_seconds", within: -furthest...furthest)
      return
    }
    guard let gateway else { throw noGateway }
    let furthest = SandboxClock.furthestTogether
    let offset = try body.integer("offset_seconds", within: -furthest...furthest)
    // The gateway first, so that the scheduler checks due appointments at the new time.
    gateway.setClock(ahead: offset)
    clock.offset = offset
  }

  /// The upstreams to which the gateway has paused requests, each with the end of its pause by the gateway's
  /// clock.
  private static func pauses(_ gateway: GatewayLink) -> JSONValue {
    let now = gateway.clock.unixTime
    return .array(
      gateway.pauses().map { pause in
        let end = now.advanced(bySeconds: Int64(pause.remaining.wholeSecondsRoundedUp))
        return ["of": .string(pause.of), "until": .string(end.rfc3339)]
      })
  }

  /// Makes a user's JWT that the gateway accepts.
  private static func jwt(_ call: Call, _ gateway: GatewayLink?) throws(ControlRefusal) -> Reply {
    guard let gateway, let users = gateway.users else { throw noGateway }
    let body = try ControlBody(call, members: ["sub"], optional: ["claims"])
    let subject = try body.text("sub")
    guard JWTClaims.isSubject(subject) else {
      throw body.refusal("sub", "must have 1 to 255 bytes and no control character")
    }
    let jwt = users.jwt(
      subject: subject, claims: try body.object("claims", without: SandboxUsers.ownClaims),
      now: gateway.clock.unixTime.seconds)
    return json(["jwt": .string(jwt)])
  }

  private static func show(_ clock: SandboxClock, _ gateway: GatewayLink?) -> JSONValue {
    var members: JSONObject = [
      "offset_seconds": .number(JSONNumber(clock.offset)), "time": .string(clock.unixTime.rfc3339),
    ]
    if let gateway {
      members["gateway_offset_seconds"] = .number(JSONNumber(gateway.clock.offset))
      members["gateway_time"] = .string(gateway.clock.unixTime.rfc3339)
    }
    return .object(members)
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

  /// The method, if it is allowed; HEAD counts as GET. Pages of other sites may only link here. Otherwise
  /// they could reach a developer's loopback through the browser.
  private static func method(of call: Call, among allowed: [Method]) throws(ControlRefusal) -> Method {
    let method = call.method == .head ? .get : call.method
    guard allowed.contains(method) else {
      throw ControlRefusal(
        status: .methodNotAllowed, code: "method_not_allowed",
        detail: "This path does not support the method. Use one in Allow.",
        allow: allowed)
    }
    guard method == .get ? !call.hasForeignOrigin : !call.isOfForeignPage else {
      throw ControlRefusal(
        status: .forbidden, code: "denied", detail: "Pages of other sites may only link to the sandbox.")
    }
    return method
  }
}

// Reads a fault from JSON. Refuses combinations in which a part would have no effect.

import JSON

/// Reads a posted fault. Checks every member, refuses unknown ones, and reports all problems at once. If the
/// emulator ignored part of a fault, a test could pass that should fail.
struct FaultParser {
  /// The longest accepted delay, in milliseconds: ten minutes.
  static let maximumDelay: Int64 = 600_000
  /// The maximum number of requests that one fault can affect.
  static let maximumTimes: Int64 = 1_000_000
  /// The longest accepted text in `retry_after`, in bytes.
  static let maximumRetryAfterLength = 128
  /// The range of an `expires_in` that also moves the token's `exp`, in seconds before or after now: a
  /// hundred years. A number outside is sent in the response, but the token keeps its usual lifetime.
  static let maximumExpiresIn: Int64 = 3_155_760_000

  private static let members = [
    "endpoint", "status", "delay_ms", "times", "retry_after", "body", "drop", "expires_in",
    "strict_clock",
  ]

  private var problems: [TalkdeskError.Field] = []

  /// Reads a fault. Null counts as left out, except for `expires_in`: there it means a response without that
  /// member.
  static func parse(_ value: JSONValue) throws(ControlRefusal) -> Fault {
    guard let object = value.object else {
      throw .invalid([TalkdeskError.Field(name: "", description: "a fault is a JSON object")])
    }
    var parser = FaultParser()
    let fault = parser.fault(object)
    guard let fault, parser.problems.isEmpty else { throw .invalid(parser.problems) }
    return fault
  }

  private mutating func fault(_ object: JSONObject) -> Fault? {
    for member in object.members where !Self.members.contains(member.name) {
      problem(member.name, "is not a member of a fault")
    }
    let endpoint: Fault.Endpoint? = choice("endpoint", in: object)
    if object["endpoint"] == nil {
      problem(
        "endpoint", "is missing; it is token, callback, fcm, hook, sendbird, desk, validation or do_not_call")
    }
    var fault = Fault(endpoint: endpoint ?? .token)
    fault.times = Int(integer("times", in: object, within: 1...Self.maximumTimes) ?? 1)
    fault.status = integer("status", in: object, within: 200...599).map { Int($0) }
    fault.delay = integer("delay_ms", in: object, within: 0...Self.maximumDelay) ?? 0
    fault.retryAfter = retryAfter(in: object)
    fault.drop = choice("drop", in: object)
    fault.body = body(in: object)
    fault.expiresIn = expiresIn(in: object)
    fault.hasStrictClock = flag("strict_clock", in: object)
    checkTogether(fault, hasEndpoint: endpoint != nil)
    return endpoint == nil ? nil : fault
  }

  /// Refuses combinations in which a part would have no effect.
  private mutating func checkTogether(_ fault: Fault, hasEndpoint: Bool) {
    let leavesNoAnswer = fault.drop == .before || fault.drop == .after
    if leavesNoAnswer && (fault.status != nil || fault.body != nil || fault.retryAfter != nil) {
      problem("drop", "sends no response: leave out status, body and retry_after")
    }
    if fault.drop == .during, fault.body == .text("") || [204, 205, 304].contains(fault.status) {
      problem("drop", "cuts off the body: choose a response with a body")
    }
    if hasEndpoint && fault.endpoint != .token && fault.expiresIn != nil {
      problem("expires_in", "belongs to the token endpoint")
    }
    if fault.hasStrictClock && ((hasEndpoint && fault.endpoint != .token) || fault.preventsAction) {
      problem("strict_clock", "belongs to the token endpoint, without a status of 300 or more or drop before")
    }
    if let status = fault.status, [204, 205, 304].contains(status), let body = fault.body, body != .text("") {
      problem("body", "is not possible with a status without a body")
    }
    if fault.expiresIn != nil && (fault.body != nil || fault.preventsAction) {
      problem("expires_in", "has no effect with a body, a status of 300 or more, or drop before")
    }
  }

  private mutating func problem(_ name: String, _ description: String) {
    problems.append(TalkdeskError.Field(name: name, description: description))
  }

  private func given(_ name: String, in object: JSONObject) -> JSONValue? {
    object[name].flatMap { $0 == .null ? nil : $0 }
  }

  private mutating func integer(_ name: String, in object: JSONObject, within range: ClosedRange<Int64>)
    -> Int64?
  {
    guard let value = given(name, in: object) else { return nil }
    guard let integer = value.int(in: range) else {
      problem(name, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return integer
  }

  private mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, in object: JSONObject
  ) -> Choice? where Choice.RawValue == String {
    guard let value = given(name, in: object) else { return nil }
    guard let choice = value.string.flatMap(Choice.init(rawValue:)) else {
      problem(name, "is not \(Choice.allCases.map(\.rawValue).joined(separator: " or "))")
      return nil
    }
    return choice
  }

  private mutating func flag(_ name: String, in object: JSONObject) -> Bool {
    switch given(name, in: object) {
    case .bool(let value): return value
    case nil: return false
    default:
      problem(name, "is neither true nor false")
      return false
    }
  }

  private mutating func retryAfter(in object: JSONObject) -> String? {
    guard let value = given("retry_after", in: object) else { return nil }
    if let seconds = value.int(in: 0...(.max)) { return String(seconds) }
    // A string is sent unchanged, so that tests can try dates and nonsense. It must still be a single field
    // value.
    let text = value.string.map { Array($0.utf8) } ?? []
    guard let first = text.first, let last = text.last, text.count <= Self.maximumRetryAfterLength,
      first != 0x20, last != 0x20, text.allSatisfy({ (0x20...0x7E).contains($0) })
    else {
      problem(
        "retry_after",
        "is neither a whole number of seconds nor up to \(Self.maximumRetryAfterLength) ASCII characters")
      return nil
    }
    return String(decoding: text, as: UTF8.self)
  }

  private func body(in object: JSONObject) -> Fault.Body? {
    guard let value = given("body", in: object) else { return nil }
    return value.string.map { .text($0) } ?? .value(value)
  }

  private mutating func expiresIn(in object: JSONObject) -> Fault.ExpiresIn? {
    switch object["expires_in"] {
    case nil: return nil
    case .null: return .leftOut
    case .string(let text): return .verbatim(.string(text))
    case .number(let number):
      let range = -Self.maximumExpiresIn...Self.maximumExpiresIn
      return JSONValue.number(number).int(in: range).map { .seconds($0) } ?? .verbatim(.number(number))
    default:
      problem("expires_in", "is neither a number, a string nor null")
      return nil
    }
  }
}

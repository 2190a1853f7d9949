// Reads the small JSON bodies of requests to `/_sandbox/` paths, such as `agents`, `attest` and `clock`.

import JSON

/// The body of a control request: one JSON object with known members only.
struct ControlBody {
  private let object: JSONObject

  /// - Parameters:
  ///   - members: Required members.
  ///   - optional: Optional members.
  init(_ call: Call, members: [String], optional: [String] = []) throws(ControlRefusal) {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: call.content)
    } catch {
      throw ControlRefusal.invalidJSON(at: error.offset)
    }
    guard let object = value.object else {
      throw .invalid("The body is not valid.", [.init(name: "", description: "is not a JSON object")])
    }
    let problems =
      object.members.filter { !(members + optional).contains($0.name) }.map {
        TalkdeskError.Field(name: $0.name, description: "is not a known member")
      }
      + members.filter { object[$0] == nil }.map {
        TalkdeskError.Field(name: $0, description: "is missing")
      }
    guard problems.isEmpty else { throw .invalid("The body is not valid.", problems) }
    self.object = object
  }

  func integer(_ name: String, within range: ClosedRange<Int64>) throws(ControlRefusal) -> Int64 {
    guard let value = object[name]?.int(in: range) else {
      throw refusal(name, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// Whether the body has a member.
  func has(_ name: String) -> Bool { object[name] != nil }

  func text(_ name: String, among known: [String]) throws(ControlRefusal) -> String {
    guard let value = object[name]?.string, known.contains(value) else {
      throw refusal(name, "is not one of \(known.joined(separator: ", "))")
    }
    return value
  }

  func text(_ name: String) throws(ControlRefusal) -> String {
    guard let value = object[name]?.string else { throw refusal(name, "is not a string") }
    return value
  }

  /// Reads an object; empty if it is absent.
  ///
  /// - Parameter refused: Members that the object must not have.
  func object(_ name: String, without refused: [String]) throws(ControlRefusal) -> JSONObject {
    guard let value = object[name] else { return JSONObject() }
    guard let members = value.object else { throw refusal(name, "is not a JSON object") }
    for member in refused where members[member] != nil {
      throw refusal("\(name).\(member)", "is the sandbox's own; leave it out")
    }
    return members
  }

  /// - Parameter default: The value of an absent member.
  func flag(_ name: String, default: Bool? = nil) throws(ControlRefusal) -> Bool {
    switch (object[name], `default`) {
    case (.bool(let value), _): return value
    case (nil, let value?): return value
    default: throw refusal(name, "is neither true nor false")
    }
  }

  /// A refusal that says what is wrong with one member.
  func refusal(_ name: String, _ description: String) -> ControlRefusal {
    .invalid("The body is not valid.", [.init(name: name, description: description)])
  }
}

// Collects the problems in a callback body, so that one response can name several.

import HTTP
import JSON

/// The problems in a body: first those of its shape, then its invalid values.
struct Findings {
  private var shapes: [TalkdeskError.Field] = []
  private var values: [TalkdeskError.Field] = []

  /// Records that the body's shape differs from the documented one.
  mutating func shape(_ name: String, _ description: String) {
    shapes.append(TalkdeskError.Field(name: name, description: description))
  }

  /// Records an invalid value of the right type.
  mutating func value(_ name: String, _ description: String) {
    values.append(TalkdeskError.Field(name: name, description: description))
  }

  /// Records each unknown member as a problem of the shape.
  mutating func refuseUnknown(in object: JSONObject, known: [String], prefix: String) {
    for member in object.members where !known.contains(member.name) {
      shape(prefix + member.name, "is unknown")
    }
  }

  /// Reads a required string. If there is none, records the problem and returns nil.
  mutating func string(_ name: String, in object: JSONObject, prefix: String) -> String? {
    guard let value = object[name] else {
      shape(prefix + name, "is missing")
      return nil
    }
    guard let string = value.string else {
      shape(prefix + name, "is not a string")
      return nil
    }
    return string
  }

  /// Throws all problems of the shape, if there are any, or else all invalid values. Values in a wrong shape
  /// mean little.
  func throwIfAny() throws(TalkdeskError) {
    if !shapes.isEmpty {
      throw TalkdeskError(
        status: .badRequest, code: "malformed_body", message: "The body is not valid for this operation",
        fields: shapes)
    }
    if !values.isEmpty {
      throw TalkdeskError(
        status: .unprocessableContent, code: "invalid_body",
        message: "The body has invalid values",
        fields: values)
    }
  }
}

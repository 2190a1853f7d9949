// Numbers at and beyond the edges of what integers and doubles hold, for every reader of what others write.

import JSON

/// Numbers that a stranger may write, and documents full of them.
public enum StrangeNumbers {
  /// JSON numbers: the ends of 64 and 53 bits with their neighbours, and what no integer or no double holds.
  public static let texts = [
    "-9223372036854775808", "-9223372036854775807", "-9223372036854775809", "-9223370000000000000", "-1",
    "-0", "0",
    "1", "9007199254740993", "253402300800000", "9223372036854775806", "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616", "-99999999999999999999", "1e400", "-1e400", "1e-400", "1e18", "-1.5", "0.5",
  ]

  /// All documents that a document becomes when one of its values, or the value of one more member, is a strange number,
  /// as a number and as a string.
  ///
  /// - Parameter more: Names of members that readers know and the document does not have.
  public static func documents(like text: String, more: [String] = []) throws -> [String] {
    var value = try JSONValue(parsing: Array(text.utf8))
    if case .object(var object) = value {
      for name in more where object[name] == nil { object.append(name, .null) }
      value = .object(object)
    }
    let strange = try texts.flatMap { [try JSONValue(parsing: Array($0.utf8)), .string($0)] }
    return variants(of: value, strange).map { String(decoding: $0.serialized(), as: UTF8.self) }
  }

  private static func variants(of value: JSONValue, _ strange: [JSONValue]) -> [JSONValue] {
    switch value {
    case .object(let object):
      object.members.flatMap { member in
        variants(of: member.value, strange).map { variant in
          var changed = JSONObject()
          for other in object.members {
            changed.append(other.name, other.name == member.name ? variant : other.value)
          }
          return .object(changed)
        }
      } + strange
    case .array(let elements):
      elements.indices.flatMap { index in
        variants(of: elements[index], strange).map { variant in
          var changed = elements
          changed[index] = variant
          return .array(changed)
        }
      } + strange
    default: strange
    }
  }
}

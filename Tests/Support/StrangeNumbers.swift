// Numbers at and beyond the limits of integers and doubles, for tests of every parser of untrusted numbers.

import JSON

/// Numbers that a client may send, and documents that contain them.
public enum StrangeNumbers {
  /// JSON numbers: the limits of 64 and 53 bits with their neighbors, and values that no integer or no double
  /// can represent.
  public static let texts = [
    "-9223372036854775808", "-9223372036854775807", "-9223372036854775809", "-9223370000000000000", "-1",
    "-0", "0",
    "1", "9007199254740993", "253402300800000", "9223372036854775806", "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616", "-99999999999999999999", "1e400", "-1e400", "1e-400", "1e18", "-1.5", "0.5",
  ]

  /// Every document that results from replacing one value, or the value of one added member, with a strange
  /// number, once as a number and once as a string.
  ///
  /// - Parameter more: names of members that the parser accepts and the document lacks.
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

// Reads text members from a request's body, and collects the problems in them.

package import API
import JOSE
package import JSON

/// Reads text members from an object, and collects the problems in them.
package struct MemberReader {
  private let object: JSONObject
  /// The path of the object in the body, with a full stop; empty for the body itself.
  private let prefix: String
  private var known: [String] = []
  /// The problems found so far.
  package var problems: FieldProblems

  /// Creates a reader of an object.
  package init(_ object: JSONObject, _ problems: FieldProblems, prefix: String = "") {
    self.object = object
    self.prefix = prefix
    self.problems = problems
  }

  /// Returns a reader of a member that is an object. Nil if the member is absent or null, or if it is not an
  /// object, which is added to the problems. Copy the other reader's problems back:
  /// `problems = other.problems`.
  mutating func members(_ name: String) -> MemberReader? {
    known.append(name)
    guard let value = object[name], value != .null else { return nil }
    guard let members = value.object else {
      problems.add(prefix + name, "This is \(value.kindName); give an object.")
      return nil
    }
    return MemberReader(members, problems, prefix: prefix + name + ".")
  }

  /// The maximum size of a body whose members are all short, in bytes.
  package static let mostBytes = 4096

  /// Creates a reader of a JSON body of at most `limit` bytes.
  ///
  /// - Parameter members: The required members, in words, for the problem.
  /// - Throws: `content_too_large`, `invalid_json`, or `invalid_request` if the body is not an object.
  package init(
    parsing content: [UInt8], of members: String, _ problems: FieldProblems = FieldProblems(),
    atMost limit: Int = MemberReader.mostBytes
  ) throws(Problem) {
    try Self.checkLength(content, atMost: limit)
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(parsing: content, limits: JSONLimits(bytes: limit, depth: 8))
    } catch {
      throw Problem(.invalidJSON, "The body is not valid JSON: \(error).")
    }
    guard let object = value.object else {
      throw Problem(.invalidRequest, "The body is \(value.kindName). Send an object with \(members).")
    }
    self.init(object, problems)
  }

  /// Refuses a body with more than `limit` bytes.
  package static func checkLength(_ content: [UInt8], atMost limit: Int) throws(Problem) {
    guard content.count <= limit else {
      throw .contentTooLarge(limit)
    }
  }

  /// A member's text; nil if the member is absent, null or not a string.
  package mutating func value(_ name: String, required remedy: String? = nil) -> String? {
    known.append(name)
    guard let value = object[name], value != .null else {
      if let remedy { problems.add(prefix + name, remedy) }
      return nil
    }
    return problems.string(name, in: object, prefix: prefix)
  }

  /// A member's bytes, decoded from Base64 or base64url, with or without padding; nil if the member is absent
  /// or does not decode.
  mutating func base64(_ name: String, required remedy: String) -> [UInt8]? {
    guard let text = value(name, required: remedy) else { return nil }
    var digits = Array(text.utf8)
    if digits.count.isMultiple(of: 4) {
      for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    }
    if digits.contains(UInt8(ascii: "+")) || digits.contains(UInt8(ascii: "/")) {
      digits += [UInt8](repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
      if let bytes = Base64.decode(digits.span) { return bytes }
    } else if let bytes = Base64URL.decode(digits.span) {
      return bytes
    }
    problems.add(prefix + name, "This is not Base64.")
    return nil
  }

  /// Adds a problem if a text is empty, too long, or contains control characters or marks of the text's
  /// direction.
  package mutating func check(_ text: String?, _ name: String, atMost length: Int) {
    guard let text else { return }
    let scalars = text.unicodeScalars
    if !(1...length).contains(scalars.count) {
      problems.add(name, "Give 1 to \(length) characters.")
    } else if scalars.contains(where: { CallbackLimits.isControl($0) || $0.isBidirectionalFormat }) {
      problems.add(name, "Leave out control characters and marks of the text's direction.")
    }
  }

  /// Adds a problem for every member that was not read.
  package mutating func refuseOthers() { problems.refuseUnknown(in: object, known: known, prefix: prefix) }
}

extension Unicode.Scalar {
  /// Whether the character changes the direction of the text around it, which could make one name look like
  /// another (UAX #9).
  fileprivate var isBidirectionalFormat: Bool {
    switch value {
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

// Collects every problem in a request's body, so that one response can name them all.

import Documents
package import JSON
import Texts

/// The mistakes in a request's body, collected so that one response names them all. It never contains a value
/// of the body.
package struct FieldProblems {
  package private(set) var fields: [Problem.FieldProblem] = []

  package init() {}

  package mutating func add(_ path: String, _ description: String) {
    add(.init(name: path, description: description))
  }

  /// Adds a mistake, unless there are `CallbackLimits.problems` already. One more entry then says that there
  /// are others.
  package mutating func add(_ mistake: Problem.FieldProblem) {
    guard fields.count <= CallbackLimits.problems else { return }
    if fields.count == CallbackLimits.problems {
      return fields.append(.init(name: "", description: "There are more mistakes. Fix these first."))
    }
    fields.append(mistake)
  }

  /// Throws a problem if there is any mistake.
  package func throwIfAny() throws(Problem) {
    if !fields.isEmpty { throw .invalid(fields) }
  }

  /// A member's name from outside, as a path may show it: at most 64 characters, with `?` for controls. Of a
  /// run of seven or more digits only the last two are shown, because it may be a phone number.
  package static func shown(_ name: String) -> String {
    var scalars = name.unicodeScalars.prefix(64).map { CallbackLimits.isControl($0) ? "?" : $0 }
    var start: Int?
    for index in 0...scalars.count {
      if index < scalars.count, ("0"..."9").contains(scalars[index]) {
        start = start ?? index
      } else if let from = start {
        if index - from >= 7 { for place in from..<index - 2 { scalars[place] = "*" } }
        start = nil
      }
    }
    var shown = String.UnicodeScalarView(scalars)
    if name.unicodeScalars.count > 64 { shown.append("…") }
    return String(shown)
  }
}

extension FieldProblems {
  /// Adds a mistake for every unknown member, with the name that was probably meant.
  package mutating func refuseUnknown(in object: JSONObject, known: [String], prefix: String) {
    var absent = known.filter { object[$0] == nil }
    for member in object.members where !known.contains(where: { $0.hasSameBytes(as: member.name) }) {
      guard fields.count <= CallbackLimits.problems else { return }
      let meant = Self.meant(by: member.name, among: absent)
      absent.removeAll { $0 == meant }
      add(
        prefix + Self.shown(member.name),
        "This member is unknown. "
          + (member.name.firstUnseen.map { "It contains \($0.unseenName). " } ?? "")
          + (meant.map { "Did you mean \($0)?" } ?? "Leave it out."))
    }
  }

  /// The known name that a name misspells, or that has all words of the name: `contact_phone_number` for
  /// `phone`.
  private static func meant(by name: String, among known: [String]) -> String? {
    guard name.utf8.count <= 64 else { return nil }
    func words(_ name: String) -> [ArraySlice<UInt8>] {
      Array(name.utf8).split(separator: UInt8(ascii: "_"))
    }
    let written = words(name)
    return Spelling.nearest(to: name, among: known)
      ?? known.first { !written.isEmpty && written.allSatisfy(words($0).contains) }
  }

  /// A member's string; nil if the member is missing or is not a string. Adds a mistake only if it is not a
  /// string.
  package mutating func string(_ name: String, in object: JSONObject, prefix: String = "") -> String? {
    guard let value = object[name] else { return nil }
    guard let text = value.string else {
      add(prefix + name, "This is \(value.kindName); give a string.")
      return nil
    }
    return text
  }
}

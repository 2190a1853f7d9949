// A JSON object: its members in their order, each name once.

import Texts

/// The members of a JSON object in the order in which they were written, each name once.
///
/// Names compare by their UTF-8 bytes. A lookup compares the members one by one, because objects are small:
/// the parser limits their number.
public struct JSONObject: Sendable {
  public private(set) var members: [(name: String, value: JSONValue)]

  public init() { members = [] }

  public var count: Int { members.count }

  public var isEmpty: Bool { members.isEmpty }

  /// The value of a name. Setting replaces it at its index or adds it at the end; setting nil removes it.
  public subscript(_ name: String) -> JSONValue? {
    get { index(of: name).map { members[$0].value } }
    set {
      if let newValue {
        append(name, newValue)
      } else if let index = index(of: name) {
        members.remove(at: index)
      }
    }
  }

  /// Adds a member at the end. An existing member of that name is replaced at its index, so that no name
  /// occurs twice.
  public mutating func append(_ name: String, _ value: JSONValue) {
    if let index = index(of: name) {
      members[index].value = value
    } else {
      members.append((name, value))
    }
  }

  /// Adds a member whose name the caller has found to be new.
  package mutating func appendUnchecked(_ name: String, _ value: JSONValue) { members.append((name, value)) }

  private func index(of name: String) -> Int? {
    members.firstIndex { $0.name.hasSameBytes(as: name) }
  }
}

extension JSONObject: Hashable {
  /// Whether both have the same names with equal values, in any order.
  public static func == (a: JSONObject, b: JSONObject) -> Bool {
    guard a.count == b.count else { return false }
    for (index, member) in a.members.enumerated() {
      // The same order is the common case; only another order costs a search.
      let twin = b.members[index]
      if twin.name.hasSameBytes(as: member.name) {
        guard twin.value == member.value else { return false }
      } else {
        guard b[member.name] == member.value else { return false }
      }
    }
    return true
  }

  public func hash(into hasher: inout Hasher) {
    // A sum does not depend on the order.
    var sum = 0
    for (name, value) in members {
      var one = Hasher()
      name.hashBytes(into: &one)
      one.combine(value)
      sum &+= one.finalize()
    }
    hasher.combine(sum)
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(literal: elements) }

  init(literal elements: [(String, JSONValue)]) {
    self.init()
    members.reserveCapacity(elements.count)
    for (name, value) in elements {
      precondition(self[name] == nil, "the member \(name) stands twice in this literal")
      appendUnchecked(name, value)
    }
  }
}

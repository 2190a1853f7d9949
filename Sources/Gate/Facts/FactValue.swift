// Values of token claims and of remote policies, in the types of JSON but independent of the JSON module.

public import Texts

/// A JSON value, independent of any JSON library.
public enum FactValue: Sendable {
  case null
  case bool(Bool)
  /// A number as its text, so that nothing is rounded.
  case number(String)
  case string(String)
  case array([FactValue])
  case object([FactMember])

  /// The value of the object's member with a name; nil if there is none, or if this is not an object.
  public subscript(name: String) -> FactValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name.hasSameBytes(as: name) }?.value
  }
}

extension FactValue: Hashable {
  /// Texts are compared by their octets.
  public static func == (a: FactValue, b: FactValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)), (.string(let a), .string(let b)): a.hasSameBytes(as: b)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }
}

/// A member of an object.
public struct FactMember: Hashable, Sendable {
  @Exact public var name: String
  public var value: FactValue

  public init(_ name: String, _ value: FactValue) {
    self.name = name
    self.value = value
  }
}

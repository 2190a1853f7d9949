// What a field of the request has to say.

/// A field of the request as the rules see it.
public struct RequestField: Hashable, Sendable {
  /// The field's name in lower case.
  public var name: String
  /// Its value, without surrounding white space.
  public var value: String

  /// Names a value; the name is put into lower case.
  public init(name: String, value: String) {
    self.name = name.lowercased()
    self.value = value
  }

  /// Names a value by a name that is in lower case already, as `Policy.fieldNames` has them.
  public init(lowercaseName name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// A requirement on a field of the request. A missing field, and one that stands there twice, is denied.
public struct FieldRule: Sendable {
  /// What the value has to be.
  public enum Requirement: Hashable, Sendable {
    /// Exactly this.
    case equals(String)
    /// One of these.
    case oneOf([String])
    /// A version of dotted numbers that is this or a later one; anything else is denied.
    case atLeast(String)
  }

  /// The field's name in lower case.
  public let field: String
  private let requirement: Requirement

  /// A rule for a field. Throws for a name that no field can have, no values, or a malformed version.
  public init(field: String, requirement: Requirement) throws(RuleError) {
    let token = field.utf8.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || "!#$%&'*+-.^_`|~".utf8.contains($0)
    }
    guard !field.isEmpty, token else {
      throw RuleError(
        key: "field", problem: "\(quoted(field)) is not the name of a field",
        remedy: "give a field's name, such as \"X-App-Version\"")
    }
    switch requirement {
    case .equals: break
    case .oneOf(let values):
      guard !values.isEmpty else {
        throw RuleError(
          key: "in", problem: "no value is accepted, so the rule would deny everyone",
          remedy: "list the accepted values")
      }
    case .atLeast(let version):
      guard Self.compareVersions(version, version) != nil else {
        throw RuleError(
          key: "at_least", problem: "\(quoted(version)) is not a version",
          remedy: "write numbers with dots between them, as in \"2.3.0\"")
      }
    }
    self.field = field.lowercased()
    self.requirement = requirement
  }

  /// Whether the request's fields fulfil it.
  func allows(_ fields: [RequestField]) -> Bool {
    var found = -1
    for place in fields.indices where fields[place].name == field {
      // Which of two would count is a matter of taste, and of attack.
      guard found < 0 else { return false }
      found = place
    }
    guard found >= 0 else { return false }
    switch requirement {
    case .equals(let value): return fields[found].value == value
    case .oneOf(let values): return values.contains(fields[found].value)
    case .atLeast(let version):
      guard let order = Self.compareVersions(fields[found].value, version) else { return false }
      return order >= 0
    }
  }

  /// Compares versions number by number, missing ones being 0: negative, 0 or positive; nil when either is not
  /// made of numbers with dots between them, or is longer than 64 bytes.
  static func compareVersions(_ a: String, _ b: String) -> Int? {
    var first = Substring(a).utf8
    var second = Substring(b).utf8
    guard !first.isEmpty, !second.isEmpty, first.count <= 64, second.count <= 64 else { return nil }
    var order = 0
    var left: UInt64? = 0
    var right: UInt64? = 0
    var leftDone = false
    var rightDone = false
    // Both are read to their ends, so that a malformed rest is never overlooked.
    while !leftDone || !rightDone {
      left = leftDone ? 0 : component(&first, isLast: &leftDone)
      right = rightDone ? 0 : component(&second, isLast: &rightDone)
      guard let left, let right else { return nil }
      if order == 0, left != right { order = left < right ? -1 : 1 }
    }
    return order
  }

  /// Reads a number and the dot behind it; nil when there is none or it does not fit 18 digits.
  private static func component(_ rest: inout Substring.UTF8View, isLast: inout Bool) -> UInt64? {
    var value: UInt64 = 0
    var count = 0
    while let byte = rest.first, byte.isASCIIDigit {
      value = value * 10 + UInt64(byte - 0x30)
      count += 1
      guard count <= 18 else { return nil }
      rest.removeFirst()
    }
    guard count > 0 else { return nil }
    if rest.isEmpty {
      isLast = true
    } else if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
    } else {
      return nil
    }
    return value
  }
}

// The rule that requires a certain value in a header of the request.

public import Documents
import Texts

/// A requirement on a header field. A request without the field, or with the field more than once, is denied.
public struct FieldRule: Sendable {
  /// The accepted values.
  public enum Requirement: Hashable, Sendable {
    /// Exactly this value.
    case equals(String)
    /// One of these values.
    case oneOf([String])
    /// This version or a later one. A version is numbers with dots between them; any other value is denied.
    case atLeast(String)
  }

  /// The field's name in lower case.
  public let field: String
  private let requirement: Requirement
  /// The numbers of the required version; empty if no version is required.
  private let minimum: [UInt64]

  /// Fields that contain credentials. No rule may read them, because the server sends the fields of rules to
  /// remote policies.
  private static let credentials: Set = [
    "apikey", "authorization", "cookie", "dpop", "proxy-authorization", "x-api-key", "x-firebase-appcheck",
  ]

  /// Creates a rule. Throws if the name is not a valid field name or belongs to a field with credentials, if
  /// no value is accepted, or if the version is malformed.
  public init(field: String, requirement: Requirement) throws(Refusal) {
    let token = field.utf8.allSatisfy {
      $0.isASCIILetter || $0.isASCIIDigit || "!#$%&'*+-.^_`|~".utf8.contains($0)
    }
    guard !field.isEmpty, token else {
      throw Refusal(
        at: "field", "\(quoted(field)) is not the name of a header",
        "give a header's name, such as \"X-App-Version\"")
    }
    guard !Self.credentials.contains(field.lowercased()) else {
      throw Refusal(
        at: "field",
        "\(quoted(field)) contains a credential, and the server sends the headers that rules name to remote policies",
        "limit the rule by callers, or require claims")
    }
    var minimum: [UInt64] = []
    switch requirement {
    case .equals: break
    case .oneOf(let values):
      guard !values.isEmpty else {
        throw Refusal(
          at: "in", "no value is accepted, so the rule would deny everyone",
          "list the accepted values")
      }
    case .atLeast(let version):
      guard let numbers = Self.numbers(of: version) else {
        throw Refusal(
          at: "at_least", "\(quoted(version)) is not a version",
          "write numbers with dots between them, as in \"2.3.0\"")
      }
      minimum = numbers
    }
    self.field = field.lowercased()
    self.requirement = requirement
    self.minimum = minimum
  }

  /// Whether the request's fields meet the requirement.
  func allows(_ fields: [RequestField]) -> Bool {
    var found = -1
    for index in fields.indices where fields[index].name == field {
      // Refuse a repeated field: programs disagree about which of two values counts, and an attacker can use
      // that.
      guard found < 0 else { return false }
      found = index
    }
    guard found >= 0 else { return false }
    switch requirement {
    case .equals(let value): return fields[found].value.hasSameBytes(as: value)
    case .oneOf(let values): return values.contains(exactly: fields[found].value)
    case .atLeast: return Self.isVersion(fields[found].value, atLeast: minimum)
    }
  }

  /// The reason for the verdict: the value found and the value required.
  func reason(_ fields: [RequestField], _ values: ValueDisclosure) -> String {
    let found = fields.filter { $0.name == field }.map(\.value)
    let name = "header \(field)"
    let required: String? =
      switch requirement {
      case .equals(let value): values == .shown ? "\(quoted(value)) is required" : nil
      case .oneOf(let accepted):
        values == .shown ? "\(listed(accepted.map { quoted($0) })) is required" : nil
      case .atLeast(let version): "\(version) or later is required"
      }
    let text: String
    switch found.count {
    case 0: text = "\(name) is missing"
    case 1:
      let value = found[0]
      let isVersion = Self.numbers(of: value) != nil
      if case .atLeast = requirement, isVersion {
        text = "\(name) is \(value.hidingPhoneNumbers)"
      } else if case .atLeast = requirement {
        text = "\(name) is \(values == .shown ? "\(quoted(value.hidingPhoneNumbers)), " : "")not a version"
      } else if values == .shown {
        text = "\(name) is \(quoted(value.hidingPhoneNumbers))"
      } else {
        text = "\(name) has \(allows(fields) ? "an" : "no") accepted value"
      }
    default: text = "\(name) occurs \(found.count) times, so the rule uses none of them"
    }
    return required.map { "\(text); \($0)" } ?? text
  }

  /// The numbers of a version without zeros at the end, so that `2.3` equals `2.3.0`. Nil if the text is
  /// longer than 64 bytes, or is not numbers of at most 18 digits with dots between them.
  private static func numbers(of version: String) -> [UInt64]? {
    var numbers: [UInt64] = []
    guard read(version, { _, number in numbers.append(number) }) else { return nil }
    while numbers.last == 0 { numbers.removeLast() }
    return numbers
  }

  /// Whether a text is a version, and at least `minimum`. Reads the text to its end, so that a malformed
  /// ending is always found.
  private static func isVersion(_ version: String, atLeast minimum: [UInt64]) -> Bool {
    var order = 0
    var count = 0
    let isVersion = read(version) { index, number in
      count = index + 1
      guard order == 0 else { return }
      let wanted = index < minimum.count ? minimum[index] : 0
      if number != wanted { order = number < wanted ? -1 : 1 }
    }
    // Missing numbers count as 0. The last number of `minimum` is never 0.
    return isVersion && (order > 0 || (order == 0 && count >= minimum.count))
  }

  /// Passes each number of a version to `take`; false if the text is not a version.
  @inline(__always) private static func read(_ version: String, _ take: (Int, UInt64) -> Void) -> Bool {
    guard version.utf8.count <= 64 else { return false }
    var index = 0
    var value: UInt64 = 0
    var digits = 0
    for byte in version.utf8 {
      if byte.isASCIIDigit {
        digits += 1
        guard digits <= 18 else { return false }
        value = value * 10 + UInt64(byte - 0x30)
      } else {
        guard byte == UInt8(ascii: "."), digits > 0 else { return false }
        take(index, value)
        index += 1
        value = 0
        digits = 0
      }
    }
    guard digits > 0 else { return false }
    take(index, value)
    return true
  }
}

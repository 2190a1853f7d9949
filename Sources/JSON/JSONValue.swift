// A JSON value: what the parser returns and what the writer accepts.

import Texts

/// One JSON value (RFC 8259 §3): the result of parsing, and the input of the writer.
///
/// Strings compare by their UTF-8 bytes, as in every other JSON implementation. By Swift's canonical
/// equivalence a composed and a decomposed `é` are the same: a rule could then accept a text that the next
/// server reads as another one. Objects compare without regard to order.
public enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
}

// MARK: - Reading

extension JSONValue {
  /// The member of that name if this is an object that has it; nil for every other value.
  public subscript(_ name: String) -> JSONValue? { object?[name] }

  /// The text if this is a string.
  public var string: String? { if case .string(let text) = self { text } else { nil } }

  /// The number if this is one.
  public var number: JSONNumber? { if case .number(let number) = self { number } else { nil } }

  /// The integer if this is a number written without fraction and exponent that fits 64 bits. Only for
  /// comparing or printing: a sum with it may overflow. For calculations, use `int(in:)` or
  /// `int(clampedTo:)`.
  public var int: Int64? { number?.int64 }

  /// The number as the nearest double, if this is a number; infinity if it is beyond a double's range. Only
  /// for comparing or printing.
  public var double: Double? { number?.double }

  /// The integer if this is an integer within a range.
  ///
  /// - Parameter range: Bounds that are small enough for the calculations with the integer.
  public func int(in range: ClosedRange<Int64>) -> Int64? {
    guard let value = int, range.contains(value) else { return nil }
    return value
  }

  /// The integer within a range that is nearest to this number; nil unless this is a number written without
  /// fraction and exponent, of any length.
  ///
  /// - Parameter range: Bounds that are small enough for the calculations with the integer.
  public func int(clampedTo range: ClosedRange<Int64>) -> Int64? {
    guard let number, number.isInteger else { return nil }
    let value = number.int64 ?? (number.text.utf8.first == UInt8(ascii: "-") ? .min : .max)
    return min(max(value, range.lowerBound), range.upperBound)
  }

  /// The number as the nearest double if this is a number within a range.
  ///
  /// - Parameter range: Bounds within which every conversion to an integer fits.
  public func double(in range: ClosedRange<Double>) -> Double? {
    guard let value = double, range.contains(value) else { return nil }
    return value
  }

  /// The elements if this is an array.
  public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The members if this is an object.
  public var object: JSONObject? { if case .object(let object) = self { object } else { nil } }

  /// The kind of this value, with its article, for messages: `a string`, `an object`, `null`.
  public var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

// MARK: - Comparing

extension JSONValue: Hashable {
  public static func == (a: JSONValue, b: JSONValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let number): hasher.combine(number)
    case .string(let text): text.hashBytes(into: &hasher)
    case .array(let elements): hasher.combine(elements)
    case .object(let object): hasher.combine(object)
    }
  }
}

extension String {
  /// Feeds the UTF-8 bytes, so that the hash agrees with `hasSameBytes`.
  func hashBytes(into hasher: inout Hasher) {
    for byte in utf8 { hasher.combine(byte) }
    hasher.combine(0xFF as UInt8)
  }
}

// MARK: - Literals

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  public init(floatLiteral value: Double) {
    guard let number = JSONNumber(value) else { preconditionFailure("JSON has no such number: \(value)") }
    self = .number(number)
  }

  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(literal: elements))
  }
}

// Reads single values from their text, and describes the same values for a JSON Schema.

/// The form of a single value. A text is accepted whole or refused with a remedy; nothing is trimmed, guessed
/// or rounded.
package struct TextForm<Value: Sendable>: Sendable {
  /// The accepted values, as far as a schema can describe them.
  package let schema: TextSchema
  /// Reads a value from its text. Throws a refusal with a remedy if the text does not have the form.
  package let read: @Sendable (String) throws(Refusal) -> Value

  package init(_ schema: TextSchema, _ read: @escaping @Sendable (String) throws(Refusal) -> Value) {
    self.schema = schema
    self.read = read
  }

  /// Declares a form that the schema describes only as text.
  package init(_ read: @escaping @Sendable (String) throws(Refusal) -> Value) { self.init(.text, read) }
}

/// The form of a single value, for the schema.
package enum TextSchema: Sendable, Hashable {
  case text
  /// A text that must be quoted if it looks like a number: `0042` is not `42`.
  case pattern(String)
  case words([String])
  case boolean
  case number(ClosedRange<Int64>)
  case duration
}

extension TextForm<String> {
  /// Any text except an empty one.
  package static var text: Self {
    Self { text throws(Refusal) in
      guard !text.isEmpty else { throw .nothing }
      return text
    }
  }
}

extension TextForm<Bool> {
  /// True or false.
  package static var boolean: Self {
    Self(.boolean) { text throws(Refusal) in
      switch text {
      case "true": return true
      case "false": return false
      default: throw Refusal("\(quoted(text)) is neither true nor false", "write true or false")
      }
    }
  }
}

extension TextForm where Value: RawRepresentable<String> {
  /// One of a few words.
  package static func choice(of choices: [Value]) -> Self {
    let names = choices.map(\.rawValue)
    return Self(.words(names)) { text throws(Refusal) in
      guard names.contains(text), let choice = Value(rawValue: text) else {
        throw .unknown(text, known: names)
      }
      return choice
    }
  }
}

extension TextForm where Value: RawRepresentable<String> & CaseIterable {
  /// One of a type's words.
  package static var choice: Self { choice(of: Array(Value.allCases)) }
}

extension TextForm<Int> {
  /// A count or a size.
  package static func number(_ range: ClosedRange<Int>, of noun: String) -> Self {
    Self(.number(Int64(range.lowerBound)...Int64(range.upperBound))) { text throws(Refusal) in
      guard let number = Digits.read(text, in: range) else {
        throw Refusal(
          "\(quoted(text)) is not \(noun) from \(range.lowerBound) to \(range.upperBound)",
          "write a whole number in digits")
      }
      return number
    }
  }
}

extension TextForm<Int64> {
  /// A whole number whose range is checked elsewhere.
  package static var wholeNumber: Self {
    Self(.number(0...999_999_999_999)) { text throws(Refusal) in
      guard let number = Digits.read(text, in: 0 ... .max) else {
        throw Refusal("\(quoted(text)) is not a whole number", "write digits, as in 30")
      }
      return Int64(number)
    }
  }
}

extension TextForm<Duration> {
  /// A span of time.
  package static func duration(_ range: ClosedRange<Duration>) -> Self {
    Self(.duration) { text throws(Refusal) in
      guard let span = DurationText.parse(text) else {
        let digitsAlone = Digits.read(text, in: 0...Int.max) != nil
        throw Refusal(
          digitsAlone ? "\(quoted(text)) has no unit" : "\(quoted(text)) is not a duration",
          digitsAlone
            ? "write \(text)s for seconds (units: ms, s, m, h, d)" : "write it as 500ms, 10s, 1m, 1h or 30d")
      }
      guard range.contains(span) else {
        throw Refusal(
          "\(quoted(text)) is out of range",
          "choose from \(DurationText.text(of: range.lowerBound)) to \(DurationText.text(of: range.upperBound))"
        )
      }
      return span
    }
  }

  /// A span of time whose range is checked elsewhere.
  package static var duration: Self { .duration(.zero ... .milliseconds(Int64.max)) }
}

/// Whole numbers in decimal digits.
package enum Digits {
  /// Reads at most 12 digits, within a range. There is no sign, which `Int(_:)` would accept, and no leading
  /// zero, which means octal elsewhere.
  package static func read(_ text: some StringProtocol, in range: ClosedRange<Int>) -> Int? {
    guard (1...12).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      text.utf8.count == 1 || text.utf8.first != 0x30, let number = Int(text), range.contains(number)
    else { return nil }
    return number
  }
}

/// A span of time: digits and one unit.
package enum DurationText {
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// The span that a text states; nil if it is not a span.
  package static func parse(_ text: String) -> Duration? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let unit = units.first(where: { $0.name == text[digits.endIndex...] }),
      let count = Digits.read(digits, in: 0...99_999_999_999)
    else { return nil }
    return .milliseconds(Int64(count) * unit.milliseconds)
  }

  /// The shortest way to write a span of whole milliseconds.
  package static func text(of span: Duration) -> String {
    let milliseconds = span.milliseconds
    if milliseconds == 0 { return "0s" }
    for unit in units.reversed() where milliseconds.isMultiple(of: unit.milliseconds) {
      return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
    return "\(milliseconds)ms"
  }
}

extension Duration {
  /// The span's whole milliseconds.
  package var milliseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000_000_000)
  }
}

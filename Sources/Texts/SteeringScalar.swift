// Recognizes characters that change the text around them but are not visible themselves.

extension Unicode.Scalar {
  /// Whether the character moves a terminal's cursor, ends a line, changes the direction of the text around
  /// it (UAX #9) or is invisible: controls, marks of direction, isolates, tags, U+FEFF and others. Logs and
  /// commands escape all of these in text from outside.
  package var steersText: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension Unicode.Scalar {
  /// Whether a reader does not see the character, or mistakes it for a usual space: characters that steer
  /// text, variation selectors and other characters that displays ignore, and every other blank of Unicode,
  /// such as the no-break space.
  package var isUnseen: Bool {
    steersText || properties.isDefaultIgnorableCodePoint || (properties.isWhitespace && self != " ")
  }

  /// The code point as Unicode writes it: `U+202D`.
  package var codePoint: String {
    let digits = String(value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  /// Whether formatted pages and word processors use the character in place of `"` or `'`.
  package var isCurlyQuotationMark: Bool { !isASCII && properties.isQuotationMark }

  /// Whether formatted pages and word processors use the character in place of hyphens.
  package var isLongDash: Bool { ("\u{2010}"..."\u{2015}").contains(self) || self == "\u{2212}" }

  /// The name of an unseen character or a curly quotation mark, for a message to the person who wrote it.
  package var unseenName: String {
    switch properties.generalCategory {
    case _ where isCurlyQuotationMark: "the quotation mark \(codePoint)"
    case .spaceSeparator: "the character \(codePoint), which looks like a space"
    case .control: "the control character \(codePoint)"
    default: "the invisible character \(codePoint)"
    }
  }
}

extension Unicode.Scalar {
  /// The name of a blank at the end of a text, for a message to the person who wrote it.
  package var blankName: String {
    switch self {
    case " ": "a space"
    case "\t": "a tab"
    case "\n", "\r": "a line break"
    default: unseenName
    }
  }
}

extension StringProtocol {
  /// The text on one line of a terminal. Characters that steer the text around them are written as code
  /// points, such as `\u{1b}`. Names and answers from outside may contain escape sequences, or line ends that
  /// forge a line.
  package var withSteeringEscaped: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.steersText {
        text += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }

  /// The first character that a reader does not see or mistakes for a space.
  package var firstUnseen: Unicode.Scalar? { unicodeScalars.first(where: \.isUnseen) }

  /// The first character that a reader does not see or mistakes for a usual one: an unseen character, or a
  /// curly quotation mark.
  package var firstMistakable: Unicode.Scalar? {
    unicodeScalars.first { $0.isUnseen || $0.isCurlyQuotationMark }
  }

  /// The blank or invisible character at the end; nil if the text ends with another character.
  package var finalBlank: Unicode.Scalar? {
    guard let last = unicodeScalars.last, last == " " || last.isUnseen else { return nil }
    return last
  }

  /// The text with each unseen character replaced by its code point: `<U+00A0>account`.
  package var withCodePoints: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.isUnseen { text += "<\(scalar.codePoint)>" } else { text.unicodeScalars.append(scalar) }
    }
  }
}

// Tells the characters that steer the text around them and show nothing of themselves.

extension Unicode.Scalar {
  /// Whether it moves a terminal's cursor, ends a line, changes the direction of the text around it (UAX #9) or shows nothing:
  /// controls, marks of direction, isolates, tags, U+FEFF and the like. Logs and commands escape all of these in a stranger's
  /// text.
  package var steersText: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension Unicode.Scalar {
  /// Whether a reader sees nothing of it, or takes it for the usual space: what steers text, variation selectors and other
  /// characters that displays ignore, and every other blank of Unicode, such as the no-break space.
  package var isUnseen: Bool {
    steersText || properties.isDefaultIgnorableCodePoint || (properties.isWhitespace && self != " ")
  }

  /// The code point as Unicode writes it: `U+202D`.
  package var codePoint: String {
    let digits = String(value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  /// Whether formatted pages and word processors put it in place of `"` or `'`.
  package var isCurlyQuotationMark: Bool { !isASCII && properties.isQuotationMark }

  /// Whether formatted pages and word processors put it in place of hyphens.
  package var isLongDash: Bool { ("\u{2010}"..."\u{2015}").contains(self) || self == "\u{2212}" }

  /// An unseen character or a curly quotation mark, for a message to the person who wrote it.
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
  /// A blank at the end of a text, for a message to the person who wrote it.
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
  /// The text on one line of a terminal. What steers the text around it is written as its code point, `\u{1b}`: others' names and
  /// answers may have escape sequences, and line ends that forge a line.
  package var withSteeringEscaped: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.steersText {
        text += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }

  /// The first character that a reader does not see or takes for a space.
  package var firstUnseen: Unicode.Scalar? { unicodeScalars.first(where: \.isUnseen) }

  /// The first character that a reader does not see or takes for a usual one: an unseen one, or a curly quotation mark.
  package var firstMistakable: Unicode.Scalar? {
    unicodeScalars.first { $0.isUnseen || $0.isCurlyQuotationMark }
  }

  /// The blank or invisible character at the end; nil where it ends otherwise.
  package var finalBlank: Unicode.Scalar? {
    guard let last = unicodeScalars.last, last == " " || last.isUnseen else { return nil }
    return last
  }

  /// The text with the code points of unseen characters in their places: `<U+00A0>account`.
  package var withCodePoints: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.isUnseen { text += "<\(scalar.codePoint)>" } else { text.unicodeScalars.append(scalar) }
    }
  }
}

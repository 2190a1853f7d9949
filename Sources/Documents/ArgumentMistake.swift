// Finds command-line arguments that a formatted page or a shell has changed, such as hyphens that became a
// dash.

import Texts

/// A mistake in an argument that is found before any command reads it.
package enum ArgumentMistake: Equatable, Sendable {
  /// The argument begins with a dash that a formatted page has put in place of hyphens. Only the option is
  /// named, not its value.
  case dash(String, option: String)
  /// The value is in curly quotation marks, which no shell removes. The value is not named, because it may be
  /// a secret.
  case quotationMark(String)
  /// The value begins with `~`. A shell expands `~` only at the beginning of an argument, and only outside
  /// quotation marks.
  case tilde

  /// Finds the mistake in an argument; nil if there is none.
  package init?(_ argument: String) {
    let scalars = argument.unicodeScalars
    guard let first = scalars.first else { return nil }
    if first.isLongDash {
      let name = scalars.drop { $0.isLongDash || $0 == "-" }.prefix { $0 != "=" }
      guard let letter = name.first, letter.properties.isAlphabetic,
        !name.contains(where: \.properties.isWhitespace)
      else { return nil }
      self = .dash(first.codePoint, option: "--\(String(name))")
      return
    }
    var value = scalars[...]
    if first == "-", let equals = scalars.firstIndex(of: "=") {
      value = scalars[scalars.index(after: equals)...]
    }
    if let mark = value.first, mark.isCurlyQuotationMark, value.last?.isCurlyQuotationMark == true {
      self = .quotationMark(mark.codePoint)
    } else if value.first == "~", value.dropFirst().first.map({ $0 == "/" }) ?? true {
      self = .tilde
    } else {
      return nil
    }
  }

  /// The first mistake in a command line. Arguments after `--`, and the value of `--reason`, may be any text.
  package static func first(in arguments: some Sequence<String>) -> Self? {
    var isReason = false
    for argument in arguments {
      defer { isReason = argument.utf8.elementsEqual("--reason".utf8) }
      if argument.utf8.elementsEqual("--".utf8) { return nil }
      if isReason || argument.utf8.starts(with: "--reason=".utf8) { continue }
      if let mistake = Self(argument) { return mistake }
    }
    return nil
  }

  /// The mistake and its remedy.
  package var message: String {
    switch self {
    case .dash(let codePoint, let option):
      "an argument begins with the dash \(codePoint), not with hyphens: write \(quoted(option))"
    case .quotationMark(let codePoint):
      "a value begins with the quotation mark \(codePoint): remove it, or write ' or \" in its place"
    case .tilde: "~ is not expanded here: write the whole path"
    }
  }
}

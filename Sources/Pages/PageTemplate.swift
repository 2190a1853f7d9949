// Replaces the placeholders in a page's file by values, and escapes texts for HTML.

extension PageFile {
  /// A value for a page's file.
  public enum Value: Sendable {
    /// A text, which is escaped.
    case text(String)
    /// Markup, whose author has escaped the texts in it.
    case markup(String)
  }

  /// The page with each `{{name}}` replaced by the value of that name. Values are not searched for names
  /// again.
  ///
  /// - Precondition: Every name in the page has a value.
  public func filled(_ values: [String: Value]) -> String {
    var result = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "{{") {
      result += rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      guard let end = rest.firstRange(of: "}}"), let value = values[String(rest[..<end.lowerBound])] else {
        preconditionFailure("a page names a value that it does not get: \(rest.prefix(40))")
      }
      switch value {
      case .text(let text): result += HTMLEscaping.escaped(text)
      case .markup(let markup): result += markup
      }
      rest = rest[end.upperBound...]
    }
    return result + rest
  }
}

/// Escapes texts for HTML.
public enum HTMLEscaping {
  /// Escapes a text for use between tags or inside an attribute's quotes.
  public static func escaped(_ text: some StringProtocol) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for character in text.unicodeScalars {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }
}

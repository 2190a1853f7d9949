/// Whether a request's content is declared as what callbacks are written in: JSON in UTF-8, in no coding.
enum JSONContent {
  /// Checks the value of `Content-Type`, of which there is one at most as the message is well-formed, and those of all
  /// `Content-Encoding` lines. A missing type is refused as well: a form posted by a foreign page needs none (CORS), and
  /// guessing is how gates are passed.
  ///
  /// - Throws: `unsupported_media_type`.
  static func check(type: String?, encodings: [String] = []) throws(Problem) {
    guard encodings.allSatisfy({ lower($0) == "identity" }) else {
      throw Problem(.unsupportedMediaType, "Send the content without Content-Encoding.")
    }
    guard let type else {
      throw Problem(.unsupportedMediaType, "Send Content-Type: application/json.")
    }
    // What nearly everybody sends.
    if type == "application/json" { return }
    guard type.utf8.count <= 256, isJSON(type) else {
      throw Problem(.unsupportedMediaType, "Send Content-Type: application/json, with no charset but utf-8.")
    }
  }

  /// `application/json` and parameters (RFC 9110 §8.3.1), of which `charset` at most once.
  private static func isJSON(_ text: String) -> Bool {
    guard let parts = split(text), let type = parts.first, lower(type) == "application/json" else {
      return false
    }
    var hasCharset = false
    for part in parts.dropFirst() where !part.isEmpty {
      guard let equals = part.firstIndex(of: "="), isToken(part[..<equals]) else { return false }
      guard let value = value(part[equals...].dropFirst()) else { return false }
      guard lower(part[..<equals]) == "charset" else { continue }
      guard !hasCharset, lower(value) == "utf-8" else { return false }
      hasCharset = true
    }
    return true
  }

  /// At semicolons outside quotation marks; nil where a quotation does not end.
  private static func split(_ text: String) -> [Substring]? {
    var parts: [Substring] = []
    var start = text.startIndex
    var isQuoted = false
    var isEscaped = false
    for index in text.indices {
      let character = text[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == ";", !isQuoted {
        parts.append(text[start..<index].trimmed)
        start = text.index(after: index)
      }
    }
    return isQuoted ? nil : parts + [text[start...].trimmed]
  }

  private static func value(_ text: Substring) -> String? {
    if isToken(text) { return String(text) }
    guard text.count >= 2, text.first == "\"", text.last == "\"" else { return nil }
    var value = ""
    var isEscaped = false
    for character in text.dropFirst().dropLast() {
      if !isEscaped, character == "\\" {
        isEscaped = true
        continue
      }
      guard isEscaped || character != "\"" else { return nil }
      value.append(character)
      isEscaped = false
    }
    return isEscaped ? nil : value
  }

  private static func isToken(_ text: Substring) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { octet in
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
        }
      }
  }

  private static func lower(_ text: some StringProtocol) -> String { text.lowercased() }
}

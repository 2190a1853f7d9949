// Checks single texts of a callback's context: length, control characters and data type.

import Gate

/// Checks of single texts: each gives nil, or the sentence that says what is wrong and what to do.
enum ContextText {
  /// Control characters, C1 and the line and paragraph separators included: in a label or value they would break lines of
  /// screens, logs and whatever the text is passed to.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
    default: false
    }
  }

  /// A text of a length without control characters.
  static func fault(in text: String, longest: Int) -> String? {
    if text.unicodeScalars.contains(where: isControl) {
      return "Leave out control characters such as line breaks, tabs and NUL."
    }
    if text.unicodeScalars.count > longest { return "Give at most \(longest) characters." }
    return nil
  }

  /// A value of a type.
  static func fault(in value: String, as type: ContextField.DataType, longest: Int) -> String? {
    if let fault = fault(in: value, longest: longest) { return fault }
    switch type {
    case .text:
      return nil
    case .url:
      return WebURL.fault(in: value)
    case .phone:
      do throws(E164Error) {
        _ = try E164(value)
        return nil
      } catch {
        return error.correction
      }
    }
  }
}

// Checks single texts of a callback's context: length, control characters and data type.

import API
import Configuration
import Gate

/// Checks of single texts. Each returns nil, or a sentence with the problem and its fix.
enum ContextText {
  /// Checks the length of a text, in characters, and refuses control characters.
  static func fault(in text: String, longest: Int) -> String? {
    if text.unicodeScalars.contains(where: CallbackLimits.isControl) {
      return "Leave out control characters such as line breaks, tabs and NUL."
    }
    if text.unicodeScalars.count > longest { return "Give at most \(longest) characters." }
    return nil
  }

  /// Checks a value of a given type.
  static func fault(in value: String, as type: ContextField.DataType, longest: Int) -> String? {
    if let fault = fault(in: value, longest: longest) { return fault }
    switch type {
    case .text:
      return nil
    case .url:
      return AbsoluteURI.fault(in: value)
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

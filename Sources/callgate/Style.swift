// Colours a command's output on terminals that show colours.

import Foundation
import Glibc

/// Colours for people: on a terminal only, and not if `NO_COLOR` is set (no-color.org) or the terminal is dumb. Piped output stays
/// plain.
struct Style {
  /// The meaning of a colour.
  enum Tone: String {
    case good = "32"
    case doubtful = "33"
    case bad = "31"
    case quiet = "2"
    case strong = "1"
  }

  /// Whether texts get colours.
  let isColoured: Bool

  /// The style of a stream.
  init(_ descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
    isColoured =
      isatty(descriptor) == 1 && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  /// A text in a tone, or as it is.
  func text(_ text: String, _ tone: Tone) -> String {
    isColoured && !text.isEmpty ? "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// A text in a column of a width, coloured or not.
  func column(_ text: String, width: Int, _ tone: Tone) -> String {
    self.text(text, tone) + String(repeating: " ", count: max(1, width - text.count))
  }
}

// Colors a command's output on terminals that show colors, and breaks its lines between words.

import Glibc
import Platform

/// The colors of a stream. They are on only if the stream is a terminal that is not dumb and `NO_COLOR` is
/// not set (no-color.org). Piped output stays plain.
struct Style {
  /// The meaning of a color.
  enum Tone: String {
    case good = "32"
    case doubtful = "33"
    case bad = "31"
    case quiet = "2"
    case strong = "1"
  }

  /// Whether texts get colors.
  let isColoured: Bool

  /// The style of a stream: with colors on a terminal, unless `NO_COLOR` or `TERM=dumb` is set.
  init(_ descriptor: Int32, environment: [String: String] = ProcessEnvironment.variables()) {
    isColoured =
      isatty(descriptor) == 1 && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  /// Breaks a line of text between words at the width of the terminal. Piped output stays one line.
  ///
  /// - Parameters:
  ///   - indent: How many spaces the lines after the first begin with.
  ///   - descriptor: The stream.
  static func wrapped(_ text: String, indent: Int, descriptor: Int32 = STDOUT_FILENO) -> ShownText {
    let text = ShownText(text).text
    var size = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return ShownText(own: text) }
    return ShownText(own: wrapped(text, indent: indent, columns: Int(size.ws_col)))
  }

  /// Breaks a line of text at a width. If the width has no room for words, the text stays as it is.
  private static func wrapped(_ text: String, indent: Int, columns: Int) -> String {
    guard columns >= indent + 24, text.count > columns else { return text }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    var (lines, line) = ("", String(words[0]))
    for word in words.dropFirst() {
      if line.count + 1 + word.count > columns, line.count > indent {
        lines += line + "\n"
        line = String(repeating: " ", count: indent) + word
      } else {
        line += " " + word
      }
    }
    return lines + line
  }

  /// Returns a text in a tone, or unchanged if there are no colors.
  func text(_ text: String, _ tone: Tone) -> ShownText {
    let shown = ShownText(text)
    guard isColoured, !text.isEmpty else { return shown }
    return ShownText(own: "\u{1B}[\(tone.rawValue)m\(shown.text)\u{1B}[0m")
  }

  /// Returns a text in a column of a width, colored or not.
  func column(_ text: String, width: Int, _ tone: Tone) -> ShownText {
    self.text(text, tone) + String(repeating: " ", count: max(1, width - text.count))
  }
}

// The text that a command writes, escaped so that nothing from outside can control the terminal.

import Texts

/// A text that is ready for a terminal. Line ends and colors in it are the command's own; `Style` adds them.
struct ShownText {
  private(set) var text: String

  /// Makes one line from any text, with control characters escaped.
  init(_ text: some StringProtocol) { self.text = text.withSteeringEscaped }

  /// Makes a text whose line ends and colors are the command's own.
  init(own text: String) { self.text = text }

  static func + (first: Self, second: some StringProtocol) -> Self { first + Self(second) }
  static func + (first: Self, second: Self) -> Self { Self(own: first.text + second.text) }

  /// The text without its first characters.
  func dropFirst(_ count: Int) -> Self { Self(own: String(text.dropFirst(count))) }
}

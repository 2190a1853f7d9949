// The text that a command writes, in which nothing from outside can steer the terminal.

import Texts

/// A text that is ready for a terminal. Line ends and colours in it are the command's own: `Style` puts them there.
struct ShownText {
  private(set) var text: String

  /// A text on one line, with anything in it.
  init(_ text: some StringProtocol) { self.text = text.withSteeringEscaped }

  /// A text whose line ends and colours are the command's own.
  init(own text: String) { self.text = text }

  static func + (first: Self, second: some StringProtocol) -> Self { first + Self(second) }
  static func + (first: Self, second: Self) -> Self { Self(own: first.text + second.text) }

  /// The text without its first characters.
  func dropFirst(_ count: Int) -> Self { Self(own: String(text.dropFirst(count))) }
}

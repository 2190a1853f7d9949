// Colors log lines for people at a terminal.

/// Adds color to words, or leaves them unchanged.
struct TerminalColour: Sendable {
  /// The meaning of a color.
  enum Tone: String, Sendable {
    case good = "32"
    case doubtful = "33"
    case bad = "31"
    case quiet = "2"
  }

  /// Whether lines appear on a terminal that shows colors.
  let isOn: Bool

  /// Appends a word, in a tone if it has one.
  func append(_ word: String, _ tone: Tone?, to line: inout [UInt8]) {
    guard isOn, let tone else { return line.append(contentsOf: word.utf8) }
    line.append(contentsOf: "\u{1B}[\(tone.rawValue)m\(word)\u{1B}[0m".utf8)
  }
}

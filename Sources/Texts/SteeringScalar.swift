// Tells the characters that steer the text around them and show nothing of themselves.

extension Unicode.Scalar {
  /// Whether it moves a terminal's cursor, ends a line, changes the direction of the text around it (UAX #9) or shows nothing:
  /// controls, marks of direction, isolates, tags, U+FEFF and the like. Logs and commands escape all of these in a stranger's
  /// text.
  package var steersText: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

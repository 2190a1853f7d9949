// Formats the list of blocked numbers for a terminal of 80 columns.

import JSON

/// The lines for the entries of `/admin/numbers`.
enum BlockedNumberText {
  private static let columns = [18, 18, 18]

  static let head = TerminalText.cells(["NUMBER", "SINCE (UTC)", "UNTIL (UTC)"], columns, "BY")

  /// The lines of one entry: a row and, if there is one, the reason below it.
  static func lines(_ entry: JSONValue) -> [String] {
    let first = TerminalText.cells(
      [
        TerminalText.word(entry["phone"]), TerminalText.minute(entry["since"]),
        TerminalText.minute(entry["until"]),
      ], columns, TerminalText.word(entry["operator"]))
    guard entry["reason"] != nil else { return [first] }
    return [first] + TerminalText.packed([TerminalText.word(entry["reason"])], indent: 2)
  }
}

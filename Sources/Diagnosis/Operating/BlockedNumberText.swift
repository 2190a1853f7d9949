// Formats the list of blocked numbers for a terminal of 80 columns.

import JSON

/// The entries of `/admin/numbers` in lines.
enum BlockedNumberText {
  private static let columns = [18, 18, 18]

  static let head = row(["NUMBER", "SINCE (UTC)", "UNTIL (UTC)"], "BY")

  /// A row, and the reason below it.
  static func lines(_ entry: JSONValue) -> [String] {
    let first = row(
      [word(entry["phone"]), time(entry["since"]), time(entry["until"])], word(entry["operator"]))
    guard entry["reason"] != nil else { return [first] }
    return [first] + TerminalText.packed([word(entry["reason"])], indent: 2)
  }

  private static func word(_ value: JSONValue?) -> String { TerminalText.plain(value?.string ?? "-") }

  /// `2026-11-22T10:04:31Z` as `2026-11-22 10:04`.
  private static func time(_ value: JSONValue?) -> String {
    String(word(value).prefix(16)).replacing("T", with: " ")
  }

  private static func row(_ cells: [String], _ last: String) -> String {
    zip(cells, columns).map { cell, width in
      cell + String(repeating: " ", count: max(1, width - cell.count))
    }.joined() + last
  }
}

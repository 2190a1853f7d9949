// Formats the operators' list of installations for a terminal of 80 columns.

import Documents
import JSON

/// The lines for the entries of `/admin/installations`. Strangers wrote names, details and subjects, so these
/// are quoted, and characters that would control a terminal are escaped.
enum InstallationText {
  private static let columns = [38, 9, 18]

  static let head = TerminalText.cells(["CLIENT_ID", "STATE", "CREATED (UTC)"], columns, "APP")

  /// The lines of one entry in the table: its columns, then everything else below them.
  static func lines(_ entry: JSONValue) -> [String] {
    let first = TerminalText.cells(
      [word(entry, "client_id"), word(entry, "state"), TerminalText.minute(entry["created_at"])], columns,
      word(entry, "app"))
    var facts = [client(entry)]
    // An installation without a user has its own ID as its subject, which is already in the row.
    if let subject = entry["subject"]?.string, subject != entry["client_id"]?.string {
      facts.append("subject \(shown(subject))")
    }
    facts.append("address \(word(entry, "address"))")
    for (name, member) in [("used", "used_at"), ("expires", "expires_at")] where entry[member] != nil {
      facts.append("\(name) \(TerminalText.minute(entry[member]))")
    }
    if entry["operator"] != nil { facts.append("by \(word(entry, "operator"))") }
    return [first] + TerminalText.packed(facts, indent: 2)
  }

  /// A waiting request, one fact per line, for the operator who is about to decide.
  static func found(_ entry: JSONValue) -> [String] {
    var rows = [("App", word(entry, "app")), ("Client app", shown(entry["client_app"]?.string ?? "-"))]
    if let detail = entry["client_detail"]?.string { rows.append(("Client detail", shown(detail))) }
    rows += [
      ("Client id", word(entry, "client_id")), ("State", word(entry, "state")),
      ("Address", word(entry, "address")),
      ("Since", "\(TerminalText.minute(entry["created_at"])) UTC"),
      ("Expires", "\(TerminalText.minute(entry["expires_at"])) UTC"),
    ]
    return rows.flatMap { TerminalText.row($0.0, $0.1) } + replaced(entry["replaces"])
  }

  /// The warning that an approval replaces an installation.
  private static func replaced(_ entry: JSONValue?) -> [String] {
    guard let entry else { return [] }
    let scheduled = entry["scheduled"]?.int(in: 0...Int64(Int32.max)) ?? 0
    let rows = [
      ("Replaces", client(entry)),
      (
        "",
        "enrolled \(TerminalText.minute(entry["created_at"])), used \(TerminalText.minute(entry["used_at"])) UTC"
      ),
      ("", scheduled == 1 ? "1 appointment ends" : "\(scheduled) appointments end"),
    ]
    return ["", "Warning: approval replaces an installation. Its phone must enroll again."]
      + rows.flatMap { TerminalText.row($0.0, $0.1) }
  }

  private static func client(_ entry: JSONValue) -> String {
    shown(entry["client_app"]?.string ?? "-") + (entry["client_detail"]?.string.map { " " + shown($0) } ?? "")
  }

  private static func shown(_ text: String) -> String { quoted(text, limit: 255) }

  private static func word(_ entry: JSONValue, _ member: String) -> String {
    TerminalText.word(entry[member])
  }
}

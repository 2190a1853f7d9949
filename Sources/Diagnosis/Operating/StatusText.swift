// Formats the response of `/admin/status` for a terminal of 80 columns.

import Documents
import JSON

/// The lines for the document of `/admin/status`.
struct StatusText {
  private let document: JSONObject

  /// The lines about a status: what needs attention, then one fact per row. No line has more than 80 columns
  /// unless a word is longer.
  ///
  /// - Parameter url: The server's address.
  static func lines(_ document: JSONObject, at url: String) -> [String] {
    let text = StatusText(document: document)
    return text.attention(url) + [""] + text.rows(url).flatMap { TerminalText.row($0.name, $0.value) }
  }

  /// The problems that need attention, most urgent first, or a line that says that there are none. Then a
  /// sentence about callbacks.
  private func attention(_ url: String) -> [String] {
    let entries = document["attention"]?.array ?? []
    guard !entries.isEmpty else {
      return ["Nothing needs attention. \(callbacks)"]
    }
    return entries.flatMap { entry in
      let until = entry["until"].map { ", until \(word($0))" } ?? ""
      let count = entry["count"]?.number?.text ?? "0"
      let runbook = word(entry["runbook"])
      let hit = count == "0" ? "" : " \(count) \(count == "1" ? "request" : "requests")."
      return TerminalText.wrapped(
        "! \(word(entry["code"])): \(word(entry["text"])) Since \(word(entry["since"]))\(until).\(hit)",
        indent: 2)
        + TerminalText.packed([word(entry["action"])], indent: 2)
        + TerminalText.packed(["Runbook: \(runbook.hasPrefix("/") ? url : "")\(runbook)"], indent: 2)
    } + [callbacks]
  }

  /// The sentence about callbacks.
  private var callbacks: String {
    switch document["callbacks"]?.string {
    case "held": "Callbacks: restricted (some or all requests are refused)."
    default: "Callbacks: \(word(document["callbacks"]))."
    }
  }

  private func rows(_ url: String) -> [(name: String, value: String)] {
    var rows: [(name: String, value: String)] = [
      ("Server", url),
      ("Operator", "\(word(document["operator"]?["name"])), \(word(document["operator"]?["role"]))"),
      ("Status", word(document["status"])), ("Started", word(document["started"])),
    ]
    rows += StopText.values(document).enumerated().map { ($0 == 0 ? "Paused" : "", $1) }
    rows += configuration + [("Store", store)]
    rows.append(("Callers", list(document["callers"])))
    rows.append(("Apps", list(document["apps"])))
    let rules = (document["rules"]?.array ?? []).map { rule in
      let mode = word(rule["mode"])
      return "\(word(rule["name"])) (\(word(rule["kind"]))\(mode == "enforce" ? "" : ", \(mode)"))"
    }
    rows.append(("Rules", rules.isEmpty ? "none" : rules.joined(separator: ", ")))
    rows += (document["trust"]?.array ?? []).enumerated().map { ($0 == 0 ? "Trust" : "", trust($1)) }
    rows += (document["tokens"]?.array ?? []).enumerated().map { ($0 == 0 ? "Tokens" : "", token($1)) }
    rows += (document["keys"]?["keys"]?.array ?? []).enumerated().map { ($0 == 0 ? "Keys" : "", key($1)) }
    return rows
  }

  private var configuration: [(name: String, value: String)] {
    let configuration = document["configuration"]
    let files = list(configuration?["files"])
    var rows = [
      (
        name: "Configuration",
        value: "number \(configuration?["generation"]?.number?.text ?? "0"), files: \(files)"
      )
    ]
    guard let reload = configuration?["last_reload"] else { return rows }
    rows.append(("Last reload", "\(word(reload["status"])) at \(word(reload["time"]))"))
    rows += (reload["problems"]?.array ?? []).map { ("", word($0)) }
    let restart = reload["restart_needed"]?.array ?? []
    if !restart.isEmpty { rows.append(("", "restart the server to apply: \(list(.array(restart)))")) }
    return rows
  }

  private var store: String {
    let store = document["store"]
    return word(store?["kind"]) + (store?["failure"].map { ": fails, \(word($0))" } ?? "")
  }

  private func trust(_ kind: JSONValue) -> String {
    let (failed, judged) = (kind["failed"]?.number?.text ?? "-", kind["judged"]?.number?.text ?? "-")
    let meaning = kind["kind"]?.string == "key" ? "required refuses" : "enforce refuses and audit counts"
    return "\(word(kind["kind"])): \(failed) of \(judged) did not pass, which \(meaning)"
  }

  private func token(_ scope: JSONValue) -> String {
    var facts: [String] = []
    if let left = scope["token_expires_in_seconds"]?.number { facts.append("valid for \(left) s") }
    if let last = scope["last_exchange"] {
      let age = scope["last_exchange_age_seconds"]?.number.map { " \($0) s ago" } ?? ""
      facts.append("last exchange \(word(last))\(age)")
    }
    if let pause = scope["cool_down_seconds"]?.number { facts.append("next exchange in \(pause) s") }
    return "\(word(scope["scope"])): " + (facts.isEmpty ? "not requested yet" : facts.joined(separator: ", "))
  }

  private func key(_ key: JSONValue) -> String {
    let age = key["age_seconds"]?.number.map { " for \($0) s" } ?? ""
    let retry = key["retry_in_seconds"]?.number.map { ", next try in \($0) s" } ?? ""
    return "\(word(key["key_id"])) (\(word(key["role"]))): \(word(key["state"]))\(age)\(retry)"
  }

  private func list(_ value: JSONValue?) -> String {
    let items = value?.array ?? []
    return items.isEmpty ? "none" : items.map(word).joined(separator: ", ")
  }

  private func word(_ value: JSONValue?) -> String { TerminalText.word(value) }
}

/// The texts about stops.
enum StopText {
  /// A sentence for each stop in a document, or one that says that nothing is paused.
  static func lines(_ document: JSONObject) -> [String] {
    let stops = document["stops"]?.array ?? []
    guard !stops.isEmpty else { return ["Nothing is paused now."] }
    return stops.flatMap { TerminalText.wrapped("Paused: \(describe($0))", indent: 2) }
  }

  /// The stops of a document as values of a row.
  static func values(_ document: JSONObject) -> [String] {
    let stops = document["stops"]?.array ?? []
    return stops.isEmpty ? ["nothing"] : stops.map(describe)
  }

  private static func describe(_ stop: JSONValue) -> String {
    func word(_ name: String) -> String? { stop[name]?.string.map(TerminalText.plain) }
    let what =
      switch word("action") {
      case "access": "tokens"
      case "callback": "callbacks"
      case "all": "everything"
      case let other: other ?? "everything"
      }
    let whom = word("scope") == "all" ? "everyone" : "\(word("scope") ?? "-") \(word("id") ?? "-")"
    return "\(what) for \(whom) since \(word("since") ?? "-")"
      + (word("until").map { ", until \($0)" } ?? "") + (word("operator").map { ", by \($0)" } ?? "")
      + (word("reason").map { ", because: \($0)" } ?? "")
  }
}

/// Formats texts for a terminal of 80 columns.
enum TerminalText {
  static let columns = 80
  private static let nameColumns = 15

  /// A text from elsewhere on one line, without characters that control a terminal.
  static func plain(_ text: String) -> String {
    String(quoted(text, limit: 1024).dropFirst().dropLast()).replacing("\\\"", with: "\"")
  }

  /// A text of a document, as `plain` shows it; `-` if there is none.
  static func word(_ value: JSONValue?) -> String { plain(value?.string ?? "-") }

  /// A time of a document to the minute: `2026-11-22T10:04:31.250Z` as `2026-11-22 10:04`.
  static func minute(_ value: JSONValue?) -> String {
    String(word(value).prefix(16)).replacing("T", with: " ")
  }

  /// A row of a table. The last cell has no width.
  static func cells(_ cells: [String], _ widths: [Int], _ last: String) -> String {
    zip(cells, widths).map { cell, width in
      cell + String(repeating: " ", count: max(1, width - cell.count))
    }.joined() + last
  }

  /// A name with a value beside it. Further lines of the value are aligned below the first.
  static func row(_ name: String, _ value: String) -> [String] {
    let lines = wrap(value, width: columns - nameColumns)
    return lines.enumerated().map { index, line in
      let name = index == 0 ? name : ""
      return name + String(repeating: " ", count: max(1, nameColumns - name.count)) + line
    }
  }

  /// A text in lines; those after the first are indented.
  static func wrapped(_ text: String, indent: Int) -> [String] {
    wrap(text, width: columns - indent).enumerated().map { index, line in
      (index == 0 ? "" : String(repeating: " ", count: indent)) + line
    }
  }

  /// Facts beside each other, separated by two spaces, in indented lines. A fact that is longer than a line
  /// is wrapped.
  static func packed(_ facts: [String], indent: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for fact in facts {
      if !line.isEmpty, line.count + 2 + fact.count > columns - indent {
        lines += wrap(line, width: columns - indent)
        line = fact
      } else {
        line += line.isEmpty ? fact : "  \(fact)"
      }
    }
    return (lines + wrap(line, width: columns - indent)).map { String(repeating: " ", count: indent) + $0 }
  }

  private static func wrap(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = String(word)
      } else {
        line += line.isEmpty ? String(word) : " \(word)"
      }
    }
    return lines + [line]
  }
}

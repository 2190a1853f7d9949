// Reads opening hours such as `mon-fri 09:00-18:00` from an answer to `callgate init`.

import Documents
import Gate

/// The opening hours in an answer: `mon-fri 09:00-18:00, sat 10:00-14:00`. The reader of rules checks them.
struct SetupHours: Sendable {
  /// Days with their windows of time, as in a `weekly` mapping.
  struct Entry: Sendable, Hashable {
    var days: String
    var windows: [String]
  }

  let weekly: [Entry]
  let timezone: String
  /// The schedule of these hours in their time zone.
  let schedule: Schedule

  /// Hours in a zone, both as typed.
  init(_ weekly: [Entry], timezone: String) throws(Refusal) {
    self.weekly = weekly
    self.timezone = timezone
    schedule = try Self.schedule(weekly, timezone: timezone)
  }

  /// Reads the days and windows of an answer, in any zone. Empty if the answer is empty or `none`, which
  /// means always open.
  static let read: @Sendable (String) throws(Refusal) -> [Entry] = { text throws(Refusal) in
    guard !text.isEmpty, text.lowercased() != "none" else { return [] }
    var entries: [Entry] = []
    for word in text.lowercased().split(whereSeparator: { $0 == " " || $0 == "," || $0 == "\t" }) {
      if word.first?.isNumber == true {
        guard !entries.isEmpty else { throw Refusal("\(quoted(text)) does not begin with a day", example) }
        entries[entries.count - 1].windows.append(String(word))
      } else if let last = entries.last, last.windows.isEmpty {
        entries[entries.count - 1].days += ",\(word)"
      } else {
        entries.append(Entry(days: String(word), windows: []))
      }
    }
    guard let last = entries.indices.last, !entries[last].windows.isEmpty else {
      // First check whether these are days at all.
      if let last = entries.indices.last { entries[last].windows = ["00:00-24:00"] }
      _ = try schedule(entries, timezone: "UTC")
      throw Refusal("\(quoted(text)) does not end with a window of time", example)
    }
    _ = try schedule(entries, timezone: "UTC")
    return entries
  }

  /// Reads the name of a time zone. Throws if the time zone is unknown.
  static let readZone: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    _ = try schedule([Entry(days: "mon-sun", windows: ["00:00-24:00"])], timezone: text)
    return text
  }

  private static let example = "write days and windows of time, as in mon-fri 09:00-18:00, sat 10:00-14:00"

  /// The schedule of these hours, read as the rule will be.
  private static func schedule(_ weekly: [Entry], timezone: String) throws(Refusal) -> Schedule {
    func text(_ text: String) -> DocumentNode { DocumentNode(.text(text)) }
    let days = weekly.map { entry in
      DocumentNode.Member(
        entry.days,
        entry.windows.count == 1 ? text(entry.windows[0]) : DocumentNode(.list(entry.windows.map(text))))
    }
    let rule = DocumentNode(
      .mapping([
        DocumentNode.Member("name", text(ruleName)), DocumentNode.Member("kind", text("hours")),
        DocumentNode.Member("timezone", text(timezone)),
        DocumentNode.Member("weekly", DocumentNode(.mapping(days))),
      ]))
    switch Policy.reading(DocumentNode(.list([rule]))) {
    case .policy(let policy):
      guard case .hours(let schedule)? = policy.rules.first?.kind else {
        preconditionFailure("a rule of the kind hours became another")
      }
      return schedule
    case .problems(let problems):
      throw Refusal(problems[0].message, problems[0].remedy)
    }
  }

  /// The name of the rule that these hours become.
  static let ruleName = "opening-hours"
}

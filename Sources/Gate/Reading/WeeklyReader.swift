// Reads weekly windows and dates of opening hours.

/// Reads the parts of opening hours.
enum WeeklyReader {
  /// The windows of Monday to Sunday under `weekly`, empty days where there is nothing; and under which key each day
  /// was written, as `weekly.mon-fri` for `weekly.wed`.
  static func read(from mapping: inout MappingReader) -> (days: [[OpeningWindow]], written: [String: String])
  {
    var weekly = [[OpeningWindow]](repeating: [], count: 7)
    var written: [String: String] = [:]
    var seen: Set<Int> = []
    for member in mapping.mapping("weekly", remedy: "write { mon-fri: \"09:00-18:00\" }") ?? [] {
      let key = "weekly.\(member.name)"
      guard let days = days(member.name) else {
        mapping.report(
          RuleError(
            key: key, problem: "\(quoted(member.name)) names no days",
            remedy: "write mon, tue, wed, thu, fri, sat or sun, a range as mon-fri, or a list as \"sat,sun\"")
        )
        continue
      }
      for day in days { written["weekly.\(Schedule.dayNames[day])"] = key }
      for day in days where !seen.insert(day).inserted {
        mapping.report(
          RuleError(
            key: key, problem: "\(Schedule.dayNames[day]) is given twice",
            remedy: "give each day once, with all its windows in a list"))
      }
      guard let windows = windows(member.value, key: key, &mapping) else { continue }
      for day in days { weekly[day] = windows }
    }
    return (weekly, written)
  }

  /// The days of `sat`, `mon-fri` (also past the week's end, as `fri-mon`) or `sat,sun`; nil for anything else.
  static func days(_ text: String) -> [Int]? {
    var days: [Int] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { word in
        Schedule.dayNames.firstIndex(of: word.filter { $0 != " " })
      }
      guard let first = ends.first, let start = first, ends.count <= 2, let last = ends.last, let end = last
      else { return nil }
      days += (0...(end - start + 7) % 7).map { (start + $0) % 7 }
    }
    return days
  }

  /// The windows of a day: one, or a list.
  static func windows(_ node: RuleNode, key: String, _ mapping: inout MappingReader) -> [OpeningWindow]? {
    guard let texts = mapping.texts(node, key: key) else { return nil }
    var windows: [OpeningWindow] = []
    for text in texts {
      do {
        windows.append(try OpeningWindow(text))
      } catch {
        mapping.report(error.under(key))
        return nil
      }
    }
    return windows
  }

  /// A date.
  static func date(_ text: String, key: String, _ mapping: inout MappingReader) -> CivilDate? {
    if let date = CivilDate(text) { return date }
    mapping.report(
      RuleError(key: key, problem: "\(quoted(text)) is not a date", remedy: "write it as \"2026-12-25\""))
    return nil
  }
}

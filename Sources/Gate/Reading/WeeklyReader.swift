// Reads the weekly opening hours of a rule, such as `mon-fri: "09:00-18:00"`.

import Documents

enum WeeklyReader {
  /// Reads the windows of each weekday under `weekly`, Monday first; a day without windows is empty.
  /// `written` has the key under which the file lists each day, such as `weekly.mon-fri` for `weekly.wed`.
  static func read(from mapping: inout MappingReader) -> (days: [[OpeningWindow]], written: [String: String])
  {
    var weekly = [[OpeningWindow]](repeating: [], count: 7)
    var written: [String: String] = [:]
    var seen: Set<Int> = []
    for member in mapping.members(RuleKeys.weekly, "write { mon-fri: \"09:00-18:00\" }") ?? [] {
      let key = "weekly.\(member.name)"
      guard let days = days(member.name) else {
        mapping.report(
          Refusal(
            at: key, "\(quoted(member.name)) is not a day or a range of days",
            "write mon, tue, wed, thu, fri, sat or sun, a range as mon-fri, or a list as \"sat,sun\"")
        )
        continue
      }
      for day in days { written["weekly.\(Schedule.dayNames[day])"] = key }
      for day in days where !seen.insert(day).inserted {
        mapping.report(
          Refusal(
            at: key, "\(Schedule.dayNames[day]) is given twice",
            "give each day once, with all its windows in a list"))
      }
      guard let windows = mapping.values(member.value, at: key, RuleKeys.window) else { continue }
      for day in days { weekly[day] = windows.map(\.value) }
    }
    return (weekly, written)
  }

  /// The days of `sat`, `mon-fri` or `sat,sun`, Monday being 0; nil for any other text. A range may continue
  /// past Sunday, as in `fri-mon`.
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
}

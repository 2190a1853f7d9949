// Reads settings from environment variables, and notes misspelled names.

import Documents
import Texts
import Upstream

extension PartialConfiguration {
  /// The older name of `DEFAULT_USERNAME`, from Talkdesk's own deploy button.
  static let usernameAlias = "DEFAULT_USER"

  /// Reads the settings in the environment. Empty variables count as unset. One line feed at the end of a
  /// secret is dropped, because tools that fill in secrets often leave one.
  package init(environment: [String: String], into problems: inout ProblemList) {
    for setting in Settings.scalars {
      guard let variable = setting.variable else { continue }
      let value = take(variable, from: environment).flatMap { text in
        setting.isRedacted ? secret(text, variable) : text
      }
      let path = setting.fileVariable.flatMap { take($0, from: environment) }
      if let value, let fileVariable = setting.fileVariable, path != nil {
        problems.add(
          .variable(variable), nil,
          Refusal("is set, and so is \(fileVariable)", "keep one of the two"))
        entries[setting] = Self.entry(setting, value, variable)
      } else if let value {
        entries[setting] = Self.entry(setting, value, variable)
      } else if let path, let fileVariable = setting.fileVariable {
        entries[setting] = Entry(content: .content(.file(path)), place: .variable(fileVariable))
      }
    }
    takeAlias(from: environment, into: &problems)
    if !emptyVariables.isEmpty {
      let names = emptyVariables.sorted()
      problems.note(
        .variable(names.joined(separator: ", ")),
        "set but empty; an empty variable counts as unset")
    }
  }

  private static func entry(_ setting: Setting, _ value: String, _ variable: String) -> Entry {
    if setting.form == .file { return Entry(content: .content(.file(value)), place: .variable(variable)) }
    guard setting.form == .list else { return Entry(content: .text(value), place: .variable(variable)) }
    let items = value.split(separator: ",", omittingEmptySubsequences: false).map { item in
      PlacedText(text: trimmed(item), place: .variable(variable))
    }
    return Entry(content: .list(items), place: .variable(variable))
  }

  /// An item without the spaces around it: people often type a space after a comma.
  private static func trimmed(_ item: Substring) -> String {
    let start = item.drop { $0 == " " }
    return String(start.reversed().drop { $0 == " " }.reversed())
  }

  private mutating func take(_ name: String, from environment: [String: String]) -> String? {
    guard let value = environment[name] else { return nil }
    if value.isEmpty { emptyVariables.insert(name) }
    return value.isEmpty ? nil : value
  }

  /// A variable's secret without a byte order mark and one final line feed; nil if nothing is left.
  private mutating func secret(_ text: String, _ variable: String) -> String? {
    var bytes = Array(text.utf8)
    bytes.dropByteOrderMark()
    bytes.dropFinalLineFeed()
    if bytes.isEmpty { emptyVariables.insert(variable) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  private mutating func takeAlias(from environment: [String: String], into problems: inout ProblemList) {
    guard let value = take(Self.usernameAlias, from: environment) else { return }
    let setting = Settings.username.setting
    if entries[setting] != nil {
      problems.note(.variable(Self.usernameAlias), "not used, because DEFAULT_USERNAME is set")
    } else {
      entries[setting] = Entry(content: .text(value), place: .variable(Self.usernameAlias))
      problems.note(.variable(Self.usernameAlias), "taken as DEFAULT_USERNAME; use that name")
    }
  }

  /// Notes variables that look like Callgate's but are unknown, except those that the YAML file names.
  static func noteUnknown(
    _ environment: [String: String], but named: Set<String>, into problems: inout ProblemList
  ) {
    let environment = environment.filter { !named.contains($0.key) }
    let settings = Settings.scalars
    let known = Set(
      settings.compactMap(\.variable) + settings.compactMap(\.fileVariable) + Settings.operatorTokenVariables)
    // Other programs have variables with the prefix `DEFAULT_`, so only near misses of our own count.
    let logins = known.filter { $0.hasPrefix("DEFAULT_") }.sorted() + [usernameAlias]
    for name in environment.keys.sorted() where name.hasPrefix("DEFAULT_") && !logins.contains(name) {
      guard let meant = Spelling.nearest(to: name, among: logins),
        Spelling.distance(Array(name.utf8), Array(meant.utf8)) <= 2
      else { continue }
      problems.note(.variable(name), "unknown and not used — did you mean \(meant)?")
    }
    for name in environment.keys.sorted()
    where (name.hasPrefix("TD_") || name.hasPrefix("CALLGATE_")) && !known.contains(name)
      && !isServiceLink(name)
    {
      let base = name.hasSuffix("_FILE") ? String(name.dropLast("_FILE".count)) : name
      if known.contains(base), base != name {
        problems.note(.variable(name), "unknown and not used: \(base) is not a secret, so set it directly")
      } else if let meant = Spelling.nearest(to: name, among: known.sorted()) {
        problems.note(.variable(name), "unknown and not used — did you mean \(meant)?")
      } else {
        problems.note(.variable(name), "unknown and not used")
      }
    }
  }

  /// Records a notice for each environment variable whose value is in quotation marks, of those that Callgate
  /// reads or the YAML file names. The notices do not show the values.
  static func noteQuotationMarks(
    _ environment: [String: String], and named: Set<String>, into problems: inout ProblemList
  ) {
    let settings = Settings.scalars
    let known = named.union(settings.compactMap(\.variable) + settings.compactMap(\.fileVariable))
      .union([usernameAlias]).union(ProxySettings.variables)
    for name in environment.keys.sorted() where known.contains(name) {
      guard let value = environment[name]?.unicodeScalars, value.count >= 2, let first = value.first,
        let last = value.last
      else { continue }
      if first.isCurlyQuotationMark, last.isCurlyQuotationMark {
        problems.note(
          .variable(name), "the value begins with \(first.unseenName) and ends with such a mark; remove both")
      }
      guard first == last, "\"'".unicodeScalars.contains(first) else { continue }
      problems.note(
        .variable(name),
        "the value begins and ends with a quotation mark; `docker run --env-file` keeps quotation marks, so remove them there"
      )
    }
  }

  /// Whether Kubernetes sets a variable: it adds such variables to the containers of a namespace that has a
  /// Service named `callgate`.
  private static func isServiceLink(_ name: String) -> Bool {
    name == "CALLGATE_PORT" || name.hasPrefix("CALLGATE_PORT_") || name.hasPrefix("CALLGATE_SERVICE_")
  }
}

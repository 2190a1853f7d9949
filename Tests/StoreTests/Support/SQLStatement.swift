// An SQL statement as it appears in the sources: a text with gaps where it is assembled from parts.

import Foundation
import TestSupport

struct SQLStatement {
  /// The parts between the gaps, each with normalized white space.
  let parts: [String]
  let file: String

  /// The whole statement; nil if it has gaps.
  var whole: String? { parts.count == 1 ? parts[0] : nil }

  /// Whether an SQL text contains all parts in order.
  func isPart(of sql: String) -> Bool {
    var rest = sql[...]
    for part in parts where !part.isEmpty {
      guard let found = rest.range(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }

  static func normalized(_ sql: String) -> String {
    sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// All statements in the sources of a room, and some conditions.
  static func all(in room: String) throws -> [SQLStatement] {
    let root = Checkout.root.appending(path: "Sources/\(room)")
    let names = try FileManager.default.subpathsOfDirectory(atPath: root.path()).sorted()
    return try names.filter { $0.hasSuffix(".swift") && !isOfSchema($0) }.flatMap { name in
      try literals(in: String(contentsOf: root.appending(path: name), encoding: .utf8)).compactMap { parts in
        let statement = SQLStatement(parts: parts.map(normalized), file: "\(room)/\(name)")
        let text = statement.parts.joined(separator: " … ")
        let isSQL = verbs.contains { text.hasPrefix($0) } || text.contains(#/\$[0-9]| = \?/#)
        return isSQL ? statement : nil
      }
    }
  }

  private static let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "]

  /// Whether a file belongs to the upgrade, whose statements only read the schema's own small tables.
  private static func isOfSchema(_ name: String) -> Bool {
    ["Schema/", "+Schema.swift", "PostgresUpgrade.swift"].contains { name.contains($0) }
  }

  /// The string literals in a source, each split at its interpolations.
  private static func literals(in source: String) -> [[String]] {
    let text = Array(source)
    var found: [[String]] = []
    var index = 0
    func hasQuotes(_ count: Int) -> Bool {
      index + count <= text.count && text[index..<index + count].allSatisfy { $0 == "\"" }
    }
    while index < text.count {
      if text[index] == "/", index + 1 < text.count, text[index + 1] == "/" {
        while index < text.count, text[index] != "\n" { index += 1 }
      }
      let quotes = hasQuotes(3) ? 3 : 1
      guard hasQuotes(quotes) else {
        index += 1
        continue
      }
      index += quotes
      var parts = [""]
      while index < text.count, !hasQuotes(quotes) {
        guard text[index] == "\\", index + 1 < text.count else {
          parts[parts.count - 1].append(text[index])
          index += 1
          continue
        }
        index += 2
        guard text[index - 1] == "(" else { continue }
        parts.append("")
        var depth = 1
        var isQuoted = false
        while depth > 0, index < text.count {
          switch text[index] {
          case "\"": isQuoted.toggle()
          case "(" where !isQuoted: depth += 1
          case ")" where !isQuoted: depth -= 1
          default: break
          }
          index += 1
        }
      }
      index += quotes
      found.append(parts)
    }
    return found
  }
}

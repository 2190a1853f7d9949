// Describes a JSON schema in HTML, for the schema features that this server uses.

import JSON

/// Writes schemas as HTML.
enum SchemaText {
  /// A whole schema: its description, and its properties or alternatives.
  static func html(_ schema: JSONValue) -> String {
    var parts: [String] = []
    if let text = schema["description"]?.string { parts.append("<p>\(HTMLText.inline(text))</p>\n") }
    if let alternatives = (schema["oneOf"] ?? schema["anyOf"])?.array {
      for alternative in alternatives {
        if let title = alternative["title"]?.string { parts.append("<h4>\(HTMLText.escaped(title))</h4>\n") }
        parts.append(html(alternative))
      }
    } else if let properties = schema["properties"]?.object {
      let required = Set((schema["required"]?.array ?? []).compactMap(\.string))
      var rows = properties.members.map { name, value in
        [
          HTMLText.code(name) + (required.contains(name) ? " <small>required</small>" : ""), type(value),
          HTMLText.inline(value["description"]?.string ?? ""),
        ]
      }
      if let others = schema["additionalProperties"], others.object != nil {
        rows.append(["any name", type(others), ""])
      }
      parts.append(table(["Member", "Type", "Meaning"], rows))
      for (name, value) in properties.members where isNested(value) {
        parts.append("<h4>\(HTMLText.code(name))</h4>\n\(html(value["items"] ?? value))")
      }
    } else {
      parts.append("<p>\(type(schema))</p>\n")
    }
    return parts.joined()
  }

  /// Whether a member has members of its own that no other schema describes.
  private static func isNested(_ schema: JSONValue) -> Bool {
    schema["properties"] != nil || schema["oneOf"] != nil || schema["items"]?["properties"] != nil
  }

  /// A type in a few words.
  static func type(_ schema: JSONValue) -> String {
    if let name = DocsPage.referred(schema) { return DocsPage.link(name) }
    if let value = schema["const"] { return HTMLText.code(HTMLText.pretty(value)) }
    if let values = (schema["enum"] ?? schema["x-extensible-enum"])?.array {
      return values.map { HTMLText.code($0.string ?? HTMLText.pretty($0)) }.joined(separator: " ")
    }
    if let alternatives = (schema["anyOf"] ?? schema["oneOf"])?.array {
      return alternatives.map(type).joined(separator: " or ")
    }
    let names = schema["type"].map { $0.array?.compactMap(\.string) ?? [$0.string ?? ""] } ?? ["anything"]
    var words = names.joined(separator: " or ")
    if let items = schema["items"] { words += " of \(type(items))" }
    if let format = schema["format"]?.string { words += ", \(format)" }
    if let others = schema["additionalProperties"], others.object != nil { words += " of \(type(others))" }
    if let pattern = schema["pattern"]?.string { words += " \(HTMLText.code(pattern))" }
    for (name, word) in [
      ("minimum", "from"), ("maximum", "to"), ("minLength", "at least"), ("maxLength", "at most"),
      ("maxItems", "at most"),
    ] {
      if let number = schema[name]?.number { words += " \(word) \(number)" }
    }
    return words
  }

  /// A table with a head, which scrolls alone on a narrow screen.
  static func table(_ head: [String], _ rows: [[String]]) -> String {
    let cells = head.map { "<th scope=\"col\">\($0)</th>" }.joined()
    let lines = rows.map { row in "<tr>\(row.map { "<td>\($0)</td>" }.joined())</tr>\n" }.joined()
    return """
      <div class="scroll" tabindex="0" role="group" aria-label="Table"><table>
      <thead><tr>\(cells)</tr></thead>
      <tbody>
      \(lines)</tbody>
      </table></div>

      """
  }
}

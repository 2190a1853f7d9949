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
        if let title = alternative["title"]?.string { parts.append("<h3>\(HTMLText.escaped(title))</h3>\n") }
        parts.append(html(alternative))
      }
    } else if let properties = schema["properties"]?.object {
      let required = Set((schema["required"]?.array ?? []).compactMap(\.string))
      var rows = properties.members.map { name, value in
        let meaning = HTMLText.inline(value["description"]?.string ?? "")
        let isRequired = required.contains(name) ? "required, " : ""
        return (HTMLText.code(name), "\(meaning)<small>\(isRequired)\(type(value))</small>")
      }
      if let others = schema["additionalProperties"], others.object != nil {
        rows.append(("any name", "<small>\(type(others))</small>"))
      }
      parts.append(list(rows))
      for (name, value) in properties.members where isNested(value) {
        parts.append("<h3>\(HTMLText.code(name))</h3>\n\(html(value["items"] ?? value))")
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
    if let name = DocsPages.referred(schema) { return DocsPages.link(name) }
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

  /// A list of names and descriptions, as markup. Unlike a table, the list fits a narrow screen.
  static func list(_ rows: [(String, String)]) -> String {
    "<dl>\n\(rows.map { "<dt>\($0)</dt>\n<dd>\($1)</dd>\n" }.joined())</dl>\n"
  }
}

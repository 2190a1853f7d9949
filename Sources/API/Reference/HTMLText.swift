// Escapes text for HTML, and sets the security policy of generated pages.

package import HTTP
import JOSE
import JSON
import Pages

/// Writes HTML. It escapes all text.
package enum HTMLText {
  /// The header fields of a page without scripts. The policy allows only the style inside the page, by its
  /// digest, and images in `data:` URLs: no frame around the page, and nothing from other hosts.
  package static func pageFields(style: String) -> Fields {
    pageFields(policy: "style-src \(source(style)); ")
  }

  /// The header fields of a page whose style and script are files of its own origin. The script writes text,
  /// but no markup.
  /// - Parameter asksServer: Whether the script sends requests, to its own origin.
  package static func pageFields(asksServer: Bool) -> Fields {
    pageFields(
      policy: "style-src 'self'; script-src 'self'; \(asksServer ? "connect-src 'self'; " : "")"
        + "require-trusted-types-for 'script'; trusted-types 'none'; ")
  }

  private static func pageFields(policy: String) -> Fields {
    [
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; \(policy)img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "Referrer-Policy": "no-referrer",
    ]
  }

  /// An inline element's text as a source of the policy (CSP 3 §2.3.1).
  private static func source(_ text: String) -> String {
    "'sha256-\(Base64.encode(SHA256.digest(Array(text.utf8))))'"
  }

  /// A text, escaped for use between tags or in a quoted attribute.
  static func escaped(_ text: some StringProtocol) -> String { HTMLEscaping.escaped(text) }

  /// A text in which text between backticks becomes code.
  static func inline(_ text: some StringProtocol) -> String {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .map { index, part in index % 2 == 0 ? escaped(part) : code(part) }.joined()
  }

  static func code(_ text: some StringProtocol) -> String { "<code>\(escaped(text))</code>" }

  /// The paragraphs of a text, which empty lines separate.
  static func paragraphs(_ text: String) -> String {
    text.split(separator: "\n\n").map { "<p>\(inline($0))</p>\n" }.joined()
  }

  /// JSON with each member and element on its own line, indented by two spaces per level.
  static func pretty(_ value: JSONValue, _ depth: Int = 0) -> String {
    let inner = String(repeating: "  ", count: depth + 1)
    let outer = String(repeating: "  ", count: depth)
    switch value {
    case .object(let object) where !object.isEmpty:
      let members = object.members.map { name, value in
        inner + serialized(.string(name)) + ": " + pretty(value, depth + 1)
      }
      return "{\n\(members.joined(separator: ",\n"))\n\(outer)}"
    case .array(let elements) where !elements.isEmpty:
      let lines = elements.map { inner + pretty($0, depth + 1) }
      return "[\n\(lines.joined(separator: ",\n"))\n\(outer)]"
    default: return serialized(value)
    }
  }

  private static func serialized(_ value: JSONValue) -> String {
    String(decoding: value.serialized(), as: UTF8.self)
  }
}

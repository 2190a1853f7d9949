// Writes JSON for people to read, as in generated files.

extension JSONValue {
  /// The value with each member on its own line, indented by two spaces per level. The elements of an array
  /// follow each other without line breaks.
  package var indented: String { indented("") }

  private func indented(_ margin: String) -> String {
    switch self {
    case .object(let object) where !object.isEmpty:
      let inner = margin + "  "
      let members = object.members.map { member in
        inner + JSONValue.string(member.name).text + ": " + member.value.indented(inner)
      }
      return "{\n" + members.joined(separator: ",\n") + "\n\(margin)}"
    case .array(let elements):
      return "[" + elements.map { $0.indented(margin) }.joined(separator: ", ") + "]"
    default:
      return text
    }
  }

  private var text: String { String(decoding: serialized(), as: UTF8.self) }
}

// Tests that declared keys are read and unknown ones refused, and that the JSON Schema agrees.

import Documents
import JSON
import Testing

/// A mapping with keys of each form.
private enum Keys {
  enum Mode: String, CaseIterable { case on, off }

  static let name = Key<String>.one("name", .text, required: "give it a name", "Its name.")
  static let mode = Key<Mode>.one("mode", .choice, "Its mode.")
  static let count = Key<Int>.one("count", .number(1...9, of: "a count"), "How many.")
  static let span = Key<Duration>.one("span", .duration(.zero ... .seconds(60)), "How long.")
  static let flag = Key<Bool>.one("flag", .boolean, "Whether.")
  static let words = Key<String>.many("words", .text, "Words.")
  static let list = Key<String>.list("list", .text, "A list.")
  static let file = Key<String>.one("secret_file", .text, "A file.")
  static let all: [any DeclaredKey] = [name, mode, count, span, flag, words, list, file]

  /// Reads all keys and returns the problems.
  static func problems(_ members: [DocumentNode.Member]) -> [String] {
    var reader = MappingReader(DocumentNode(.mapping(members)), path: "thing")
    _ = (reader.value(name), reader.value(mode), reader.value(count), reader.value(span))
    _ = (reader.value(flag), reader.values(words), reader.values(list), reader.value(file))
    reader.finish(all)
    return reader.problems.map(\.description)
  }
}

@Suite struct MappingReaderTests {
  private static let name = DocumentNode.Member("name", DocumentNode(.text("a")))
  private static let two = DocumentNode(.list([DocumentNode(.text("a")), DocumentNode(.text("a"))]))

  @Test(arguments: [
    ("mode", DocumentNode(.text("of")), "mode: \"of\" is unknown here — use one of on, off"),
    ("mode", DocumentNode(.text("")), "mode: is empty — fill it in, or remove the line"),
    (
      "count", DocumentNode(.text("10")),
      "count: \"10\" is not a count from 1 to 9 — write a whole number in digits"
    ),
    ("count", two, "count: is a list, not a single value — write one value"),
    (
      "span", DocumentNode(.text("9")),
      "span: \"9\" has no unit — write 9s for seconds (units: ms, s, m, h, d)"
    ),
    ("span", DocumentNode(.text("2m")), "span: \"2m\" is out of range — choose from 0s to 1m"),
    ("flag", DocumentNode(.text("yes")), "flag: \"yes\" is neither true nor false — write true or false"),
    ("words", two, "words: lists an item twice — keep one of them"),
    ("words", DocumentNode(.mapping([])), "words: is a mapping, not a list — write it as [ITEM, ITEM]"),
    ("list", DocumentNode(.text("a")), "list: is a text, not a list — write it as [ITEM, ITEM]"),
    ("conut", DocumentNode(.text("1")), "conut: unknown key — did you mean count?"),
    (
      "secret", DocumentNode(.text("canary")),
      "secret: unknown key — this file cannot hold a secret: did you mean secret_file, the path of a file?"
    ),
  ])
  func `a mistake is named with its key and what mends it`(key: String, value: DocumentNode, line: String) {
    #expect(Keys.problems([Self.name, .init(key, value)]) == ["default: thing." + line])
  }

  @Test func `a key that is missing beside its misspelt name is one mistake`() {
    #expect(Keys.problems([]) == ["default: thing: has no name — give it a name"])
    #expect(
      Keys.problems([.init("nmae", DocumentNode(.text("a")))])
        == ["default: thing.nmae: unknown key — did you mean name?"])
  }

  @Test func `a key that is read and not declared is a bug`() async {
    await #expect(processExitsWith: .failure) {
      var reader = MappingReader(DocumentNode(.mapping([])), path: "")
      _ = reader.node("undeclared")
      reader.finish([])
    }
  }

  @Test func `the schema has the declared keys, and no others`() throws {
    let text = Shape.mapping(Keys.all, exactlyOne: ["mode", "flag"]).schema(title: "A thing")
    guard case .object(let schema) = try JSONValue(parsing: Array(text.utf8)),
      case .object(let properties)? = schema["properties"]
    else {
      Issue.record("no schema: \(text)")
      return
    }
    #expect(properties.members.map(\.name) == Keys.all.map(\.name))
    #expect(schema["required"] == ["name"])
    #expect(schema["additionalProperties"] == false)
    #expect(schema["oneOf"] == [["required": ["mode"]], ["required": ["flag"]]])
    #expect(properties["mode"] == ["enum": ["on", "off"], "description": "Its mode."])
    #expect(properties["list"]?["type"] == "array")
  }
}

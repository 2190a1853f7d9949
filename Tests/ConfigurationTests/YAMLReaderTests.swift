// Tests of how YAML files are read, and which YAML features are refused.

import Documents
import Testing

@testable import Configuration

@Suite struct YAMLReaderTests {
  private func read(_ text: String) -> (node: DocumentNode?, problems: [String]) {
    var problems = ProblemList()
    let node = YAMLReader.read(Array(text.utf8), name: "c", into: &problems)
    return (node, problems.problems.map(\.description))
  }

  private func texts(_ node: DocumentNode?) -> [String] {
    switch node?.content {
    case .text(let text, _): [text]
    case .list(let items): items.flatMap(texts)
    case .mapping(let members): members.flatMap { [$0.name] + texts($0.value) }
    case nil: []
    }
  }

  @Test func `no text is taken for anything else`() {
    let words = [
      "on", "off", "yes", "no", "true", "null", "~", "22:00", "2026-12-25", "+1", "0x10", "1_000", "1e3",
      ".5", "=",
    ]
    let (node, problems) = read(words.map { "- \($0)\n" }.joined())
    #expect(problems.isEmpty)
    #expect(texts(node) == words)
    #expect(texts(read("on: off\n1: 2\n").node) == ["on", "off", "1", "2"])
  }

  @Test func `quotes make no difference, except between nothing and an empty text`() {
    #expect(texts(read("[a, 'a', \"a\"]").node) == ["a", "a", "a"])
    let (node, _) = read("{ a: , b: '' }")
    guard case .mapping(let members) = node?.content else {
      Issue.record("no mapping")
      return
    }
    #expect(members.map(\.value.isNothing) == [true, false])
  }

  @Test func `null is nothing, and in quotes a text`() {
    let (node, _) = read("[~, null, Null, NULL, '', '~', 'null', nULL, nil, none]")
    guard case .list(let items) = node?.content else {
      Issue.record("no list")
      return
    }
    #expect(items.map(\.isNothing) == [true, true, true, true] + Array(repeating: false, count: 6))
  }

  @Test func `every piece knows its place`() {
    let (node, _) = read("listen:\n  host: x\n  ports: [1,\n    2]\n")
    guard case .mapping(let top) = node?.content, case .mapping(let inner) = top.first?.value.content,
      case .list(let items) = inner.last?.value.content
    else {
      Issue.record("another shape")
      return
    }
    #expect(top[0].place == .file("c", line: 1, column: 1))
    #expect(inner[0].value.place == .file("c", line: 2, column: 9))
    #expect(items.map(\.place) == [.file("c", line: 3, column: 11), .file("c", line: 4, column: 5)])
  }

  @Test(arguments: ["", "\n\n", "# nothing but words\n", "---\n", "---\n...\n"])
  func `an empty file says nothing`(_ text: String) {
    let (node, problems) = read(text)
    #expect(node == nil)
    #expect(problems.isEmpty)
  }

  @Test(arguments: [
    ("a: 1\nb: 2\na: 3\n", "c:1:1: \"a\" is written more than once in one mapping — keep one of them"),
    ("a: 1\n\"a\": 3\n", "c:1:1: \"a\" is written more than once in one mapping — keep one of them"),
    ("a: &x 1\nb: *x\n", "c:1:4: anchors and aliases (& and *) are not supported — write the value out"),
    ("b: *x\n", "c:1:4: anchors and aliases (& and *) are not supported — write the value out"),
    ("&x a: 1\n", "c:1:1: anchors and aliases (& and *) are not supported — write the value out"),
    ("a: { <<: { b: 1 } }\n", "c:1:6: merge keys (<<) are not supported — write the members out"),
    ("a: !!int 1\n", "c:1:4: tags (!) are not supported — write the value alone"),
    ("a: !secret x\n", "c:1:4: tags (!) are not supported — write the value alone"),
    ("a: !!set { x }\n", "c:1:4: tags (!) are not supported — write the value alone"),
    ("a: !foo [x]\n", "c:1:4: tags (!) are not supported — write the value alone"),
    ("a: 1\n---\nb: 1\n", "c:2:1: a second document starts here — keep one document per file"),
    ("? [a, b]\n: 1\n", "c:1:3: a key must be a plain text — write KEY: VALUE"),
    (
      "a: [1, 2\nb: 3\n",
      "c:2:2: YAML: did not find expected ',' or ']', while parsing a flow sequence that began in line 1 — check "
        + "indentation, brackets and quotes here and on the line before"
    ),
    (
      "a: 1\n b: 2\n",
      "c:2:3: YAML: mapping values are not allowed in this context — check indentation, brackets and quotes here and "
        + "on the line before"
    ),
    (
      "a: 1\n\tb: 2\n",
      "c:2:1: a tab is used for indentation — YAML allows spaces only: replace the tab"
    ),
    (
      "a: \u{7}\n",
      "c:1:1: YAML: control characters are not allowed — remove the character U+0007; only printable text "
        + "belongs here"
    ),
  ])
  func `what would surprise is refused`(_ text: String, _ problem: String) {
    let (node, problems) = read(text)
    #expect(node == nil)
    #expect(problems == [problem])
  }

  @Test func `aliases upon aliases are refused at once`() {
    var text = "a0: &a0 [x]\n"
    for level in 1...40 { text += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
    let problems = read(text).problems
    #expect(problems.count == 41)
  }

  @Test func `a file of nothing but mistakes is told in a hundred problems`() {
    #expect(read(String(repeating: "- &a x\n", count: 99)).problems.count == 99)
    let most = YAMLReader.maximumBytes / 7
    #expect(read(String(repeating: "- &a x\n", count: most)).problems.count == 100)
  }

  @Test func `a mistake below the deepest level counts, and so does a key in it`() {
    let deep = String(repeating: "[", count: 40)
    #expect(read(deep + "a: b: c").problems.allSatisfy { $0.contains("YAML: ") })
    #expect(
      read(deep + "{a: 1, a: 2}" + String(repeating: "]", count: 40)).problems == [
        "c:1:34: is nested deeper than 32 levels — flatten it"
      ])
  }

  @Test func `keys that differ by octets are two`() {
    #expect(texts(read("\u{E9}: 1\ne\u{301}: 2\n").node) == ["\u{E9}", "1", "e\u{301}", "2"])
    #expect(
      read("b: 1\nc: 2\na: 3\nc: 4\nb: 5\n").problems == [
        "c:1:1: \"b\", \"c\" is written more than once in one mapping — keep one of them"
      ])
  }

  @Test func `an alias stands for a node before it, and none contains itself`() {
    let refusal = "anchors and aliases (& and *) are not supported — write the value out"
    #expect(read("a: &x [b, *x]\n").problems == ["c:1:11: \(refusal)"])
    #expect(read("a: &x [b]\nc: [*x, *x]\n").problems == ["c:1:4: \(refusal)"])
  }

  @Test func `tags that say what a value is anyway are taken`() {
    #expect(
      texts(read("{!!str a: !!str 5, b: ! x, c: !!seq [y], d: !!map {e: f}}").node) == [
        "a", "5", "b", "x", "c", "y", "d", "e", "f",
      ])
    #expect(
      read("!!str a: 1\n!foo b: 2\n").problems == [
        "c:2:1: tags (!) are not supported — write the value alone"
      ])
  }

  @Test func `deep nesting is refused`() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(read(nested(YAMLReader.maximumDepth + 1)).problems.isEmpty)
    #expect(
      read(nested(YAMLReader.maximumDepth + 2)).problems == [
        "c:1:34: is nested deeper than 32 levels — flatten it"
      ])
    #expect(read(nested(100_000)).problems == ["c:1:1: is nested deeper than 32 levels — flatten it"])
  }

  @Test func `bytes that are not UTF-8 are named by their place`() {
    var problems = ProblemList()
    let node = YAMLReader.read([0x61, 0x3A, 0x20, 0x0A, 0xC3, 0xA4, 0xFF], name: "c", into: &problems)
    #expect(node == nil)
    #expect(problems.problems.map(\.description) == ["c:2:3: is not UTF-8 — save the file as UTF-8"])
  }

  @Test func `a file is taken up to its limit`() {
    let comment = "#" + String(repeating: "x", count: YAMLReader.maximumBytes - 1)
    #expect(read(comment).problems.isEmpty)
    #expect(
      read(comment + "x").problems == [
        "c:1:1: is larger than 1048576 bytes — this is not a configuration; name another file"
      ])
  }
}

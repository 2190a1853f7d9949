// Reads a YAML file into nodes with line numbers, and refuses YAML features that surprise people.

package import Documents
import Texts
import Yams

/// Reads YAML into ``DocumentNode``s, refusing what would surprise: several documents, duplicate keys, anchors,
/// aliases, merge keys and tags.
package enum YAMLReader {
  /// The largest file taken, in bytes.
  package static let maximumBytes = 1 << 20
  /// The deepest nesting taken.
  static let maximumDepth = 32

  /// Reads a whole file. Nil is an empty one. Problems are appended, and then nil is returned too.
  package static func read(_ bytes: [UInt8], name: String, into problems: inout ProblemList) -> DocumentNode?
  {
    guard bytes.count <= maximumBytes else {
      problems.add(
        .file(name, line: 1, column: 1), nil,
        Refusal("is larger than \(maximumBytes) bytes", "this is not a configuration; name another file"))
      return nil
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      let offset = firstInvalidByte(bytes)
      let line = bytes[..<offset].count { $0 == 0x0A } + 1
      let column = offset - (bytes[..<offset].lastIndex(of: 0x0A) ?? -1)
      problems.add(
        .file(name, line: line, column: column), nil, Refusal("is not UTF-8", "save the file as UTF-8"))
      return nil
    }
    do {
      // The parser holds the anchors: it must live until the walk is over.
      let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
      guard let root = try parser.singleRoot() else { return nil }
      return withExtendedLifetime(parser) {
        var walk = Walk(name: name)
        let node = walk.node(root, depth: 0)
        problems.add(contentsOf: walk.problems)
        return walk.problems.isEmpty && !node.isNothing ? node : nil
      }
    } catch let error as YamlError {
      let (place, refusal) = tab(error, text, name: name) ?? describe(error, name: name)
      problems.add(place, nil, refusal)
    } catch {
      // Yams throws nothing else; its words hold none of the file's.
      problems.add(
        .file(name, line: 1, column: 1), nil, Refusal("cannot be read as YAML", "check its syntax"))
    }
    return nil
  }

  private static func firstInvalidByte(_ bytes: [UInt8]) -> Int {
    var low = 0
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue(let scalar): low += UTF8.width(scalar)
      case .emptyInput, .error: return min(low, max(bytes.count - 1, 0))
      }
    }
  }

  /// A tab in the indentation of the line that the parser stopped at; nil where there is none.
  private static func tab(
    _ error: YamlError, _ text: String, name: String
  ) -> (DocumentPlace, Refusal)? {
    let mark: Mark
    switch error {
    case .scanner(_, _, let found, _), .parser(_, _, let found, _): mark = found
    default: return nil
    }
    let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard lines.indices.contains(mark.line - 1) else { return nil }
    let indentation = lines[mark.line - 1].prefix { $0 == 0x20 || $0 == 0x09 }
    guard let tab = indentation.firstIndex(of: 0x09) else { return nil }
    let column = indentation.distance(from: indentation.startIndex, to: tab) + 1
    return (
      .file(name, line: mark.line, column: column),
      Refusal("a tab is used for indentation", "YAML allows spaces only: replace the tab")
    )
  }

  /// A parser's error in our form. Only its fixed words are taken over: the snippet it offers may show a secret.
  private static func describe(_ error: YamlError, name: String) -> (DocumentPlace, Refusal) {
    func place(_ mark: Mark) -> DocumentPlace { .file(name, line: mark.line, column: mark.column) }
    switch error {
    case .scanner(_, let problem, _, _) where problem.hasPrefix("Maximum nesting"),
      .parser(_, let problem, _, _) where problem.hasPrefix("Maximum nesting"):
      return (
        .file(name, line: 1, column: 1),
        Refusal("is nested deeper than \(maximumDepth) levels", "flatten it")
      )
    case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _):
      let about = context.map { ", \($0.text) that began in line \($0.mark.line)" } ?? ""
      return (
        place(mark),
        Refusal(
          "YAML: \(problem)\(about)", "check indentation, brackets and quotes here and on the line before")
      )
    case .composer(_, "found undefined alias", let mark, _):
      return (place(mark), Walk.anchorRefusal)
    case .composer(_, "but found another document", let mark, _):
      return (place(mark), Refusal("a second document starts here", "keep one document per file"))
    case .composer(_, let problem, let mark, _):
      return (place(mark), Refusal("YAML: \(problem)", "check the syntax here"))
    case .duplicatedKeysInMapping(let names, let context):
      let list = names.map { quoted($0) }.joined(separator: ", ")
      return (
        place(context.mark), Refusal("\(list) is written more than once in one mapping", "keep one of them")
      )
    case .reader(let problem, let offset, _, let yaml):
      let before = yaml.prefix(offset ?? 0)
      let line = before.utf8.count { $0 == 0x0A } + 1
      return (
        .file(name, line: line, column: 1),
        Refusal("YAML: \(problem)", "remove the character; only printable text belongs here")
      )
    case .memory:
      return (.file(name, line: 1, column: 1), Refusal("YAML: nested too deeply", "flatten it"))
    default:
      return (.file(name, line: 1, column: 1), Refusal("cannot be read as YAML", "check its syntax"))
    }
  }

  /// The walk over what Yams composed.
  private struct Walk {
    static let anchorRefusal = Refusal(
      "anchors and aliases (& and *) are not supported", "write the value out")

    let name: String
    var problems: [DocumentProblem] = []

    mutating func node(_ node: Node, depth: Int) -> DocumentNode {
      let place = place(node.mark)
      guard depth <= maximumDepth else {
        return refused(place, Refusal("is nested deeper than \(maximumDepth) levels", "flatten it"))
      }
      // Not going below an anchor also keeps nested aliases from multiplying.
      guard node.anchor == nil else { return refused(place, Self.anchorRefusal) }
      switch node {
      case .scalar(let scalar):
        guard isPlain(scalar.tag, .str) else { return refusedTag(place) }
        return DocumentNode(place: place, .text(scalar.string, isPlain: scalar.style == .plain))
      case .sequence(let sequence):
        guard isPlain(sequence.tag, .seq) else { return refusedTag(place) }
        var items: [DocumentNode] = []
        for item in sequence { items.append(self.node(item, depth: depth + 1)) }
        return DocumentNode(place: place, .list(items))
      case .mapping(let mapping):
        guard isPlain(mapping.tag, .map) else { return refusedTag(place) }
        var members: [DocumentNode.Member] = []
        for (key, value) in mapping { member(key, value, depth: depth, into: &members) }
        return DocumentNode(place: place, .mapping(members))
      case .alias:
        return refused(place, Self.anchorRefusal)
      }
    }

    private mutating func member(
      _ key: Node, _ value: Node, depth: Int, into members: inout [DocumentNode.Member]
    ) {
      let keyPlace = place(key.mark)
      guard key.anchor == nil else {
        _ = refused(keyPlace, Self.anchorRefusal)
        return
      }
      guard case .scalar(let scalar) = key else {
        _ = refused(keyPlace, Refusal("a key must be a plain text", "write KEY: VALUE"))
        return
      }
      guard isPlain(scalar.tag, .str) else {
        _ = refusedTag(keyPlace)
        return
      }
      guard scalar.string != "<<" else {
        _ = refused(keyPlace, Refusal("merge keys (<<) are not supported", "write the members out"))
        return
      }
      guard !members.contains(where: { $0.name.hasSameBytes(as: scalar.string) }) else {
        _ = refused(
          keyPlace,
          Refusal("\(quoted(scalar.string)) is written more than once in one mapping", "keep one of them"))
        return
      }
      let content = node(value, depth: depth + 1)
      members.append(DocumentNode.Member(scalar.string, place: keyPlace, content))
    }

    /// Untagged, or tagged as what it is anyway.
    private func isPlain(_ tag: Tag, _ expected: Tag.Name) -> Bool {
      tag == Tag(.implicit) || tag == Tag(.nonSpecific) || tag == Tag(expected)
    }

    private func place(_ mark: Mark?) -> DocumentPlace {
      .file(name, line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    private mutating func refusedTag(_ place: DocumentPlace) -> DocumentNode {
      refused(place, Refusal("tags (!) are not supported", "write the value alone"))
    }

    private mutating func refused(_ place: DocumentPlace, _ refusal: Refusal) -> DocumentNode {
      problems.append(DocumentProblem(place, nil, refusal))
      return DocumentNode(place: place, .text("", isPlain: true))
    }
  }
}

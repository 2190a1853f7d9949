// Reads a YAML file into nodes with line numbers, and refuses YAML features that surprise people.

package import Documents
import Texts

/// Reads YAML into ``DocumentNode``s, and refuses what would surprise people: several documents, duplicate
/// keys, anchors, aliases, merge keys and tags.
package enum YAMLReader {
  /// The largest accepted file, in bytes.
  package static let maximumBytes = 1 << 20
  /// The maximum number of problems that are reported at once. A file of anchors alone would have a hundred
  /// thousand.
  static let maximumProblems = 100
  /// The maximum depth of nesting.
  static let maximumDepth = 32

  /// Reads a whole file. Returns nil if the file is empty, or if it has problems, which are appended.
  package static func read(_ bytes: [UInt8], name: String, into problems: inout ProblemList) -> DocumentNode?
  {
    guard bytes.count <= maximumBytes else {
      problems.add(
        .file(name, line: 1, column: 1), nil,
        Refusal("is larger than \(maximumBytes) bytes", "this is not a configuration; name another file"))
      return nil
    }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      let offset = firstInvalidByte(bytes)
      let line = bytes[..<offset].count { $0 == 0x0A } + 1
      let column = offset - (bytes[..<offset].lastIndex(of: 0x0A) ?? -1)
      problems.add(
        .file(name, line: line, column: column), nil, Refusal("is not UTF-8", "save the file as UTF-8"))
      return nil
    }
    do throws(YAMLMistake) {
      guard let root = try YAMLComposer.root(of: bytes, maximumDepth: maximumDepth + 1) else { return nil }
      var walk = Walk(name: name)
      let node = walk.node(root, depth: 0)
      problems.add(contentsOf: walk.problems)
      return walk.problems.isEmpty && !node.isNothing ? node : nil
    } catch {
      let (place, refusal) =
        tab(error, bytes, name: name) ?? unseen(error, bytes, name: name)
        ?? describe(error, bytes, name: name)
      problems.add(place, nil, refusal)
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

  /// A tab in the indentation of the line at which the parser stopped; nil if there is none.
  private static func tab(
    _ mistake: YAMLMistake, _ bytes: [UInt8], name: String
  ) -> (DocumentPlace, Refusal)? {
    guard case .failure(let failure) = mistake, case .syntax = failure.kind else { return nil }
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard lines.indices.contains(failure.mark.line - 1) else { return nil }
    let indentation = lines[failure.mark.line - 1].prefix { $0 == 0x20 || $0 == 0x09 }
    guard let tab = indentation.firstIndex(of: 0x09) else { return nil }
    return (
      .file(name, line: failure.mark.line, column: tab - indentation.startIndex + 1),
      Refusal("a tab is used for indentation", "YAML allows spaces only: replace the tab")
    )
  }

  /// A character that looks like a space, or like nothing, in the line at which the parser stopped or in the
  /// line before it; nil if there is none. YAML reads such a character as part of a key or value.
  private static func unseen(
    _ mistake: YAMLMistake, _ bytes: [UInt8], name: String
  ) -> (DocumentPlace, Refusal)? {
    guard case .failure(let failure) = mistake, case .syntax = failure.kind else { return nil }
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    for line in [failure.mark.line, failure.mark.line - 1] where lines.indices.contains(line - 1) {
      let scalars = String(decoding: lines[line - 1], as: UTF8.self).unicodeScalars
      guard let index = scalars.firstIndex(where: { $0.isUnseen && !"\t\r".unicodeScalars.contains($0) })
      else { continue }
      return (
        .file(name, line: line, column: scalars.distance(from: scalars.startIndex, to: index) + 1),
        Refusal("YAML: \(failure.problem)", "replace \(scalars[index].unseenName)")
      )
    }
    return nil
  }

  /// A parser's error as a position and a refusal. Of libyaml's error, only the fixed words are used, because
  /// the text may contain a secret.
  private static func describe(
    _ mistake: YAMLMistake, _ bytes: [UInt8], name: String
  ) -> (DocumentPlace, Refusal) {
    func place(_ mark: YAMLMark) -> DocumentPlace { .file(name, line: mark.line, column: mark.column) }
    let start = DocumentPlace.file(name, line: 1, column: 1)
    switch mistake {
    case .tooDeep:
      return (start, Refusal("is nested deeper than \(maximumDepth) levels", "flatten it"))
    case .undefinedAlias(let mark):
      return (place(mark), Walk.anchorRefusal)
    case .secondDocument(let mark):
      return (place(mark), Refusal("a second document starts here", "keep one document per file"))
    case .duplicateKeys(let names, let mark):
      let list = names.map { quoted($0) }.joined(separator: ", ")
      return (place(mark), Refusal("\(list) is written more than once in one mapping", "keep one of them"))
    case .failure(let failure):
      switch failure.kind {
      case .syntax:
        let about = failure.context.map { ", \($0.text) that began in line \($0.line)" } ?? ""
        return (
          place(failure.mark),
          Refusal(
            "YAML: \(failure.problem)\(about)",
            "check indentation, brackets and quotes here and on the line before")
        )
      case .character(let offset):
        let line = bytes.prefix(offset).count { $0 == 0x0A } + 1
        let scalar = String(decoding: bytes.dropFirst(offset).prefix(4), as: UTF8.self).unicodeScalars.first
        let character = scalar.map { "the character \($0.codePoint)" } ?? "the character"
        return (
          .file(name, line: line, column: 1),
          Refusal("YAML: \(failure.problem)", "remove \(character); only printable text belongs here")
        )
      case .memory:
        return (start, Refusal("cannot be read: there is not enough memory", "give the server more"))
      }
    }
  }

  /// Converts the tree, and refuses features that are not supported.
  private struct Walk {
    static let anchorRefusal = Refusal(
      "anchors and aliases (& and *) are not supported", "write the value out")

    let name: String
    var problems: [DocumentProblem] = []

    mutating func node(_ node: YAMLNode, depth: Int) -> DocumentNode {
      let place = place(node.mark)
      guard depth <= maximumDepth else {
        return refused(place, Refusal("is nested deeper than \(maximumDepth) levels", "flatten it"))
      }
      guard !node.hasAnchor else { return refused(place, Self.anchorRefusal) }
      switch node.content {
      case .scalar(let text, let isPlain, let isText):
        guard isText else { return refusedTag(place) }
        return DocumentNode(place: place, .text(text, isPlain: isPlain))
      case .sequence(let sequence, let isTagged):
        guard !isTagged else { return refusedTag(place) }
        var items: [DocumentNode] = []
        for item in sequence { items.append(self.node(item, depth: depth + 1)) }
        return DocumentNode(place: place, .list(items))
      case .mapping(let mapping, let isTagged):
        guard !isTagged else { return refusedTag(place) }
        var members: [DocumentNode.Member] = []
        for (key, value) in mapping { member(key, value, depth: depth, into: &members) }
        return DocumentNode(place: place, .mapping(members))
      case .alias:
        return refused(place, Self.anchorRefusal)
      }
    }

    private mutating func member(
      _ key: YAMLNode, _ value: YAMLNode, depth: Int, into members: inout [DocumentNode.Member]
    ) {
      let keyPlace = place(key.mark)
      guard !key.hasAnchor else {
        _ = refused(keyPlace, Self.anchorRefusal)
        return
      }
      guard case .scalar(let text, _, let isText) = key.content else {
        _ = refused(keyPlace, Refusal("a key must be a plain text", "write KEY: VALUE"))
        return
      }
      guard isText else {
        _ = refusedTag(keyPlace)
        return
      }
      guard text != "<<" else {
        _ = refused(keyPlace, Refusal("merge keys (<<) are not supported", "write the members out"))
        return
      }
      members.append(DocumentNode.Member(text, place: keyPlace, node(value, depth: depth + 1)))
    }

    private func place(_ mark: YAMLMark) -> DocumentPlace {
      .file(name, line: mark.line, column: mark.column)
    }

    private mutating func refusedTag(_ place: DocumentPlace) -> DocumentNode {
      refused(place, Refusal("tags (!) are not supported", "write the value alone"))
    }

    private mutating func refused(_ place: DocumentPlace, _ refusal: Refusal) -> DocumentNode {
      if problems.count < maximumProblems { problems.append(DocumentProblem(place, nil, refusal)) }
      return DocumentNode(place: place, .text("", isPlain: true))
    }
  }
}

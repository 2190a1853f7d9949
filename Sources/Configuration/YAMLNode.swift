// Puts the events of a YAML text together to a tree.

/// A node of a YAML text, as it is written: what the configuration does not take is still in it.
struct YAMLNode {
  indirect enum Content {
    case scalar(String, isPlain: Bool, isText: Bool)
    case sequence([YAMLNode], isTagged: Bool)
    case mapping([(key: YAMLNode, value: YAMLNode)], isTagged: Bool)
    /// Another node of the text; the mark is that node's.
    case alias
  }

  var content: Content
  var hasAnchor: Bool
  var mark: YAMLMark
}

/// Why the events make no tree.
enum YAMLMistake: Error {
  case failure(YAMLFailure)
  /// Deeper than ``YAMLComposer/maximumLevels``.
  case tooDeep
  /// An alias of no node before it.
  case undefinedAlias(YAMLMark)
  case secondDocument(YAMLMark)
  /// Keys that a mapping has more than once, and where the first of them stands.
  case duplicateKeys([String], YAMLMark)
}

/// Reads one document.
struct YAMLComposer {
  /// From here on libyaml's effort grows with the square of the depth.
  static let maximumLevels = 1000

  /// A sequence or mapping whose end has not come.
  private struct Open {
    var node: YAMLNode
    var anchor: String?
    /// The items so far; in a mapping keys and values in turn.
    var items: [YAMLNode] = []
  }

  private let parser: YAMLParser
  /// Nodes deeper than this are left out of the tree. Mistakes of syntax count there too.
  private let maximumDepth: Int
  private var open: [Open] = []
  /// Where the nodes with anchors stand. The last of a name counts.
  private var anchors: [String: YAMLMark] = [:]

  private init(_ parser: YAMLParser, maximumDepth: Int) {
    self.parser = parser
    self.maximumDepth = maximumDepth
  }

  /// The tree of the only document in a text; nil where there is none.
  static func root(of bytes: [UInt8], maximumDepth: Int) throws(YAMLMistake) -> YAMLNode? {
    let parser: YAMLParser
    do throws(YAMLFailure) { parser = try YAMLParser(bytes) } catch { throw .failure(error) }
    var composer = YAMLComposer(parser, maximumDepth: maximumDepth)
    return try composer.document()
  }

  private func next() throws(YAMLMistake) -> YAMLEvent {
    do throws(YAMLFailure) { return try parser.next() } catch { throw .failure(error) }
  }

  private mutating func document() throws(YAMLMistake) -> YAMLNode? {
    var root: YAMLNode?
    var documents = 0
    while true {
      let event = try next()
      switch event.content {
      case .streamEnd: return root
      case .documentStart:
        documents += 1
        guard documents == 1 else { throw .secondDocument(event.mark) }
      case .nothing: break
      default:
        if let node = try node(event) { root = try placed(node) }
      }
    }
  }

  /// The node that an event ends; nil where it begins one.
  private mutating func node(_ event: YAMLEvent) throws(YAMLMistake) -> YAMLNode? {
    func leaf(_ content: YAMLNode.Content) -> YAMLNode {
      YAMLNode(content: content, hasAnchor: event.anchor != nil, mark: event.mark)
    }
    switch event.content {
    case .scalar(let text, let isPlain, let isText):
      if let anchor = event.anchor { anchors[anchor] = event.mark }
      return leaf(.scalar(text, isPlain: isPlain, isText: isText))
    case .alias(let name):
      guard let mark = anchors[name] else { throw .undefinedAlias(event.mark) }
      return YAMLNode(content: .alias, hasAnchor: true, mark: mark)
    case .sequenceStart(let isTagged):
      try begin(leaf(.sequence([], isTagged: isTagged)), event.anchor)
    case .mappingStart(let isTagged):
      try begin(leaf(.mapping([], isTagged: isTagged)), event.anchor)
    case .collectionEnd:
      return try end()
    case .streamEnd, .documentStart, .nothing: break
    }
    return nil
  }

  private mutating func begin(_ node: YAMLNode, _ anchor: String?) throws(YAMLMistake) {
    guard open.count < Self.maximumLevels else { throw .tooDeep }
    open.append(Open(node: node, anchor: anchor))
  }

  private mutating func end() throws(YAMLMistake) -> YAMLNode? {
    guard var last = open.popLast() else { return nil }
    switch last.node.content {
    case .sequence(_, let isTagged):
      last.node.content = .sequence(last.items, isTagged: isTagged)
    case .mapping(_, let isTagged):
      let pairs = stride(from: 0, to: last.items.count - 1, by: 2).map {
        (key: last.items[$0], value: last.items[$0 + 1])
      }
      try refuseDuplicates(pairs.map(\.key))
      last.node.content = .mapping(pairs, isTagged: isTagged)
    case .scalar, .alias: break
    }
    // From here on: a node does not contain itself.
    if let anchor = last.anchor { anchors[anchor] = last.node.mark }
    return last.node
  }

  /// Puts a whole node into the collection around it. Returns the document's own node.
  private mutating func placed(_ node: YAMLNode) throws(YAMLMistake) -> YAMLNode? {
    guard !open.isEmpty else { return node }
    if open.count <= maximumDepth { open[open.count - 1].items.append(node) }
    return nil
  }

  private func refuseDuplicates(_ keys: [YAMLNode]) throws(YAMLMistake) {
    var first: [[UInt8]: YAMLMark] = [:]
    var twice: [String: YAMLMark] = [:]
    for key in keys {
      guard case .scalar(let text, _, _) = key.content else { continue }
      let bytes = Array(text.utf8)
      if let mark = first[bytes] { twice[text] = mark } else { first[bytes] = key.mark }
    }
    let names = twice.keys.sorted()
    if let name = names.first, let mark = twice[name] { throw .duplicateKeys(names, mark) }
  }
}

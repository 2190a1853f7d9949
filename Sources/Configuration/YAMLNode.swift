// Builds a tree from the events of a YAML text.

/// A node of a YAML text as it is written, including features that a configuration must not use.
struct YAMLNode {
  indirect enum Content {
    case scalar(String, isPlain: Bool, isText: Bool)
    case sequence([YAMLNode], isTagged: Bool)
    case mapping([(key: YAMLNode, value: YAMLNode)], isTagged: Bool)
    /// An alias of another node. The mark is that node's.
    case alias
  }

  var content: Content
  var hasAnchor: Bool
  var mark: YAMLMark
}

/// The reason why the events do not form a tree.
enum YAMLMistake: Error {
  case failure(YAMLFailure)
  /// Nested deeper than ``YAMLComposer/maximumLevels``.
  case tooDeep
  /// An alias without a node of its name before it.
  case undefinedAlias(YAMLMark)
  case secondDocument(YAMLMark)
  /// The keys that a mapping has more than once, sorted, and the mark of the first one's first occurrence.
  case duplicateKeys([String], YAMLMark)
}

/// Builds the tree of one document.
struct YAMLComposer {
  /// Beyond this depth, libyaml's effort grows with the square of the depth.
  static let maximumLevels = 1000

  /// A sequence or mapping whose end has not been read yet.
  private struct Open {
    var node: YAMLNode
    var anchor: String?
    /// The items so far; in a mapping keys and values in turn.
    var items: [YAMLNode] = []
  }

  private let parser: YAMLParser
  /// Nodes deeper than this are left out of the tree. Their syntax errors are still found.
  private let maximumDepth: Int
  private var open: [Open] = []
  /// The marks of the nodes with anchors. If a name repeats, the last node counts.
  private var anchors: [String: YAMLMark] = [:]

  private init(_ parser: YAMLParser, maximumDepth: Int) {
    self.parser = parser
    self.maximumDepth = maximumDepth
  }

  /// The tree of the only document in a text; nil if there is none.
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

  /// The node that an event completes; nil if the event does not complete one.
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
    // The anchor is set only now, because a node does not contain itself.
    if let anchor = last.anchor { anchors[anchor] = last.node.mark }
    return last.node
  }

  /// Adds a complete node to the collection around it. Returns the node if it is the root of the document.
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

// A parsed document as a tree of texts, lists and mappings, independent of its format.

import Texts

/// A node of a document, with its position. Every scalar is text, so `on`, `22:00` and `+1` keep their
/// spelling. The reader decides its type.
public struct DocumentNode: Sendable {
  /// The content of a node.
  public enum Content: Sendable {
    /// A text; `isPlain` if it was written without quotes.
    case text(String, isPlain: Bool = true)
    case list([DocumentNode])
    /// The members in their order in the document.
    case mapping([Member])
  }

  /// One member of a mapping.
  public struct Member: Sendable {
    public let name: String
    /// The position of the name.
    public let place: DocumentPlace
    public let value: DocumentNode

    public init(_ name: String, place: DocumentPlace = .standard, _ value: DocumentNode) {
      self.name = name
      self.place = place
      self.value = value
    }
  }

  /// The position of the node.
  public let place: DocumentPlace
  public let content: Content

  public init(place: DocumentPlace = .standard, _ content: Content) {
    self.place = place
    self.content = content
  }

  /// The members of a mapping; empty for other content.
  package var members: [Member] { if case .mapping(let members) = content { members } else { [] } }

  /// The text of a scalar; nil for a mapping, a list or null.
  package var text: String? {
    if case .text(let text, _) = content, !isNothing { text } else { nil }
  }

  /// Whether the key has no value: YAML's null (YAML 1.2.2 §10.2.1.1), which is a text only in quotes.
  package var isNothing: Bool {
    guard case .text(let text, isPlain: true) = content else { return false }
    return ["", "~", "null", "Null", "NULL"].contains(text)
  }

  /// The kind of content, for problems. Never the text itself, which may be a secret under a wrong key.
  package var kind: String {
    switch content {
    case .text(let text, _):
      isNothing ? "nothing" : text.firstUnseen.map { "a text with \($0.unseenName)" } ?? "a text"
    case .list: "a list"
    case .mapping: "a mapping"
    }
  }

  /// The value under a name.
  package subscript(_ name: String) -> DocumentNode? { members.first { $0.name == name }?.value }

  /// The position of a key such as `weekly.mon` or `allow[1]` below this node, or of the key's nearest
  /// existing parent.
  package func place(of key: String) -> DocumentPlace {
    var (node, place) = (self, place)
    var rest = Substring(key)
    while !rest.isEmpty {
      if rest.first == "[" {
        let digits = rest.dropFirst().prefix { $0 != "]" }
        guard case .list(let items) = node.content, let index = Int(digits), items.indices.contains(index)
        else { break }
        (node, place) = (items[index], items[index].place)
        rest = rest.dropFirst(digits.count + 2)
      } else {
        // A name may contain dots itself, so the longest matching name wins.
        let fitting = node.members.filter { rest.hasPrefix($0.name) && !$0.name.isEmpty }
        guard let member = fitting.max(by: { $0.name.utf8.count < $1.name.utf8.count }) else { break }
        (node, place) = (member.value, member.value.place == .standard ? member.place : member.value.place)
        rest = rest.dropFirst(member.name.count)
      }
      if rest.first == "." { rest = rest.dropFirst() }
    }
    return place
  }
}

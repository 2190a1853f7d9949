// The tree of texts, lists and mappings that a document is read into, whatever its format.

/// A piece of a document with its place. Every scalar is its text, so `on`, `22:00` and `+1` stay what they look like:
/// the reader knows what type it needs.
public struct DocumentNode: Sendable {
  /// What the piece is.
  public enum Content: Sendable {
    /// A text; `isPlain` if written without quotes.
    case text(String, isPlain: Bool = true)
    case list([DocumentNode])
    /// Members in the order written.
    case mapping([Member])
  }

  /// One member of a mapping.
  public struct Member: Sendable {
    /// Its name.
    public let name: String
    /// Where the name stands.
    public let place: DocumentPlace
    /// What stands under it.
    public let value: DocumentNode

    /// Names a piece.
    public init(_ name: String, place: DocumentPlace = .standard, _ value: DocumentNode) {
      self.name = name
      self.place = place
      self.value = value
    }
  }

  /// Where it stands.
  public let place: DocumentPlace
  /// What it is.
  public let content: Content

  /// A piece at a place.
  public init(place: DocumentPlace = .standard, _ content: Content) {
    self.place = place
    self.content = content
  }

  /// The members of a mapping, none otherwise.
  package var members: [Member] { if case .mapping(let members) = content { members } else { [] } }

  /// The text of a single value, nil where it is none or nothing.
  package var text: String? {
    if case .text(let text, _) = content, !isNothing { text } else { nil }
  }

  /// Whether nothing stands after the key.
  package var isNothing: Bool { if case .text("", isPlain: true) = content { true } else { false } }

  /// What it is, for problems. A text is not shown: it may be a secret in the wrong place.
  package var kind: String {
    switch content {
    case .text: isNothing ? "nothing" : "a text"
    case .list: "a list"
    case .mapping: "a mapping"
    }
  }

  /// What stands under a name.
  package subscript(_ name: String) -> DocumentNode? { members.first { $0.name == name }?.value }

  /// The place of a key such as `weekly.mon` or `allow[1]` below this piece, or of what of it there is.
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
        // Names may hold dots themselves; the longest that fits is taken.
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

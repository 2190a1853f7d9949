// The tree of texts, lists and mappings that rules are read from, whatever the file format.

/// Where something stands in a file; both count from 1, 0 being unknown.
public struct RulePlace: Hashable, Comparable, Sendable {
  /// The line.
  public var line: Int
  /// The column.
  public var column: Int

  /// Names a place.
  public init(line: Int = 0, column: Int = 0) {
    self.line = line
    self.column = column
  }

  public static func < (a: Self, b: Self) -> Bool { (a.line, a.column) < (b.line, b.column) }
}

/// A piece of configuration with its place. Every scalar is its text: the rules know what type they need.
public struct RuleNode: Sendable {
  /// What the piece is.
  public indirect enum Content: Sendable {
    case text(String)
    case list([RuleNode])
    /// Members in the order in which they stand there.
    case mapping([Member])
  }

  /// A named piece.
  public struct Member: Sendable {
    /// Its name.
    public var name: String
    /// Where the name stands.
    public var place: RulePlace
    /// What stands under it.
    public var value: RuleNode

    /// Names a piece.
    public init(_ name: String, place: RulePlace = RulePlace(), _ value: RuleNode) {
      self.name = name
      self.place = place
      self.value = value
    }
  }

  /// Where it stands.
  public var place: RulePlace
  /// What it is.
  public var content: Content

  /// A piece at a place.
  public init(place: RulePlace = RulePlace(), _ content: Content) {
    self.place = place
    self.content = content
  }

  /// The members of a mapping, none otherwise.
  var members: [Member] {
    if case .mapping(let members) = content { members } else { [] }
  }

  /// What it is, for problems.
  var kind: String {
    switch content {
    case .text(""): "nothing"
    case .text(let text): quoted(text)
    case .list: "a list"
    case .mapping: "a mapping"
    }
  }

  /// The place of a key such as `weekly.mon` or `allow[1]` below this piece, or of what of it there is.
  func place(of key: String) -> RulePlace {
    var node = self
    var rest = Substring(key)
    while !rest.isEmpty {
      if rest.first == "[" {
        let digits = rest.dropFirst().prefix { $0 != "]" }
        guard case .list(let items) = node.content, let index = Int(digits), items.indices.contains(index)
        else { break }
        node = items[index]
        rest = rest.dropFirst(digits.count + 2)
      } else {
        // Names may hold dots themselves; the longest that fits is taken.
        guard
          let member = node.members.filter({ rest.hasPrefix($0.name) && !$0.name.isEmpty })
            .max(by: { $0.name.utf8.count < $1.name.utf8.count })
        else { break }
        node = member.value
        node.place = member.value.place.line == 0 ? member.place : member.value.place
        rest = rest.dropFirst(member.name.count)
      }
      if rest.first == "." { rest = rest.dropFirst() }
    }
    return node.place
  }
}

/// Something wrong with the rules: where, what, and what to do.
public struct RuleProblem: Hashable, Sendable {
  /// Where it stands.
  public var place: RulePlace
  /// The key, as `rules[2].weekly.mon`.
  public var key: String
  /// What is wrong, as half a sentence without a full stop.
  public var problem: String
  /// What to do about it.
  public var remedy: String

  /// Describes a problem.
  public init(place: RulePlace, key: String, problem: String, remedy: String) {
    self.place = place
    self.key = key
    self.problem = problem
    self.remedy = remedy
  }
}

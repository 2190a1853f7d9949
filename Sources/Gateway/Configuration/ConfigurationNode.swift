/// A piece of a YAML file: texts, lists and mappings, each with its place. There are no other types here, so `on`,
/// `22:00` and `+1` stay what they look like.
package struct ConfigurationNode: Sendable {
  /// One member of a mapping.
  package struct Member: Sendable {
    let name: String
    let place: ConfigurationPlace
    let value: ConfigurationNode
  }

  package enum Content: Sendable {
    /// A text; `isPlain` if written without quotes.
    case text(String, isPlain: Bool)
    case list([ConfigurationNode])
    /// Unique names, in the order written.
    case mapping([Member])
  }

  let place: ConfigurationPlace
  let content: Content

  /// Whether nothing stands after the key.
  var isNothing: Bool {
    if case .text("", isPlain: true) = content { true } else { false }
  }

  /// What it is, for problems.
  var kind: String {
    switch content {
    case .text: isNothing ? "nothing" : "a text"
    case .list: "a list"
    case .mapping: "a mapping"
    }
  }
}

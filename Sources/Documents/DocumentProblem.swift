// A mistake in a document, explained to the person who wrote it.

import Texts

/// One mistake in a document: its position, its description and its fix. The text never contains a secret.
public struct DocumentProblem: Sendable, Hashable, CustomStringConvertible {
  public let place: DocumentPlace
  /// The setting or key concerned, such as `rule "opening-hours": weekly.mon`; nil if the position names it.
  public let subject: String?
  /// The description of the mistake, as half a sentence without a full stop.
  public let message: String
  /// The instruction that fixes the mistake; may be empty.
  public let remedy: String

  /// Creates a problem from a refusal and its position.
  public init(_ place: DocumentPlace, _ subject: String?, _ refusal: Refusal) {
    self.place = place
    self.subject = subject
    self.message = refusal.message
    self.remedy = refusal.remedy
  }

  /// `position: setting: mistake — fix`, on one line.
  public var description: String {
    let start = subject.map { "\(place): \($0.withCodePoints): " } ?? "\(place): "
    return start + message + (remedy.isEmpty ? "" : " — \(remedy)")
  }
}

/// The reason why a key refuses a value, without the position in the document.
public struct Refusal: Error, Hashable, Sendable {
  /// The key, relative to the document that is read, such as `weekly.mon`; empty for the whole document.
  public let key: String
  /// The description of the mistake, as half a sentence without a full stop.
  public let message: String
  /// The instruction that fixes the mistake; may be empty.
  public let remedy: String

  public init(at key: String = "", _ message: String, _ remedy: String) {
    self.key = key
    self.message = message
    self.remedy = remedy
  }

  /// The same refusal under another key.
  package func under(_ key: String) -> Self { Self(at: key, message, remedy) }

  /// The mistake of a key without a value.
  package static let nothing = Refusal("is empty", "fill it in, or remove the line")

  /// The mistake of a value that should be a list.
  package static func noList(_ kind: String) -> Refusal {
    Refusal("is \(kind), not a list", "write it as [ITEM, ITEM]")
  }

  /// The mistake of a list that contains a value more than once. The value is not shown.
  package static let twin = Refusal("lists an item twice", "keep one of them")

  /// An unknown word where only certain words are allowed.
  package static func unknown(at key: String = "", _ word: String, known: [String]) -> Refusal {
    let list = known.count > 20 ? "the \(known.count) there are" : known.joined(separator: ", ")
    let near = Spelling.nearest(to: word, among: known)
    return Refusal(
      at: key, "\(quoted(word)) is unknown here",
      near.map { "did you mean \"\($0)\"? Otherwise use one of \(list)" } ?? "use one of \(list)")
  }

  /// The refusal of an unknown key. The remedy says how to write the key that was probably meant, or lists
  /// the known keys.
  package static func unknownKey(_ name: String, known: [String]) -> Refusal {
    if known.contains(name + "_file") {
      return Refusal(
        "unknown key", "this file cannot hold a secret: did you mean \(name)_file, the path of a file?")
    }
    if let unseen = name.firstUnseen {
      return Refusal("unknown key with \(unseen.unseenName)", "type the key again, with spaces before it")
    }
    return Refusal(
      "unknown key",
      Spelling.nearest(to: name, among: known).map { "did you mean \($0)?" }
        ?? "use one of \(list(known))")
  }

  /// Names of keys for a remedy. Of two keys for the same content, one for a file and one for a variable,
  /// only the file's is named.
  package static func list(_ keys: [String]) -> String {
    let (file, variable) = ("_file", "_variable")
    return keys.filter { key in
      !key.hasSuffix(variable) || !keys.contains(key.dropLast(variable.count) + file)
    }.joined(separator: ", ")
  }
}

/// A value as problems show it: quoted, on one line, and truncated after `limit` characters. An unseen
/// character is shown as its code point: `<U+202D>`.
package func quoted(_ text: some StringProtocol, limit: Int = 64) -> String {
  var result = "\""
  for scalar in text.unicodeScalars.prefix(limit) {
    switch scalar {
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    case "\"", "\\": result += "\\\(scalar)"
    case _ where scalar.isUnseen: result += "<\(scalar.codePoint)>"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + (text.unicodeScalars.count > limit ? "…\"" : "\"")
}

/// A path as problems show it: whole, because a truncated path is useless.
package func quoted(path: String) -> String { quoted(path, limit: 4096) }

// Reads single values from text: digests, phone numbers and names.

import Callers
import Documents
import Gate
import JOSE
import Texts
import Tokens

/// A SHA-256 digest in lower-case hex. The refused text is never shown: it may be the secret itself.
enum DigestText {
  static let form = TextForm(.pattern("^[0-9a-f]{64}$")) { text throws(Refusal) in
    guard text.utf8.count == 64, text == text.lowercased(),
      let digest = Hex.decode(text).flatMap({ SHA256Digest($0) })
    else {
      throw Refusal(
        "is not a SHA-256 digest of 64 lower-case hexadecimal digits",
        "make one with: printf %s 'THE SECRET' | sha256sum")
    }
    guard !nothing.contains(digest) else {
      throw Refusal(
        "is the digest of an empty text, so the server would accept an empty secret",
        "make it again: the variable or file was empty when you made it")
    }
    return SecretDigest(digest)
  }

  /// The digests of an empty secret and of a newline: the results of a mistyped variable in a shell.
  private static let nothing = [SHA256Digest(of: []), SHA256Digest(of: [0x0A])]
}

/// A telephone number in E.164. The refused text is not shown: numbers stay out of logs.
package enum PhoneNumberText {
  static let read: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    do throws(E164Error) {
      return try E164(text).text
    } catch {
      throw Refusal("is not a telephone number in E.164", error.correction)
    }
  }
}

/// Names, ids, scopes and paths, as text.
package enum NameText {
  /// One to 255 printable ASCII characters without spaces: ids of clients, keys and projects, audiences,
  /// issuers, names of claims.
  static func visible(_ noun: String) -> @Sendable (String) throws(Refusal) -> String {
    { text throws(Refusal) in
      guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw Refusal(
          "is not \(noun): 1 to 255 printable ASCII characters without spaces",
          text.firstMistakable.map { "remove \($0.unseenName)" }
            ?? "copy it again, without quotes, spaces or line breaks around it")
      }
      return text
    }
  }

  /// Ids and names of callers, apps, desks and similar things: safe in a path, a log line and a metric's
  /// label.
  static func identifier(_ noun: String) -> @Sendable (String) throws(Refusal) -> String {
    { text throws(Refusal) in
      let isSafe = text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
      }
      guard isSafe, (1...64).contains(text.utf8.count), text.utf8.first != 0x2E else {
        throw Refusal(
          "\(quoted(text)) is not \(noun)",
          text.firstMistakable.map { "remove \($0.unseenName)" }
            ?? "use 1 to 64 letters, digits, \"-\", \"_\" or \".\", not starting with \".\"")
      }
      return text
    }
  }

  /// The name of a Talkdesk account: the first label of the account's own host name.
  static let account: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let isLabel = text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A, 0x2D: true
      default: false
      }
    }
    guard isLabel, (1...63).contains(text.utf8.count), text.utf8.first != 0x2D, text.utf8.last != 0x2D else {
      throw Refusal(
        "\(quoted(text)) is not an account name",
        text.firstMistakable.map { "remove \($0.unseenName)" }
          ?? "write only the first part of the account's address, in lower case: acme for acme.talkdeskid.com"
      )
    }
    return text
  }

  /// OAuth scope: scope tokens (RFC 6749 §3.3) separated by single spaces.
  static let scope: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let tokens = text.utf8.split(separator: 0x20, omittingEmptySubsequences: false)
    let isScope = tokens.allSatisfy { token in
      !token.isEmpty && token.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
    guard isScope, text.utf8.count <= 1024 else {
      throw Refusal(
        "\(quoted(text)) is not a scope",
        text.firstMistakable.map { "remove \($0.unseenName)" }
          ?? "write scope tokens separated by single spaces: callback:write visual-sessions:execute")
    }
    if let own = OwnScope(in: text) {
      throw Refusal(
        "\(own.rawValue) is a scope of the server's own requests, and no token with it leaves the server",
        "remove it")
    }
    return text
  }

  /// The name of a claim in a JWT.
  static let claim: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw Refusal(
        "\(quoted(text)) is not the name of a claim", "write the claim's name exactly as in the token")
    }
    return text
  }

  /// The name of a blank or invisible character in a path.
  static func blank(_ scalar: Unicode.Scalar) -> String { scalar == " " ? "a space" : scalar.unseenName }

  /// The problem of a path that begins with `~`, which only a shell expands.
  static let tilde = Refusal("begins with ~, which is not expanded here", "write the whole path")

  /// A path of a file. Opening it shows whether the file exists.
  static let path: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard !text.isEmpty, !text.utf8.contains(0) else { throw Refusal("is not a path", "name a file") }
    // Otherwise the server would create a file of that name.
    if let last = text.finalBlank { throw Refusal("ends with \(blank(last))", "remove it") }
    guard !text.hasPrefix("~") else { throw tilde }
    if let first = text.unicodeScalars.first, first == " " || first.isUnseen || first.isCurlyQuotationMark {
      throw Refusal("begins with \(blank(first))", "remove it")
    }
    if let control = text.unicodeScalars.first(where: { $0.properties.generalCategory == .control }) {
      throw Refusal("contains \(control.unseenName)", "remove it")
    }
    return text
  }
}

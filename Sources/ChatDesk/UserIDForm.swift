// Builds a user's ID at Sendbird from the authenticated subject.

import Gate
import JOSE
package import Texts

/// A user of a chat desk. Only a `UserIDForm` creates one, from an authenticated subject.
package struct DeskUser: Sendable {
  /// The user's ID at Sendbird.
  package let id: UserID
  /// The subject of requests for this user. For an installation, the ID may be built from another name.
  package let subject: String?

  /// Whether a grant is for this user.
  func isNamed(by grant: borrowing Grant) -> Bool {
    guard let subject else { return false }
    return grant.subject?.hasSameBytes(as: subject) == true
  }
}

/// The id of a user at Sendbird.
package struct UserID: Hashable, Sendable {
  /// 1 to 80 characters.
  @Exact package private(set) var text: String
}

/// The template for user IDs: a text with `{subject}` exactly once, and `{caller}` at most once.
public struct UserIDForm: Hashable, Sendable {
  /// The longest user id at Sendbird, in characters.
  package static let longest = 80

  private static let subject = "{subject}"
  private static let caller = "{caller}"

  private let before: String
  private let after: String

  /// A template that is the subject alone.
  package static let subjectAlone = UserIDForm(before: "", after: "")
  /// A template of the caller, a hyphen and the subject.
  package static let callerAndSubject = UserIDForm(before: caller + "-", after: "")

  private init(before: String, after: String) {
    self.before = before
    self.after = after
  }

  /// Parses a template. Nil if it has no `{subject}`, a placeholder twice, another brace, more than 80
  /// octets, or octets other than visible ASCII.
  package init?(_ text: String) {
    guard let place = text.firstRange(of: Self.subject) else { return nil }
    (before, after) = (String(text[..<place.lowerBound]), String(text[place.upperBound...]))
    let rest = before + "\n" + after
    let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    guard isVisible, text.utf8.count <= Self.longest, rest.ranges(of: Self.caller).count <= 1,
      !rest.replacing(Self.caller, with: "").contains(where: { "{}".contains($0) })
    else { return nil }
  }

  /// Builds the user of an owner.
  /// - Parameters:
  ///   - owner: The owner's name: the subject. A later installation with the same ID has another name.
  ///   - callerID: The caller that the owner belongs to.
  ///   - subject: The subject of the owner's requests, as in grants.
  package func user(_ owner: String, of callerID: String, requestedAs subject: String?) -> DeskUser {
    // Most templates are the subject alone, and need no further text.
    let isPlain = before.isEmpty && after.isEmpty
    let text = isPlain ? owner : part(before, callerID) + owner + part(after, callerID)
    return DeskUser(id: UserID(text: Self.shortened(text)), subject: subject)
  }

  /// Whether the template for one caller can never produce the same ID as another template for the other
  /// caller.
  package func separates(_ one: String, from other: String, in form: UserIDForm) -> Bool {
    func overlap(_ a: String, _ b: String, _ isPart: (Substring.UTF8View, Substring.UTF8View) -> Bool) -> Bool
    {
      isPart(a[...].utf8, b[...].utf8) || isPart(b[...].utf8, a[...].utf8)
    }
    let begins = overlap(part(before, one), part(form.before, other)) { $0.starts(with: $1) }
    let ends = overlap(part(after, one), part(form.after, other)) {
      $0.reversed().starts(with: $1.reversed())
    }
    return !(begins && ends)
  }

  private func part(_ text: String, _ callerID: String) -> String {
    // Our text: a part of the configured form.
    text.contains("{") ? text.replacing(Self.caller, with: callerID) : text
  }

  /// Replaces a long ID by its SHA-256 in hex. The same for an ID that cannot be part of a path: dots alone
  /// would be a relative segment, and servers refuse an encoded control character. Other IDs are not changed.
  /// Sendbird accepted even `/ ? # % \` when encoded.
  private static func shortened(_ text: String) -> String {
    let isDots = text.utf8.allSatisfy { $0 == 0x2E }
    let hasControls = text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    guard isDots || hasControls || (text.utf8.count > longest && text.unicodeScalars.count > longest) else {
      return text
    }
    return Hex.encode(SHA256.digest(Array(text.utf8)))
  }
}

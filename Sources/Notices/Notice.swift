// A notice: a push that carries a pointer, never a token, a number or a name.

import JOSE
import JSON
package import Platform

/// What a phone is told.
package struct Notice: Sendable {
  /// What the app does with a notice: the words of the protocol that it shares with GMS, where that has them.
  package enum Action: String, CaseIterable, Sendable {
    /// Claim the token that waits.
    case access
    /// Ask the user whether to be called; the call needs a verification code.
    case confirmWithCode = "get-dialog-user-confirmation-provide_code-true"
    /// Ask the user whether to be called.
    case confirm = "get-dialog-user-confirmation-provide_code-false"
    /// Look at the callback again: it has ended.
    case changed
    /// The same: it was too late for the call.
    case expired
    /// The phone rings soon.
    case calling
  }

  /// The pointer.
  package let id: NoticeID
  /// What the app does with it.
  package let action: Action
  /// What the phone shows.
  package let text: String
  /// When that which it points to is over, by the wall clock.
  package let ends: UnixTime

  /// Makes a notice.
  package init(id: NoticeID, action: Action, text: String, ends: UnixTime) {
    self.id = id
    self.action = action
    self.text = text
    self.ends = ends
  }

  /// What every provider carries under the name `message`: a JSON text within JSON.
  var message: String {
    let object: JSONObject = ["_id": .string(id.exposed), "_action": .string(action.rawValue)]
    return String(decoding: object.serialized(), as: UTF8.self)
  }

  /// Whole seconds until it ends; 0 once it has.
  func secondsLeft(_ now: UnixTime) -> Int64 { max(0, (ends - now).components.seconds) }
}

/// The pointer in a notice: 32 characters A–Z and 0–9. It is a credential, so it prints as `<redacted>`.
package struct NoticeID: Hashable, Sendable {
  /// How many characters it has.
  package static let length = 32

  /// The text, for the notice's content and for the place where it is looked up.
  package let exposed: String

  /// Nil for a text that is no such id.
  package init?(_ text: String) {
    guard text.utf8.count == Self.length,
      text.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) })
    else { return nil }
    exposed = text
  }

  /// What providers and receivers may log: a UUID (RFC 9562 §5.8) from a digest of the id, the same in every try.
  var publicID: String {
    var bytes = Array(SHA256.digest(Array("callgate notice \(exposed)".utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hex.encode(Array(bytes[$0])) }.joined(separator: "-")
  }
}

extension NoticeID: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "<redacted>" }
  package var debugDescription: String { "<redacted>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

// A push notification that carries a pointer, never a token, a phone number or a name.

import JOSE
import JSON
package import Platform

/// A push notification to one phone.
package struct Notice: Sendable {
  /// The action that a notification requests from the app. The raw value is GMS's word if GMS has the action.
  package enum Action: String, CaseIterable, Sendable {
    /// Claim the token that waits.
    case access
    /// Ask the user whether to be called; the call needs a verification code.
    case confirmWithCode = "get-dialog-user-confirmation-provide_code-true"
    /// Ask the user whether to be called.
    case confirm = "get-dialog-user-confirmation-provide_code-false"
    /// Read the callback's record again: the callback has ended.
    case changed
    /// Read the callback's record again: it was too late for the call.
    case expired
    /// Expect the call: the phone rings soon.
    case calling
  }

  /// The pointer to a token or a callback.
  package let id: NoticeID
  /// The action that the notification requests from the app.
  package let action: Action
  /// The text that the phone shows.
  package let text: String
  /// The wall-clock time at which the notification expires: providers do not deliver it later.
  package let ends: UnixTime

  package init(id: NoticeID, action: Action, text: String, ends: UnixTime) {
    self.id = id
    self.action = action
    self.text = text
    self.ends = ends
  }

  /// The value of `message` in every provider's payload: a JSON object, written as text into a JSON string.
  var message: String {
    let object: JSONObject = ["_id": .string(id.exposed), "_action": .string(action.rawValue)]
    return String(decoding: object.serialized(), as: UTF8.self)
  }

  /// The whole seconds until the notification expires; 0 after that.
  func secondsLeft(_ now: UnixTime) -> Int64 { max(0, (ends - now).components.seconds) }
}

/// The pointer in a notification: 32 characters A–Z and 0–9. It is a credential, so it prints as
/// `<redacted>`.
package struct NoticeID: Hashable, Sendable {
  /// The length of an id, in characters.
  package static let length = 32

  /// The text, for the notification's content and for lookups.
  package let exposed: String

  /// Nil for a text that is not an id.
  package init?(_ text: String) {
    guard text.utf8.count == Self.length,
      text.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) })
    else { return nil }
    exposed = text
  }

  /// The id that providers and receivers may log: a UUID (RFC 9562 §5.8) from a digest of the notification's
  /// id, the same in every attempt.
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

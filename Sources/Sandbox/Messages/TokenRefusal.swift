// The error responses of the emulated token endpoint, in OAuth's format.

import HTTP
import JSON

/// A refusal of the token endpoint in the words of RFC 6749 §5.2: the only two members Talkdesk documents.
struct TokenRefusal: Error, Hashable, Sendable {
  /// The status: 400 or 401.
  var status: Status
  /// The `error` code.
  var error: String
  /// The `error_description`. Quotes nothing that was sent.
  var explanation: String

  static func invalidRequest(_ explanation: String) -> Self {
    Self(status: .badRequest, error: "invalid_request", explanation: explanation)
  }

  static func invalidClient(_ explanation: String) -> Self {
    Self(status: .unauthorized, error: "invalid_client", explanation: explanation)
  }

  static func unsupportedGrantType(_ explanation: String) -> Self {
    Self(status: .badRequest, error: "unsupported_grant_type", explanation: explanation)
  }

  /// A scope that is not written as RFC 6749 §3.3 has it.
  static func malformedScope(_ explanation: String) -> Self {
    Self(status: .badRequest, error: "invalid_scope", explanation: explanation)
  }

  /// A scope the client does not have: 401 at Talkdesk, not the 400 one would expect.
  static func scopeNotGranted(_ explanation: String) -> Self {
    Self(status: .unauthorized, error: "invalid_scope", explanation: explanation)
  }

  /// The content.
  var content: [UInt8] { Self.content(error: error, explanation: explanation) }

  /// Content of the documented shape.
  static func content(error: String, explanation: String) -> [UInt8] {
    var members = JSONObject()
    members.append("error", .string(error))
    members.append("error_description", .string(explanation))
    return JSONValue.object(members).serialized()
  }
}

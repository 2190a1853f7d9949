// The error responses of the emulated token endpoints of Talkdesk ID and Google, in OAuth's format.

import HTTP
import JSON

/// An error of a token endpoint in the format of RFC 6749 §5.2. Talkdesk documents only `error` and
/// `error_description`.
struct TokenRefusal: Error, Hashable, Sendable {
  /// The status: 400, 401 or 415.
  var status: Status
  /// The `error` code of RFC 6749.
  var error: String
  /// The `error_description`. Contains no part of the request.
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

  /// A scope that does not have the format of RFC 6749 §3.3.
  static func malformedScope(_ explanation: String) -> Self {
    Self(status: .badRequest, error: "invalid_scope", explanation: explanation)
  }

  /// A scope that the client does not have. Talkdesk returns 401 instead of the expected 400.
  static func scopeNotGranted(_ explanation: String) -> Self {
    Self(status: .unauthorized, error: "invalid_scope", explanation: explanation)
  }

  var content: [UInt8] { Self.content(error: error, explanation: explanation) }

  /// The content of an error response, as JSON.
  static func content(error: String, explanation: String) -> [UInt8] {
    var members = JSONObject()
    members.append("error", .string(error))
    members.append("error_description", .string(explanation))
    return JSONValue.object(members).serialized()
  }
}

// The error responses of the emulated Firebase Cloud Messaging, in Google's format.

import HTTP
import JSON

/// An error of FCM's HTTP v1 API: `google.rpc.Status` with an `FcmError` among its details.
struct FCMError: Error, Hashable, Sendable {
  var status: Status
  /// The name of the status (`google.rpc.Code`).
  var name: String
  /// The `errorCode` of `FcmError`; nil if the error has none.
  var code: String?
  /// The explanation, in words.
  var message: String
  /// The member of the body that is wrong.
  var field: String?

  /// The error for a body that FCM refuses.
  static func invalid(_ field: String, _ message: String) -> Self {
    Self(
      status: .badRequest, name: "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", message: message, field: field)
  }

  /// The error for a missing or invalid access token.
  static func unauthenticated(_ message: String) -> Self {
    Self(status: .unauthorized, name: "UNAUTHENTICATED", message: message)
  }

  /// The error that FCM would return with a fault's status.
  init(faulty status: Status) {
    let (name, code): (String, String?) =
      switch status.code {
      case 400: ("INVALID_ARGUMENT", "INVALID_ARGUMENT")
      case 401: ("UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR")
      case 403: ("PERMISSION_DENIED", "SENDER_ID_MISMATCH")
      case 404: ("NOT_FOUND", "UNREGISTERED")
      case 429: ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
      case 500: ("INTERNAL", "INTERNAL")
      case 503: ("UNAVAILABLE", "UNAVAILABLE")
      default: ("UNKNOWN", nil)
      }
    self.init(status: status, name: name, code: code, message: "a requested fault")
  }

  init(status: Status, name: String, code: String? = nil, message: String, field: String? = nil) {
    self.status = status
    self.name = name
    self.code = code
    self.message = message
    self.field = field
  }

  var content: [UInt8] {
    var details: [JSONValue] = []
    if let code {
      details.append([
        "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(code),
      ])
    }
    if let field {
      details.append([
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [["field": .string(field), "description": .string(message)]],
      ])
    }
    var error: JSONObject = [
      "code": .number(JSONNumber(Int64(status.code))), "message": .string(message), "status": .string(name),
    ]
    if !details.isEmpty { error["details"] = .array(details) }
    return JSONValue.object(["error": .object(error)]).serialized()
  }
}

// Checks requests to the emulated Firebase Cloud Messaging.

import HTTP
import JSON
import Platform

/// `POST /v1/projects/{project}/messages:send`: checks a message as FCM does. Pure.
enum FCMEndpoint {
  /// The maximum number of bytes of names and values in `data`.
  static let mostData = 4096

  /// Checks a request and its access token, and returns the notice in it.
  static func notice(
    _ call: Call, project: String, issuer: EmulatedTokenIssuer, audience: String, now: UnixTime
  ) throws(FCMError) -> ReceivedNotice {
    guard let bearer = call.credentials(scheme: "bearer"),
      case .success(let token) = issuer.read(bearer, audience: audience, now: now.seconds),
      token.scopes.contains(FCMTokenEndpoint.scope)
    else { throw .unauthenticated("The request has no valid access token.") }
    guard project == FCMAccount.projectID else {
      throw FCMError(
        status: .forbidden, name: "PERMISSION_DENIED",
        message: "The service account has no access to the project.")
    }
    guard call.hasContent(ofType: "application/json") else {
      throw .invalid("", "The content type is not application/json.")
    }
    let body: JSONValue
    do {
      body = try JSONValue(parsing: call.content)
    } catch {
      throw .invalid("", "The content is not JSON.")
    }
    guard let request = body.object, let message = request["message"]?.object else {
      throw .invalid("message", "The request has no message.")
    }
    try refuseOthers(request, than: ["message", "validate_only"], in: "")
    return try notice(message)
  }

  private static func notice(_ message: JSONObject) throws(FCMError) -> ReceivedNotice {
    try refuseOthers(
      message, than: ["token", "topic", "condition", "data", "notification", "android", "apns"],
      in: "message.")
    guard ["token", "topic", "condition"].count(where: { message[$0] != nil }) == 1 else {
      throw .invalid("message", "Exactly one of token, topic and condition is required.")
    }
    guard let token = message["token"]?.string, !token.isEmpty else {
      throw .invalid("message.token", "The sandbox sends to registration tokens only.")
    }
    try checkAndroid(message["android"])
    let data = message["data"]?.object ?? JSONObject()
    var size = 0
    for (name, value) in data.members {
      guard let text = value.string else {
        throw .invalid("message.data.\(name)", "The value is not a string.")
      }
      guard name != "from", !name.hasPrefix("gcm"), !name.hasPrefix("google") else {
        throw .invalid("message.data.\(name)", "The name is reserved.")
      }
      size += name.utf8.count + text.utf8.count
    }
    guard size <= mostData else { throw .invalid("message.data", "Android message is too big.") }
    guard let text = data["message"]?.string else {
      throw .invalid("message.data", "The app needs data.message.")
    }
    return ReceivedNotice(device: token, message: text)
  }

  private static func checkAndroid(_ android: JSONValue?) throws(FCMError) {
    guard let android else { return }
    guard let android = android.object else { throw .invalid("message.android", "Not an object.") }
    try refuseOthers(android, than: ["priority", "ttl", "collapse_key"], in: "message.android.")
    if let priority = android["priority"] {
      guard priority == "normal" || priority == "high" else {
        throw .invalid("message.android.priority", "Neither normal nor high.")
      }
    }
    if let ttl = android["ttl"] {
      guard let text = ttl.string, text.wholeMatch(of: #/[0-9]{1,9}(\.[0-9]{1,9})?s/#) != nil else {
        throw .invalid("message.android.ttl", "Not a duration in seconds, like 60s.")
      }
    }
  }

  /// Refuses members that the emulator does not know. FCM knows more, such as `webpush`.
  private static func refuseOthers(
    _ object: JSONObject, than known: [String], in path: String
  ) throws(FCMError) {
    for (name, _) in object.members where !known.contains(name) {
      throw .invalid(path + name, "Unknown name.")
    }
  }
}

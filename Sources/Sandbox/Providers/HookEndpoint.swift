// Checks requests to the emulated webhook receiver.

import HTTP
import JOSE
import JSON
import Platform

/// `POST /_sandbox/hook`: checks a webhook as a receiver does (Standard Webhooks, "Verifying"). Pure.
enum HookEndpoint {
  /// The maximum difference between a webhook's time and the receiver's, in seconds.
  static let tolerance: Int64 = 300

  /// The reason why a webhook is refused.
  struct Refusal: Error, Hashable {
    var status: Status
    var error: String
  }

  /// Checks the signature and time of a webhook, and returns the notice in it.
  static func notice(_ call: Call, secret: [UInt8], now: UnixTime) throws(Refusal) -> ReceivedNotice {
    guard let id = call.webhook.id, !id.isEmpty, let timestamp = call.webhook.timestamp,
      let signature = call.webhook.signature
    else {
      throw Refusal(
        status: .badRequest, error: "webhook-id, webhook-timestamp or webhook-signature is missing")
    }
    guard let time = Int64(timestamp),
      (-tolerance...tolerance).contains(time.subtractingClamped(now.seconds))
    else {
      throw Refusal(status: .unauthorized, error: "webhook-timestamp is more than five minutes away")
    }
    let signed = Array("\(id).\(timestamp).".utf8) + call.content
    let expected = "v1," + Base64.encode(HMAC.code(signed, key: secret, .sha256))
    guard signature.split(separator: " ").contains(Substring(expected)) else {
      throw Refusal(status: .unauthorized, error: "no signature in webhook-signature is right")
    }
    guard call.hasContent(ofType: "application/json") else {
      throw Refusal(status: .unsupportedMediaType, error: "the content type is not application/json")
    }
    let body: JSONObject?
    do {
      body = try JSONValue(parsing: call.content).object
    } catch {
      throw Refusal(status: .badRequest, error: "the content is not JSON")
    }
    guard let body, body.members.count == 2, let device = body["deviceId"]?.string, !device.isEmpty,
      let message = body["message"]?.string
    else {
      throw Refusal(
        status: .badRequest, error: "the content is not an object of the texts deviceId and message")
    }
    return ReceivedNotice(device: device, message: message)
  }

  /// The content of a refusal.
  static func content(_ error: String) -> [UInt8] { JSONValue.object(["error": .string(error)]).serialized() }
}

// The JSON schemas of requests and responses about tokens by push.

import JSON

extension APISchemas {
  /// What is asked and answered about devices, notices and claims.
  static let push: [(name: String, schema: JSONValue)] = [
    (
      "PushedToken",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["delivery"],
            "properties": { "delivery": { "type": "string", "enum": ["push"], "description": "How the token comes." } } }
          """#)
    ),
    (
      "ClaimRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["claim"],
            "properties": { "claim": { "type": "string", "description": "The `_id` of the notice. Keep it as secret as a password." } } }
          """#)
    ),
    (
      "Notice",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["action"],
            "properties": { "action": { "type": "string", "enum": ["access"], "description": "What the app does: claim the token." } } }
          """#)
    ),
    (
      "DeviceRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["platform", "token"],
            "properties": {
              "platform": { "type": "string", "enum": ["fcm", "apns", "http"], "description": "The provider. This server has those in `notices`." },
              "token": { "type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^[!-~]+$",
                "description": "The provider's name of the device. APNs' are 64 to 200 hexadecimal digits." } } }
          """#)
    ),
  ]
}

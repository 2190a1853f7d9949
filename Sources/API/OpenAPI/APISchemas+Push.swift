// The JSON schemas of requests and responses about tokens by push.

import JSON

extension APISchemas {
  /// The schemas of requests and responses for devices, notifications and claims.
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
            "properties": {
              "action": { "type": "string", "enum": [
                  "access", "changed", "expired", "calling",
                  "get-dialog-user-confirmation-provide_code-true", "get-dialog-user-confirmation-provide_code-false" ],
                "description": "What the app does: claim the token, ask for the callback, expect the call, or ask the user." },
              "callback": { "type": "string", "description": "The callback that it is about. Absent for a token, and where another device has replaced this one." } } }
          """#)
    ),
    (
      "Dialog",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["_dialog_id", "_action"],
            "properties": {
              "_dialog_id": { "type": "string" },
              "_action": { "type": "string", "enum": ["DisplayMenu", "ConfirmationDialog", "DialNumber"], "description": "What the app shows." },
              "_label": { "type": "string" }, "_text": { "type": "string" }, "_ok_title": { "type": "string" },
              "_user_action_url": { "type": "string" }, "_method": { "type": "string" }, "_resource_url": { "type": "string" },
              "_expires": { "type": "string", "description": "The time of the appointment." },
              "_content": { "type": "array", "items": { "type": "object" }, "description": "The groups of the menu. Each item has its label, and the URL for a POST." },
              "_tel_url": { "type": "string", "description": "`tel:` and the number to dial." },
              "_access_code": { "type": "string", "description": "The verification code, or `n/a`." },
              "_id": { "type": "string", "description": "The `_id` of the notice." } } }
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

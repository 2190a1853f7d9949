// The JSON schemas of requests and responses about installations.

import JSON

extension APISchemas {
  /// What is asked and answered about installations.
  static let installations: [(name: String, schema: JSONValue)] = [
    (
      "FetchCodeRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["client_id", "client_app"],
            "not": { "required": ["client_secret", "request_id"] },
            "properties": {
              "client_id": { "type": "string", "format": "uuid", "description": "The UUID that the app made for this installation." },
              "client_app": { "type": "string", "minLength": 1, "maxLength": 64,
                "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+$",
                "description": "The app's name, for people." },
              "client_detail": { "type": "string", "minLength": 1, "maxLength": 255,
                "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+$",
                "description": "What else the app says, such as the account. It is part of the credential." },
              "client_secret": { "type": "string", "maxLength": 255, "description": "The secret, to get a code." },
              "request_id": { "type": "string", "maxLength": 255, "description": "The request that waits for an operator, to poll." } } }
          """#)
    ),
    (
      "InstallationCode",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["code", "expires_in"],
            "properties": {
              "code": { "type": "string", "pattern": "^[0-9]{6}$", "description": "The one-time password of now (RFC 6238)." },
              "expires_in": { "type": "integer", "minimum": 1, "maximum": 30, "description": "Seconds until the next code." },
              "client_secret": { "type": "string", "description": "The new secret. The server does not show it again." } } }
          """#)
    ),
    (
      "PendingInstallation",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false,
            "required": ["status", "request_id", "user_code", "interval", "expires_in"],
            "properties": {
              "status": { "type": "string", "enum": ["pending"], "description": "The request waits for an operator." },
              "request_id": { "type": "string", "description": "Names the request in polls. Keep it as secret as a password." },
              "user_code": { "type": "string", "description": "What the customer tells the operator." },
              "interval": { "type": "integer", "minimum": 1, "description": "The seconds between two polls." },
              "expires_in": { "type": "integer", "minimum": 0, "description": "Seconds until the request is over." } } }
          """#)
    ),
    (
      "VerifyCodeRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["client_id", "code"],
            "properties": {
              "client_id": { "type": "string", "format": "uuid", "description": "The installation." },
              "code": { "type": "string", "pattern": "^[0-9]{6}$", "description": "What the customer typed." } } }
          """#)
    ),
    (
      "VerifiedCode",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["valid"],
            "properties": { "valid": { "type": "boolean", "description": "Whether the code is the installation's, now and for the first time." } } }
          """#)
    ),
    (
      "UserCodeRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["user_code"],
            "properties": { "user_code": { "type": "string", "maxLength": 64,
              "pattern": "^[ ._-]*([BCDFGHJKLMNPQRSTVWXZbcdfghjklmnpqrstvwxz][ ._-]*){8}$",
              "description": "Eight letters. Case, spaces and hyphens make no difference." } } }
          """#)
    ),
    (
      "RevocationRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
            "properties": {
              "client_id": { "type": "string", "format": "uuid", "description": "One installation." },
              "subject": { "type": "string", "description": "All installations of this user." } } }
          """#)
    ),
    (
      "InstallationEntry",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false,
            "required": ["client_id", "client_app", "app", "state", "address", "created_at"],
            "properties": {
              "client_id": { "type": "string", "format": "uuid", "description": "The installation." },
              "client_app": { "type": "string", "description": "The app's own name. Anyone may have written it." },
              "client_detail": { "type": "string", "description": "What else the app says. Anyone may have written it." },
              "app": { "type": "string", "description": "The configured app." },
              "state": { "type": "string", "enum": ["pending", "active", "denied", "revoked"], "description": "Its state." },
              "subject": { "type": "string", "description": "The user, or the client_id where an operator approved it." },
              "address": { "type": "string", "description": "Where the request for it came from." },
              "created_at": { "type": "string", "format": "date-time", "description": "When it was enrolled or requested." },
              "used_at": { "type": "string", "format": "date-time", "description": "When it was last used, to the hour." },
              "expires_at": { "type": "string", "format": "date-time", "description": "When it ends unless it is used or approved." } } }
          """#)
    ),
    (
      "InstallationList",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["installations"],
            "properties": {
              "installations": { "type": "array", "items": { "$ref": "#/components/schemas/InstallationEntry" }, "description": "The page." },
              "next": { "type": "string", "description": "What to send as `after` for the next page." } } }
          """#)
    ),
  ]
}

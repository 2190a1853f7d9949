// The JSON schemas of requests and responses about installations.

import JSON

extension APISchemas {
  /// The schemas of requests and responses about installations.
  static let installations: [(name: String, schema: JSONValue)] = [
    (
      "FetchCodeRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["client_id", "client_app"],
            "allOf": [ { "not": { "required": ["client_secret", "request_id"] } }, { "not": { "required": ["attestation", "request_id"] } } ],
            "properties": {
              "client_id": { "type": "string", "format": "uuid", "description": "The UUID that the app made for this installation." },
              "client_app": { "type": "string", "minLength": 1, "maxLength": 64,
                "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+$",
                "description": "The app's name, for people." },
              "client_detail": { "type": ["string", "null"], "minLength": 1, "maxLength": 255,
                "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+$",
                "description": "A further detail from the app, such as the account. It is part of the credential." },
              "client_secret": { "type": ["string", "null"], "maxLength": 255, "description": "The secret, to get a code." },
              "request_id": { "type": ["string", "null"], "maxLength": 255, "description": "The request that waits for an operator, to poll." },
              "jkt": { "type": ["string", "null"], "pattern": "^[A-Za-z0-9_-]{43}$",
                "description": "The thumbprint of the phone's key (RFC 7638), which counts with a first request. That request needs a proof by that key in the header `DPoP` (RFC 9449), and so does each later one." },
              "attestation": { "type": "object",
                "description": "The proof that the app is genuine, with a first request, in JSON only. A `client_secret` beside it lets the request replace the installation that has it.",
                "oneOf": [
                  { "additionalProperties": false, "required": ["type", "token"],
                    "properties": {
                      "type": { "type": "string", "enum": ["app_check"] },
                      "token": { "type": "string", "description": "A token of Firebase App Check. It works for one installation." } } },
                  { "additionalProperties": false, "required": ["type", "object", "key_id", "challenge"],
                    "properties": {
                      "type": { "type": "string", "enum": ["app_attest"] },
                      "object": { "type": "string", "description": "The attestation object of Apple's App Attest, as Base64 or base64url." },
                      "key_id": { "type": "string", "description": "The id of the attested key, as Base64 or base64url." },
                      "challenge": { "type": "string", "description": "The challenge that the client data has." } } },
                  { "additionalProperties": false, "required": ["type", "token", "challenge"],
                    "properties": {
                      "type": { "type": "string", "enum": ["play_integrity"] },
                      "token": { "type": "string", "description": "A token of Google's Play Integrity." },
                      "challenge": { "type": "string", "description": "The challenge that the client data has." } } } ] } } }
          """#)
    ),
    (
      "AttestationChallenge",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["challenge", "expires_in"],
            "properties": {
              "challenge": { "type": "string", "pattern": "^[A-Za-z0-9_-]{43}$", "description": "The challenge." },
              "expires_in": { "type": "integer", "minimum": 1, "description": "How many seconds it is valid." } } }
          """#)
    ),
    (
      "InstallationCode",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["code", "expires_in"],
            "properties": {
              "code": { "type": "string", "pattern": "^[0-9]{6}$", "description": "The current one-time password (RFC 6238)." },
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
              "user_code": { "type": "string", "description": "The code that the customer reads to the operator." },
              "interval": { "type": "integer", "minimum": 1, "description": "The seconds between two polls." },
              "expires_in": { "type": "integer", "minimum": 0, "description": "Seconds until the request expires." } } }
          """#)
    ),
    (
      "VerifyCodeRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["client_id", "code"],
            "properties": {
              "client_id": { "type": "string", "format": "uuid", "description": "The installation." },
              "code": { "type": "string", "pattern": "^[0-9]{6}$", "description": "The code that the customer typed." } } }
          """#)
    ),
    (
      "VerifiedCode",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["valid"],
            "properties": { "valid": { "type": "boolean", "description": "Whether the code is right, current and not used before." } } }
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
              "client_app": { "type": "string", "description": "The app's name, as the app sent it. It is not verified." },
              "client_detail": { "type": "string", "description": "A further detail from the app. It is not verified." },
              "app": { "type": "string", "description": "The configured app." },
              "state": { "type": "string", "enum": ["pending", "approved", "active", "denied", "revoked"], "description": "Its state." },
              "subject": { "type": "string", "description": "The user, or the client_id where an operator approved it." },
              "address": { "type": "string", "description": "The address that requested it." },
              "created_at": { "type": "string", "format": "date-time", "description": "When it was enrolled or requested." },
              "used_at": { "type": "string", "format": "date-time", "description": "When it was last used, to the hour." },
              "expires_at": { "type": "string", "format": "date-time", "description": "When it expires if it is not used or approved." },
              "operator": { "type": "string", "description": "The operator who approved or denied it. `-` if the release that saved it stored none." },
              "by": { "type": "string", "enum": ["token", "jwt", "local", "-"], "description": "How that was proved." },
              "replaces": { "type": "object", "additionalProperties": false,
                "required": ["client_app", "created_at", "used_at", "scheduled"],
                "description": "The installation that the approval of this request replaces. Only `find` says so.",
                "properties": {
                  "client_app": { "type": "string", "description": "Its app's name." },
                  "client_detail": { "type": "string", "description": "Its app's detail." },
                  "created_at": { "type": "string", "format": "date-time", "description": "When it was enrolled." },
                  "used_at": { "type": "string", "format": "date-time", "description": "When it was last used, to the hour." },
                  "scheduled": { "type": "integer", "minimum": 0, "description": "How many of its appointments end." } } } } }
          """#)
    ),
    (
      "InstallationList",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["installations"],
            "properties": {
              "installations": { "type": "array", "items": { "$ref": "#/components/schemas/InstallationEntry" }, "description": "The page." },
              "next": { "type": "string", "description": "Send it as `after` to get the next page." } } }
          """#)
    ),
  ]
}

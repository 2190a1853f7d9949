// The JSON schemas of the API description (2020-12, the dialect of OpenAPI 3.1).

import JSON

/// The named schemas of the document.
///
/// The schemas of `ofRequests` are strict: the server refuses unknown members. The others, mainly of
/// responses, are published open, because later versions may add members and values while generated clients
/// stay as they are. Their `additionalProperties: false` and closed `enum`s are for this server's own tests.
enum APISchemas {
  /// All schemas by name, in the order of the document.
  static let all: [(name: String, schema: JSONValue)] =
    ([problem] + values + tokens + callbacks + tickets + gms + installations + push + health + operators
    + blockedNumbers).map {
      name, schema in
      (name, ofRequests.contains(name) ? schema : opened(schema))
    }

  /// The names of the request schemas that are published strict.
  static let ofRequests: Set<String> = [
    "ContextForm", "ContextShortForm", "ContextField", "CallbackRequest", "CallbackChange", "Consent",
    "TicketRequest", "StopRequest", "ResumeRequest", "Inquiry", "FetchCodeRequest", "VerifyCodeRequest",
    "UserCodeRequest", "RevocationRequest", "BlockRequest", "UnblockRequest",
  ]

  /// Returns a schema in its open form: it allows unknown members, and lists the values known so far.
  static func opened(_ schema: JSONValue) -> JSONValue {
    switch schema {
    case .array(let elements): return .array(elements.map(opened))
    case .object(let object):
      var open = JSONObject()
      for (name, value) in object.members {
        switch name {
        case "additionalProperties" where value == false: continue
        case "enum" where object["type"] == "string": open["x-extensible-enum"] = value
        default: open[name] = opened(value)
        }
      }
      return .object(open)
    default: return schema
    }
  }

  /// The problem document of RFC 9457, with this server's members and all its codes.
  private static let problem: (name: String, schema: JSONValue) = {
    var schema =
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false,
            "description": "An error (RFC 9457). Programs decide on `code`; the texts may change.",
            "required": ["type", "title", "status", "detail", "instance", "code", "message"],
            "properties": {
              "type": { "type": "string", "pattern": "^urn:callgate:problem:[a-z_]+$", "description": "The code as a URI." },
              "title": { "type": "string", "description": "The same short text for every occurrence." },
              "status": { "type": "integer", "minimum": 400, "maximum": 599, "description": "The status of the response." },
              "detail": { "type": "string", "description": "What happened, and what the client can do." },
              "instance": { "$ref": "#/components/schemas/RequestID", "description": "The request's id, as in X-Request-Id." },
              "code": {},
              "message": { "type": "string", "description": "The title again, for clients of Talkdesk's error shape." },
              "fields": { "type": "array", "minItems": 1, "items": { "$ref": "#/components/schemas/FieldProblem" },
                "description": "All mistakes in the request." },
              "rule": { "type": "string", "description": "The rule that refused the request." },
              "retry_after": { "type": "integer", "minimum": 0, "description": "Seconds, as in Retry-After." },
              "next_open": { "type": "string", "format": "date-time", "description": "When the next opening hours start." },
              "id": { "type": "string", "description": "The id of the callback." },
              "alternatives": { "type": "array", "maxItems": 10, "items": { "type": "string", "format": "date-time" },
                "description": "The next times that can be booked." },
              "accepts": { "type": "array", "minItems": 1, "items": { "type": "string", "enum": ["app_check", "app_attest", "play_integrity", "claim", "proof"] },
                "description": "The types of attestation that the app takes, or the ways to prove the number." },
              "texts": { "type": "array", "minItems": 1, "items": { "type": "string" },
                "description": "The texts that the customer can agree to." },
              "verification_code": { "$ref": "#/components/schemas/VerificationCode" } } }
          """#
      ).object ?? [:]
    var properties = schema["properties"]?.object ?? [:]
    properties["code"] = [
      "type": "string", "enum": .array(Problem.Code.allCases.map { .string($0.rawValue) }),
      "description":
        "The reason, for programs. Later versions may add codes: treat an unknown code by its status.",
    ]
    schema["properties"] = .object(properties)
    return ("Problem", .object(schema))
  }()

  private static let values: [(name: String, schema: JSONValue)] = [
    (
      "FieldProblem",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["name", "description"],
            "properties": {
              "name": { "type": "string", "description": "The member, as in context.fields[2].value." },
              "description": { "type": "string", "description": "The mistake, and how to fix it." } } }
          """#)
    ),
    (
      "RequestID",
      JSONValue(
        literally:
          #"{ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$", "description": "Links a response to its log lines." }"#
      )
    ),
    (
      "PhoneNumber",
      JSONValue(
        literally: #"""
          { "type": "string", "pattern": "^\\+[1-9][0-9]{5,14}$",
            "description": "E.164: a plus sign and 6 to 15 digits, the first not a zero, nothing else." }
          """#)
    ),
    (
      "MaskedNumber",
      JSONValue(
        literally: #"""
          { "type": "string", "pattern": "^\\+\\*{4,13}[0-9]{2}$",
            "description": "A phone number of the same length with only its last two digits." }
          """#)
    ),
    (
      "IdempotencyKey",
      JSONValue(
        literally: #"""
          { "type": "string", "pattern": "^(?:[!#-+\\--:<-\\[\\]-~]{1,255}|\"(?:[ !#-\\[\\]-~]|\\\\[\"\\\\]){1,255}\")$",
            "description": "1 to 255 characters of printable ASCII; bare without spaces, commas, semicolons, quotes and backslashes, or as a string in quotes." }
          """#)
    ),
  ]

  private static let tokens: [(name: String, schema: JSONValue)] = [
    (
      "AccessToken",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["access_token", "token_type"],
            "description": "RFC 6749 §5.1. From an app with a chat desk: a session token of Sendbird.",
            "properties": {
              "access_token": { "type": "string", "minLength": 1, "description": "The token." },
              "token_type": { "type": "string", "description": "Bearer." },
              "expires_in": { "type": "integer", "minimum": 0, "description": "The remaining seconds of the token's life; absent if Talkdesk did not say." },
              "scope": { "type": "string", "description": "The OAuth scope of the token; absent for a session token." },
              "user_id": { "type": "string", "minLength": 1, "maxLength": 80, "description": "Only with a session token: the Sendbird user that it belongs to." } } }
          """#)
    ),
    (
      "StockToken",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["auth_token"],
            "properties": {
              "auth_token": { "type": "string", "minLength": 1, "description": "The token." },
              "expires_in": { "type": "integer", "minimum": 0, "description": "The remaining seconds of the token's life; absent if Talkdesk did not say." },
              "user_id": { "type": "string", "minLength": 1, "maxLength": 80, "description": "Only with a session token: the Sendbird user that it belongs to." } } }
          """#)
    ),
  ]

  private static let health: [(name: String, schema: JSONValue)] = [
    (
      "Liveness",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["status"],
            "properties": { "status": { "type": "string", "enum": ["pass"] } } }
          """#)
    ),
    (
      "Health",
      JSONValue(
        literally: #"{ "type": "string", "enum": ["pass", "warn", "fail"], "description": "The state." }"#)
    ),
    (
      "Check",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["status"],
            "properties": { "status": { "$ref": "#/components/schemas/Health" } } }
          """#)
    ),
    (
      "Scope",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["scope"],
            "description": "The state of the tokens of one scope.",
            "properties": {
              "scope": { "type": "string", "description": "The OAuth scope." },
              "last_exchange": { "type": "string", "description": "The outcome of the last exchange: success, or the reason of the failure." },
              "last_exchange_age_seconds": { "type": "integer", "minimum": 0, "description": "The time since that exchange." },
              "key_id": { "type": "string", "description": "The credential of that exchange." },
              "token_expires_in_seconds": { "type": "integer", "minimum": 0, "description": "The remaining life of the cached token." },
              "cool_down_seconds": { "type": "integer", "minimum": 0, "description": "The remaining pause after a failure of Talkdesk ID." } } }
          """#)
    ),
    (
      "Keys",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["status", "keys"],
            "description": "Which of this server's credentials Talkdesk ID accepts.",
            "properties": {
              "status": { "$ref": "#/components/schemas/Health" },
              "serving": { "type": "string", "description": "The credential that Talkdesk ID accepted last." },
              "keys": { "type": "array", "items": { "type": "object", "additionalProperties": false,
                "required": ["key_id", "role", "state"],
                "properties": {
                  "key_id": { "type": "string", "description": "The id of the key." },
                  "role": { "type": "string", "enum": ["current", "next"], "description": "The setting that it comes from." },
                  "state": { "type": "string", "enum": ["untried", "accepted", "refused"], "description": "Talkdesk ID's last response to it." },
                  "age_seconds": { "type": "integer", "minimum": 0, "description": "The time since that response." },
                  "retry_in_seconds": { "type": "integer", "minimum": 0, "description": "The time until the server tries it again." } } } } } }
          """#)
    ),
    (
      "IssuerKeys",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["status"],
            "description": "The check issuer:CALLER, or issuer:admin.jwt for operators: the keys that the issuer publishes.",
            "properties": {
              "status": { "$ref": "#/components/schemas/Health" },
              "keys": { "type": "integer", "minimum": 0, "description": "How many keys verify tokens. Without any, the server refuses the issuer's tokens." },
              "age_seconds": { "type": "integer", "minimum": 0, "description": "How long ago the issuer confirmed them." } } }
          """#)
    ),
    (
      "DeskState",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["status"],
            "description": "The check desk:NAME: the state of a chat desk.",
            "properties": {
              "status": { "$ref": "#/components/schemas/Health" },
              "users": { "type": "integer", "minimum": 0, "description": "How many users' session tokens the server keeps." },
              "last_request": { "type": "string", "description": "The outcome of the latest request to Sendbird." },
              "last_request_age_seconds": { "type": "integer", "minimum": 0, "description": "The time since that request." },
              "cool_down_seconds": { "type": "integer", "minimum": 0, "description": "The time for which the server does not ask Sendbird." } } }
          """#)
    ),
    (
      "NoticeSenderState",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["status"],
            "description": "The check notices:PROVIDER: the state of a sender of notices.",
            "properties": {
              "status": { "$ref": "#/components/schemas/Health" },
              "stopped": { "type": "boolean", "description": "Whether the provider refuses the server's settings." },
              "cool_down_seconds": { "type": "integer", "minimum": 0, "description": "The time for which the provider wants no notices." } } }
          """#)
    ),
    (
      "Readiness",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["status", "checks"],
            "properties": {
              "status": { "$ref": "#/components/schemas/Health" },
              "checks": { "type": "object", "additionalProperties": { "anyOf": [ { "$ref": "#/components/schemas/IssuerKeys" }, { "$ref": "#/components/schemas/DeskState" }, { "$ref": "#/components/schemas/NoticeSenderState" } ] },
                "required": ["configuration", "process", "store", "clock"],
                "description": "A server without a Talkdesk account has neither `key` nor `talkdesk_id`.",
                "properties": {
                  "configuration": { "$ref": "#/components/schemas/Check" },
                  "process": { "$ref": "#/components/schemas/Check" },
                  "key": { "$ref": "#/components/schemas/Keys" },
                  "store": { "$ref": "#/components/schemas/Check" },
                  "clock": { "type": "object", "additionalProperties": false, "required": ["status"],
                    "properties": {
                      "status": { "$ref": "#/components/schemas/Health" },
                      "difference_seconds": { "type": "integer",
                        "description": "How far this machine's clock is ahead of the store's; negative if it is behind. Absent if the store has no clock." } } },
                  "talkdesk_id": { "type": "object", "additionalProperties": false, "required": ["status", "scopes"],
                    "properties": {
                      "status": { "$ref": "#/components/schemas/Health" },
                      "scopes": { "type": "array", "items": { "$ref": "#/components/schemas/Scope" } } } },
                  "upstreams": { "type": "object", "additionalProperties": false, "required": ["status", "attention"],
                    "description": "The kinds of present problems with other services. Absent without one.",
                    "properties": {
                      "status": { "$ref": "#/components/schemas/Health" },
                      "attention": { "type": "array", "items": { "type": "string" } } } } } } } }
          """#)
    ),
  ]
}

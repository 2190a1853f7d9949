// The JSON schemas of the admin endpoints.

import Gate
import JSON

extension APISchemas {
  /// What is asked and answered below `/admin`. A member that is `null` counts as left out there.
  static let operators: [(name: String, schema: JSONValue)] = [
    ("Action", .words(Action.allCases.map(\.rawValue), "What an app asks for.")),
    (
      "StopAction",
      .words(Action.allCases.map(\.rawValue) + ["all"], "What a stop stops: one action, or all.")
    ),
    (
      "Stop",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["scope", "action", "since"],
            "properties": {
              "scope": { "type": "string", "enum": ["all", "app", "caller"], "description": "Whom it stops." },
              "id": { "type": "string", "description": "The app or caller." },
              "action": { "$ref": "#/components/schemas/StopAction", "description": "What it stops." },
              "since": { "type": "string", "format": "date-time", "description": "When it was stopped." },
              "until": { "type": "string", "format": "date-time", "description": "When the stop ends by itself." },
              "reason": { "type": "string", "description": "Why, for operators." } } }
          """#)
    ),
    (
      "Stops",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["stops"],
            "properties": { "stops": { "type": "array", "items": { "$ref": "#/components/schemas/Stop" } } } }
          """#)
    ),
    (
      "StopRequest",
      JSONValue(
        literally: #"""
          { "oneOf": [
              { "title": "Everybody", "type": "object", "additionalProperties": false, "required": ["scope", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["all"] },
                  "id": { "type": "null" },
                  "action": { "$ref": "#/components/schemas/StopAction" },
                  "reason": { "type": ["string", "null"], "maxLength": 200, "description": "Why, for operators." },
                  "for": { "type": ["string", "null"], "pattern": "^(0|[1-9][0-9]*)(ms|s|m|h|d)$",
                    "description": "How long, 1s to 365d; until resumed by default." } } },
              { "title": "One app or caller", "type": "object", "additionalProperties": false, "required": ["scope", "id", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["app", "caller"] },
                  "id": { "type": "string", "minLength": 1, "description": "A configured app or caller; anonymous is one." },
                  "action": { "$ref": "#/components/schemas/StopAction" },
                  "reason": { "type": ["string", "null"], "maxLength": 200, "description": "Why, for operators." },
                  "for": { "type": ["string", "null"], "pattern": "^(0|[1-9][0-9]*)(ms|s|m|h|d)$",
                    "description": "How long, 1s to 365d; until resumed by default." } } } ] }
          """#)
    ),
    (
      "ResumeRequest",
      JSONValue(
        literally: #"""
          { "oneOf": [
              { "title": "Everybody", "type": "object", "additionalProperties": false, "required": ["scope", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["all"] },
                  "id": { "type": "null" },
                  "action": { "$ref": "#/components/schemas/StopAction" } } },
              { "title": "One app or caller", "type": "object", "additionalProperties": false, "required": ["scope", "id", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["app", "caller"] },
                  "id": { "type": "string", "minLength": 1, "description": "A configured app or caller; anonymous is one." },
                  "action": { "$ref": "#/components/schemas/StopAction" } } } ] }
          """#)
    ),
    (
      "CallbackList",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["callbacks"],
            "properties": {
              "callbacks": { "type": "array", "items": { "$ref": "#/components/schemas/OperatorCallback" } },
              "next": { "type": "string", "format": "uuid", "description": "What to send as after for the next page; absent on the last one." } } }
          """#)
    ),
    (
      "OperatorCallback",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["id", "status", "created_at", "contact_phone_number", "caller"],
            "properties": {
              "id": { "type": "string", "format": "uuid", "description": "Names the callback." },
              "status": { "type": "string", "enum": ["pending", "accepted", "failed", "unknown"],
                "description": "pending: being sent. accepted: Talkdesk took it. failed: certainly not taken. unknown: the phone may ring." },
              "created_at": { "type": "string", "format": "date-time", "description": "When it was asked for." },
              "settled_at": { "type": "string", "format": "date-time", "description": "When it left pending." },
              "reason": { "type": "string", "description": "Why it is not accepted: the code of a problem." },
              "contact_phone_number": { "$ref": "#/components/schemas/MaskedNumber" },
              "caller": { "type": "string", "description": "The caller that asked for it." },
              "subject": { "type": "string", "description": "The person the caller spoke for, if the credential named one." },
              "app": { "type": "string", "description": "The app, if there was one." },
              "upstream_status": { "type": "integer", "description": "The status of Talkdesk's response, if one came." },
              "platform_tid": { "type": "string", "description": "Talkdesk's own id of the exchange, if the response had one." } } }
          """#)
    ),
    (
      "Status",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false,
            "required": ["status", "started", "configuration", "callers", "apps", "rules", "stops", "store", "tokens", "keys"],
            "properties": {
              "status": { "$ref": "#/components/schemas/Health" },
              "started": { "type": "string", "format": "date-time", "description": "When the process started." },
              "configuration": { "type": "object", "additionalProperties": false, "required": ["generation", "files"],
                "properties": {
                  "generation": { "type": "integer", "minimum": 1, "description": "Counted from 1 at the start." },
                  "files": { "type": "array", "items": { "type": "string" }, "description": "The files that were read and are watched." },
                  "last_reload": { "type": "object", "additionalProperties": false, "required": ["time", "status"],
                    "properties": {
                      "time": { "type": "string", "format": "date-time" },
                      "status": { "type": "string", "enum": ["ok", "failed"] },
                      "problems": { "type": "array", "items": { "type": "string" } },
                      "restart_needed": { "type": "array", "items": { "type": "string" } } } } } },
              "callers": { "type": "array", "items": { "type": "string" } },
              "apps": { "type": "array", "items": { "type": "string" } },
              "rules": { "type": "array", "items": { "type": "object", "additionalProperties": false,
                "required": ["name", "kind", "mode"],
                "properties": {
                  "name": { "type": "string" }, "kind": { "type": "string" },
                  "mode": { "type": "string", "enum": ["enforce", "audit", "off"] } } } },
              "stops": { "type": "array", "items": { "$ref": "#/components/schemas/Stop" } },
              "store": { "type": "object", "additionalProperties": false, "required": ["kind"],
                "properties": {
                  "kind": { "type": "string", "enum": ["memory", "sqlite", "postgres"] },
                  "stops_age_seconds": { "type": "integer", "minimum": 0, "description": "How old is what is known of stops." },
                  "clock_difference_seconds": { "type": "integer",
                    "description": "How far this machine's clock is ahead of the store's, where that has one; negative where it is behind." },
                  "failure": { "type": "string", "description": "What the store said last, where it fails." } } },
              "tokens": { "type": "array", "items": { "$ref": "#/components/schemas/Scope" } },
              "keys": { "$ref": "#/components/schemas/Keys" } } }
          """#)
    ),
    (
      "Reload",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["generation", "notices", "restart_needed"],
            "properties": {
              "generation": { "type": "integer", "minimum": 1, "description": "The one that serves now." },
              "notices": { "type": "array", "items": { "type": "string" }, "description": "What should be looked at." },
              "restart_needed": { "type": "array", "items": { "type": "string" }, "description": "Changed settings that a restart takes up." } } }
          """#)
    ),
    (
      "Inquiry",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["action"],
            "properties": {
              "action": { "$ref": "#/components/schemas/Action" },
              "caller": { "type": ["string", "null"], "description": "A configured caller's id; anonymous by default." },
              "subject": { "type": ["string", "null"], "description": "The subject of the caller's token." },
              "app": { "type": ["string", "null"], "description": "The app the request names." },
              "address": { "anyOf": [ { "type": "string", "format": "ipv4" }, { "type": "string", "format": "ipv6" }, { "type": "null" } ],
                "description": "The client's address." },
              "phone": { "anyOf": [ { "$ref": "#/components/schemas/PhoneNumber" }, { "type": "null" } ], "description": "The number to be called." },
              "claims": { "type": ["object", "null"], "description": "The claims of the caller's token." },
              "fields": { "type": ["object", "null"], "description": "The request's fields; a list for one that is there several times.",
                "additionalProperties": { "anyOf": [ { "type": "string" }, { "type": "array", "items": { "type": "string" } } ] } },
              "at": { "anyOf": [ { "type": "string", "format": "date-time" }, { "type": "null" } ], "description": "When; now by default." },
              "counts": { "type": ["object", "null"], "description": "How many are used already, by rule.",
                "additionalProperties": { "type": "integer", "minimum": 0 } } } }
          """#)
    ),
    (
      "Explanation",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["decision", "reason", "verdicts"],
            "properties": {
              "decision": { "type": "string", "enum": ["allow", "deny"] },
              "code": { "type": "string", "description": "Why not: the code of the problem." },
              "rule": { "type": "string", "description": "The rule that refuses." },
              "reason": { "type": "string", "description": "The decision and its reason as a sentence." },
              "verdicts": { "type": "array", "items": { "type": "object", "additionalProperties": false,
                "required": ["rule", "verdict", "reason"],
                "properties": {
                  "rule": { "type": "string" },
                  "verdict": { "type": "string", "enum": ["allow", "deny", "would_deny", "skipped"] },
                  "because": { "type": "string", "enum": ["not_applicable", "not_reached"],
                    "description": "Why the rule was skipped: it does not concern the request, or the request was decided before it." },
                  "reason": { "type": "string", "description": "What the rule compared, or why it was skipped. Phone numbers are masked." } } } } } }
          """#)
    ),
  ]
}

extension JSONValue {
  /// The schema of a text that is one of some words.
  fileprivate static func words(_ words: [String], _ description: String) -> JSONValue {
    let document: JSONObject = [
      "type": "string", "enum": .array(words.map(JSONValue.string)), "description": .string(description),
    ]
    return .object(document)
  }
}

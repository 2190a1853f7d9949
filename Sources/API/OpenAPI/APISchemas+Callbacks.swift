// The JSON schemas of callback requests and responses.

import JSON

extension APISchemas {
  /// The schemas of requests and responses below `/callbacks`. The limits are those of `CallbackLimits`; a
  /// test compares them.
  static let callbacks: [(name: String, schema: JSONValue)] = [
    (
      "ContextText",
      JSONValue(
        literally: #"""
          { "type": "string", "maxLength": 255, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F\\u2028\\u2029]*$",
            "description": "At most 255 characters, no control characters." }
          """#)
    ),
    (
      "ContextValue",
      JSONValue(
        literally: #"""
          { "type": "string", "maxLength": 16384, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F\\u2028\\u2029]*$",
            "description": "At most 255 characters, of a `url` 2,048, or as many as the app's `context_schema` says; no control characters." }
          """#)
    ),
    (
      "ContextName",
      JSONValue(
        literally: #"""
          { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F\\u2028\\u2029]*$",
            "description": "Unique within the context. At most 64 characters, unless the app's `context_schema` has a longer name." }
          """#)
    ),
    (
      "ContextField",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["name", "value"],
            "description": "One field that the agent sees.",
            "properties": {
              "name": { "$ref": "#/components/schemas/ContextName" },
              "display_name": { "$ref": "#/components/schemas/ContextText", "description": "The label; the name by default. Ignored if the app's `context_schema` has one." },
              "tooltip_text": { "$ref": "#/components/schemas/ContextText", "description": "The tooltip; the name by default. Ignored if the app's `context_schema` has one." },
              "data_type": { "type": "string", "enum": ["phone", "text", "url"],
                "description": "The type of the value. The default is the type in the app's `context_schema`, otherwise text." },
              "value": { "$ref": "#/components/schemas/ContextValue" } },
            "allOf": [
              { "if": { "required": ["data_type"], "properties": { "data_type": { "type": "string", "const": "phone" } } },
                "then": { "properties": { "value": { "$ref": "#/components/schemas/PhoneNumber" } } } },
              { "if": { "required": ["data_type"], "properties": { "data_type": { "type": "string", "const": "url" } } },
                "then": { "properties": { "value": { "type": "string",
                  "description": "An absolute URI (RFC 3986), but not `javascript:`, `data:` or `file:`.",
                  "pattern": "^[A-Za-z][A-Za-z0-9+.\\-]*:[!#-;=?-\\[\\]_a-z~]*$" } } } } ] }
          """#)
    ),
    (
      "ContextForm",
      JSONValue(
        literally: #"""
          { "type": "object", "description": "Talkdesk's own form.", "additionalProperties": false, "required": ["fields"],
            "properties": {
              "fields": { "type": "array", "maxItems": 20, "items": { "$ref": "#/components/schemas/ContextField" } } } }
          """#)
    ),
    (
      "ContextShortForm",
      JSONValue(
        literally: #"""
          { "type": "object", "maxProperties": 20,
            "description": "The short form: a value for each name. `fields` is not a name here.",
            "not": { "required": ["fields"] },
            "propertyNames": { "$ref": "#/components/schemas/ContextName" },
            "additionalProperties": { "$ref": "#/components/schemas/ContextValue" } }
          """#)
    ),
    (
      "CallbackRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["contact_phone_number"],
            "properties": {
              "contact_phone_number": { "$ref": "#/components/schemas/PhoneNumber", "description": "The number to call." },
              "talkdesk_phone_number": { "$ref": "#/components/schemas/PhoneNumber",
                "description": "The account's number for the call. The operator lists the allowed numbers; the first is the default." },
              "at": { "anyOf": [ { "type": "string", "format": "date-time" }, { "type": "null" } ],
                "description": "When the phone is to ring, with an offset; fractions of a second are dropped. Without it, or with null: now." },
              "context": { "description": "Text for the agent.",
                "oneOf": [ { "$ref": "#/components/schemas/ContextForm" }, { "$ref": "#/components/schemas/ContextShortForm" } ] },
              "number_proof": { "type": ["string", "null"], "minLength": 1, "maxLength": 4096,
                "description": "A token of Firebase Phone Number Verification for this number. It works once. Only where the operator has configured numbers.proofs.firebase." },
              "consent": { "description": "What the customer agreed to. Only where the operator has configured numbers.consent.",
                "anyOf": [ { "$ref": "#/components/schemas/Consent" }, { "type": "null" } ] } } }
          """#)
    ),
    (
      "Consent",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["text", "at"],
            "properties": {
              "text": { "type": "string", "minLength": 1, "maxLength": 64, "description": "The name of the text that the customer agreed to." },
              "at": { "type": "string", "format": "date-time", "description": "When, with an offset; fractions of a second are dropped." } } }
          """#)
    ),
    (
      "SavedConsent",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["text", "at", "digest"],
            "properties": {
              "text": { "type": "string", "description": "The name of the text that the customer agreed to." },
              "at": { "type": "string", "format": "date-time", "description": "When." },
              "digest": { "type": "string", "pattern": "^[0-9a-f]{16}$", "description": "The first 16 digits of the text's SHA-256." } } }
          """#)
    ),
    (
      "CallbackChange",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["at"],
            "properties": {
              "at": { "type": "string", "format": "date-time",
                "description": "The new time, with an offset; fractions of a second are dropped." } } }
          """#)
    ),
    (
      "AppointmentList",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["callbacks"],
            "properties": {
              "callbacks": { "type": "array", "maxItems": 100, "items": { "$ref": "#/components/schemas/Callback" } } } }
          """#)
    ),
    (
      "VerificationCode",
      JSONValue(
        literally: #"""
          { "type": "string", "pattern": "^[0-9]{6}$",
            "description": "The code that the agent sees and asks for, if the installation's callbacks carry one. Show it to the customer. The server forgets it some time after the end of the callback." }
          """#)
    ),
    (
      "CallbackReceipt",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false,
            "required": ["id", "status", "created_at", "contact_phone_number"],
            "properties": {
              "id": { "type": "string", "format": "uuid", "description": "The id of the callback." },
              "status": { "type": "string", "enum": ["accepted", "scheduled"],
                "description": "accepted: Talkdesk accepted it. scheduled: it will be requested at its time." },
              "at": { "type": "string", "format": "date-time", "description": "When the phone is to ring, for an appointment." },
              "created_at": { "type": "string", "format": "date-time", "description": "When the callback was requested." },
              "contact_phone_number": { "$ref": "#/components/schemas/MaskedNumber" },
              "verification_code": { "$ref": "#/components/schemas/VerificationCode" } } }
          """#)
    ),
    (
      "CallbackValidation",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["valid"],
            "properties": { "valid": { "type": "boolean", "const": true } } }
          """#)
    ),
    (
      "Callback",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false,
            "required": ["id", "status", "created_at", "contact_phone_number"],
            "properties": {
              "id": { "type": "string", "format": "uuid", "description": "The id of the callback." },
              "status": { "type": "string", "enum": ["scheduled", "pending", "accepted", "failed", "unknown", "cancelled", "expired"],
                "description": "pending: not decided yet. accepted: Talkdesk accepted it. failed: no call was requested. unknown: the phone may ring. scheduled: its time has not come. cancelled: its owner canceled it. expired: its time passed, and no call was requested." },
              "at": { "type": "string", "format": "date-time", "description": "When the phone is to ring, for an appointment." },
              "created_at": { "type": "string", "format": "date-time", "description": "When the callback was requested." },
              "settled_at": { "type": "string", "format": "date-time", "description": "When the callback ended." },
              "reason": { "type": "string", "description": "Why the callback is not accepted: the code of a problem." },
              "contact_phone_number": { "$ref": "#/components/schemas/MaskedNumber" },
              "consent": { "$ref": "#/components/schemas/SavedConsent" },
              "outcome": { "$ref": "#/components/schemas/CallOutcome" },
              "verification_code": { "$ref": "#/components/schemas/VerificationCode" } } }
          """#)
    ),
    (
      "CallOutcome",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["state", "certainty", "source", "at"],
            "description": "The outcome of the call, once Talkdesk has reported it. It does not change `status`.",
            "properties": {
              "state": { "type": "string", "enum": ["reached", "not_reached", "cancelled"],
                "description": "reached: they spoke with each other. not_reached: the customer did not answer. cancelled: the customer ended the call before an agent spoke." },
              "certainty": { "type": "string", "enum": ["matched"],
                "description": "matched: this callback is the only one that fits the call by numbers and time." },
              "source": { "type": "string", "enum": ["trigger", "report"], "description": "trigger: a Talkdesk event. report: the nightly report of calls." },
              "at": { "type": "string", "format": "date-time", "description": "When the call ended." },
              "talk_seconds": { "type": "integer", "minimum": 0, "description": "How long they spoke." },
              "waited_seconds": { "type": "integer", "minimum": 0, "description": "How long the customer waited." } } }
          """#)
    ),
    (
      "TalkdeskEvent",
      JSONValue(
        literally: #"""
          { "description": "An object whose members are the texts of a template. The server ignores what it cannot read. At most 16 KiB.",
            "type": "object", "additionalProperties": true }
          """#)
    ),
    (
      "Availability",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["open", "next_change", "windows", "remaining"],
            "properties": {
              "open": { "type": "boolean", "description": "Whether the server accepts callbacks now." },
              "next_change": { "anyOf": [ { "type": "string", "format": "date-time" }, { "type": "null" } ],
                "description": "When `open` changes next; null if no change is known." },
              "windows": { "type": "array", "description": "The open times from now on.",
                "items": { "type": "object", "additionalProperties": false, "required": ["start", "end"],
                  "properties": {
                    "start": { "type": "string", "format": "date-time" },
                    "end": { "type": "string", "format": "date-time", "description": "The end itself is not open." } } } },
              "slots": { "type": "array", "maxItems": 3000,
                "description": "With `from` and `to`: the slots that begin in this span and that this caller could book by time.",
                "items": { "type": "object", "additionalProperties": false, "required": ["start", "end", "free", "total"],
                  "properties": {
                    "start": { "type": "string", "format": "date-time" },
                    "end": { "type": "string", "format": "date-time", "description": "The end itself is in the next slot." },
                    "free": { "type": "integer", "minimum": 0, "description": "The places left for all callers." },
                    "total": { "type": "integer", "minimum": 1, "description": "The places of a slot." } } } },
              "agents": { "type": "object", "additionalProperties": false, "required": ["available", "as_of"],
                "description": "The available agents, while the server knows their number.",
                "properties": {
                  "available": { "type": "integer", "minimum": 0 },
                  "as_of": { "type": "string", "format": "date-time", "description": "When Talkdesk reported the number." } } },
              "remaining": { "type": "object", "description": "The rest of the caller's limits by rule, and of the brakes that all callers share.",
                "additionalProperties": { "type": "integer", "minimum": 0 } } } }
          """#)
    ),
  ]
}

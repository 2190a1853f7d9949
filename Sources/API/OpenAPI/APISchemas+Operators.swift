// The JSON schemas of the admin endpoints.

import Gate
import JSON

extension APISchemas {
  /// The schemas of requests and responses below `/admin`. A member that is `null` counts as left out there.
  static let operators = written.map { (name: $0.name, schema: $0.schema.namingActions) }

  private static var inquiry: JSONValue {
    var properties: JSONObject = ["action": ["type": "string", "enum": "ACTIONS"]]
    for fact in AskedFact.allCases where fact != .at { properties[fact.rawValue] = fact.schema }
    properties["claims"] = JSONValue(
      literally: #"{ "type": ["object", "null"], "description": "The claims of the caller's token." }"#)
    properties["fields"] = JSONValue(
      literally: #"""
        { "type": ["object", "null"], "description": "The request's headers. A repeated header is a list.",
          "additionalProperties": { "anyOf": [ { "type": "string" }, { "type": "array", "items": { "type": "string" } } ] } }
        """#)
    properties[AskedFact.at.rawValue] = AskedFact.at.schema
    properties["counts"] = JSONValue(
      literally: #"""
        { "type": ["object", "null"], "description": "How many requests each rule has counted.",
          "additionalProperties": { "type": "integer", "minimum": 0 } }
        """#)
    return [
      "type": "object", "additionalProperties": false, "required": ["action"],
      "properties": .object(properties),
    ]
  }

  /// The same schemas with the words `ACTIONS` and `STOP ACTIONS` in place of the lists of actions. Each
  /// published schema contains the list itself, because generators of clients leave out unions with a
  /// reference to an enumeration.
  private static let written: [(name: String, schema: JSONValue)] = [
    (
      "Stop",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["scope", "action", "since", "operator", "by"],
            "properties": {
              "scope": { "type": "string", "enum": ["all", "app", "caller"], "description": "Whether the stop concerns everyone, an app or a caller." },
              "id": { "type": "string", "description": "The app or caller." },
              "action": { "type": "string", "enum": "STOP ACTIONS", "description": "The stopped action." },
              "since": { "type": "string", "format": "date-time", "description": "The start of the stop." },
              "until": { "type": "string", "format": "date-time", "description": "The end of the stop; absent if it lasts until resumed." },
              "reason": { "type": "string", "description": "The reason, for operators." },
              "operator": { "type": "string", "description": "The last operator who paused this. `-` if the release that saved it stored none." },
              "by": { "type": "string", "enum": ["token", "jwt", "local", "-"], "description": "How that was proved." } } }
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
              { "title": "Stop everyone", "type": "object", "additionalProperties": false, "required": ["scope", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["all"] },
                  "action": { "type": "string", "enum": "STOP ACTIONS" },
                  "reason": { "type": ["string", "null"], "maxLength": 200, "description": "The reason, for operators." },
                  "for": { "type": ["string", "null"], "pattern": "^(0|[1-9][0-9]*)(ms|s|m|h|d)$",
                    "description": "The duration, 1s to 365d. The default is until resumed." } } },
              { "title": "Stop one app or caller", "type": "object", "additionalProperties": false, "required": ["scope", "id", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["app", "caller"] },
                  "id": { "type": "string", "minLength": 1, "description": "The id of a configured app or caller; `anonymous` is a caller." },
                  "action": { "type": "string", "enum": "STOP ACTIONS" },
                  "reason": { "type": ["string", "null"], "maxLength": 200, "description": "The reason, for operators." },
                  "for": { "type": ["string", "null"], "pattern": "^(0|[1-9][0-9]*)(ms|s|m|h|d)$",
                    "description": "The duration, 1s to 365d. The default is until resumed." } } } ] }
          """#)
    ),
    (
      "ResumeRequest",
      JSONValue(
        literally: #"""
          { "oneOf": [
              { "title": "Resume everyone", "type": "object", "additionalProperties": false, "required": ["scope", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["all"] },
                  "action": { "type": "string", "enum": "STOP ACTIONS" } } },
              { "title": "Resume one app or caller", "type": "object", "additionalProperties": false, "required": ["scope", "id", "action"],
                "properties": {
                  "scope": { "type": "string", "enum": ["app", "caller"] },
                  "id": { "type": "string", "minLength": 1, "description": "The id of a configured app or caller; `anonymous` is a caller." },
                  "action": { "type": "string", "enum": "STOP ACTIONS" } } } ] }
          """#)
    ),
    (
      "CallbackList",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["callbacks"],
            "properties": {
              "callbacks": { "type": "array", "items": { "$ref": "#/components/schemas/OperatorCallback" } },
              "next": { "type": "string", "format": "uuid", "description": "Send it as `after` to get the next page; absent on the last page." } } }
          """#)
    ),
    (
      "OperatorCallback",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["id", "status", "created_at", "caller"],
            "properties": {
              "id": { "type": "string", "format": "uuid", "description": "The id of the callback." },
              "status": { "type": "string", "enum": ["scheduled", "pending", "accepted", "failed", "unknown", "cancelled", "expired"],
                "description": "pending: not decided yet. accepted: Talkdesk accepted it. failed: no call was requested. unknown: the phone may ring. scheduled: its time has not come. cancelled: its owner canceled it. expired: its time passed, and no call was requested." },
              "at": { "type": "string", "format": "date-time", "description": "The time of an appointment." },
              "created_at": { "type": "string", "format": "date-time", "description": "When the callback was requested." },
              "settled_at": { "type": "string", "format": "date-time", "description": "When the callback ended." },
              "reason": { "type": "string", "description": "Why the callback is not accepted: the code of a problem." },
              "contact_phone_number": { "$ref": "#/components/schemas/MaskedNumber" },
              "outcome": { "$ref": "#/components/schemas/CallOutcome" },
              "ticket": { "type": "object", "description": "For the record of a ticket, which has no number: the ticket, if it is open." },
              "caller": { "type": "string", "description": "The caller that requested the callback." },
              "subject": { "type": "string", "description": "The person that the credential names, if any." },
              "app": { "type": "string", "description": "The app, if any." },
              "upstream_status": { "type": "integer", "description": "The status of Talkdesk's response, if any." },
              "platform_tid": { "type": "string", "description": "Talkdesk's own id of the exchange, if any." } } }
          """#)
    ),
    (
      "Status",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false,
            "required": ["operator", "status", "started", "time", "configuration", "callers", "apps", "rules", "stops", "store", "tokens", "keys", "upstreams", "openings", "callbacks", "attention", "server", "callback_counts", "queue", "brakes", "last_hour", "latency", "sequence", "decisions"],
            "properties": {
              "operator": { "type": "object", "additionalProperties": false, "required": ["name", "role", "by"],
                "description": "The operator who asked.",
                "properties": {
                  "name": { "type": "string" },
                  "role": { "type": "string", "enum": ["read", "approve", "operate"] },
                  "by": { "type": "string", "enum": ["token", "jwt", "local"], "description": "How the name was proved." } } },
              "status": { "$ref": "#/components/schemas/Health" },
              "time": { "type": "string", "format": "date-time", "description": "The time at the server." },
              "started": { "type": "string", "format": "date-time", "description": "When the process started." },
              "configuration": { "type": "object", "additionalProperties": false, "required": ["generation", "files"],
                "properties": {
                  "generation": { "type": "integer", "minimum": 1, "description": "Counted from 1 at the start." },
                  "files": { "type": "array", "items": { "type": "string" }, "description": "The files that the server has read and watches for changes." },
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
                  "stops_age_seconds": { "type": "integer", "minimum": 0, "description": "The age of the list of stops." },
                  "clock_difference_seconds": { "type": "integer",
                    "description": "How far this machine's clock is ahead of the store's; negative if it is behind. Absent if the store has no clock." },
                  "failure": { "type": "string", "description": "The last error of a store that fails." } } },
              "tokens": { "type": "array", "items": { "$ref": "#/components/schemas/Scope" } },
              "keys": { "$ref": "#/components/schemas/Keys" },
              "upstreams": { "type": "array", "description": "The services that the server has sent requests to, since the start.",
                "items": { "type": "object", "additionalProperties": false, "required": ["upstream", "outcomes"],
                  "properties": {
                    "upstream": { "type": "string", "enum": ["talkdesk_id", "callback_api", "jwks", "policy", "sendbird", "phone_validation", "do_not_call"] },
                    "outcomes": { "type": "object", "additionalProperties": { "type": "integer", "minimum": 1 } },
                    "last_success": { "type": "string", "format": "date-time" } } } },
              "openings": { "type": "array", "description": "Whether callbacks are open now. An app whose callers differ has an entry for each.",
                "items": { "type": "object", "additionalProperties": false, "required": ["open", "next_change"],
                  "properties": {
                    "app": { "type": "string" }, "caller": { "type": "string" }, "open": { "type": "boolean" },
                    "next_change": { "type": ["string", "null"], "format": "date-time" } } } },
              "callbacks": { "type": "string", "enum": ["open", "failing", "held", "closed"],
                "description": "Whether callbacks go out: `failing` where Talkdesk, its credential or the store fails, `held` where a stop, a brake, a quota or a rate refuses some, `closed` outside opening hours." },
              "attention": { "type": "array", "maxItems": 100, "description": "What needs attention, the most urgent first. Empty without a problem.",
                "items": { "$ref": "#/components/schemas/Attention" } },
              "server": { "type": "object", "additionalProperties": false, "required": ["instance", "version"],
                "properties": {
                  "instance": { "type": "string", "description": "The name of the machine or container." },
                  "version": { "type": "string" },
                  "account": { "type": "string", "description": "The Talkdesk account. Absent without one." },
                  "region": { "type": "string", "enum": ["us", "eu", "ca", "au"] } } },
              "callback_counts": { "type": "object", "description": "Callbacks by outcome, since the start.",
                "additionalProperties": { "type": "integer", "minimum": 0 } },
              "queue": { "type": "object", "additionalProperties": false, "required": ["running", "waiting"],
                "properties": {
                  "running": { "type": "integer", "minimum": 0, "description": "Callbacks that are being sent." },
                  "waiting": { "type": "integer", "minimum": 0, "description": "Callbacks that wait in line." } } },
              "appointments": { "type": "object", "additionalProperties": false, "required": ["scheduled", "pending"],
                "properties": { "scheduled": { "type": "integer", "minimum": 0 }, "pending": { "type": "integer", "minimum": 0 } } },
              "installations": { "type": "object", "description": "Installations and requests for them, by state.",
                "additionalProperties": { "type": "integer", "minimum": 0 } },
              "trust": { "type": "array", "description": "Attestations and proofs of phones' keys that the server has judged, since the start. Those that did not pass (`failed`) are refused by `enforce`, and let through by `audit`; of `key`, those that `required` refuses. Absent without any.",
                "items": { "type": "object", "additionalProperties": false, "required": ["kind", "judged", "failed"],
                  "properties": {
                    "kind": { "type": "string", "enum": ["app_check", "app_attest", "play_integrity", "key"] },
                    "judged": { "type": "integer", "minimum": 1 }, "failed": { "type": "integer", "minimum": 0 } } } },
              "desks": { "type": "array", "description": "The chat desks.",
                "items": { "type": "object", "additionalProperties": false, "required": ["desk", "status", "users"],
                  "properties": {
                    "desk": { "type": "string" }, "status": { "type": "string", "enum": ["pass", "warn"] },
                    "users": { "type": "integer", "minimum": 0, "description": "Users whose session tokens the server has cached." },
                    "tickets": { "type": "string", "enum": ["pass", "warn"], "description": "The latest request about tickets. Absent if the desk takes none." },
                    "last_request": { "type": "string", "description": "The outcome of the last request." },
                    "last_request_age_seconds": { "type": "integer", "minimum": 0 },
                    "cool_down_seconds": { "type": "integer", "minimum": 0, "description": "How long the server makes no request yet." } } } },
              "brakes": { "type": "array", "description": "The brakes that are on.",
                "items": { "type": "object", "additionalProperties": false, "required": ["brake", "limit"],
                  "properties": {
                    "brake": { "type": "string", "enum": ["number", "burst", "hour", "lookups"] },
                    "limit": { "type": "integer", "minimum": 1 },
                    "used_ratio": { "type": "number", "minimum": 0, "maximum": 1, "description": "The share in use. The brake on each number has none." } } } },
              "last_hour": { "type": "object", "additionalProperties": false, "required": ["minutes", "decisions"],
                "properties": {
                  "minutes": { "type": "array", "description": "60 minutes, the current one last.",
                    "items": { "type": "object", "additionalProperties": false, "required": ["start", "allow", "deny", "error"],
                      "properties": {
                        "start": { "type": "string", "format": "date-time" }, "allow": { "type": "integer", "minimum": 0 },
                        "deny": { "type": "integer", "minimum": 0 }, "error": { "type": "integer", "minimum": 0 } } } },
                  "decisions": { "type": "array", "description": "The decisions of these minutes by code and rule, the most frequent first.",
                    "items": { "type": "object", "additionalProperties": false, "required": ["decision", "count"],
                      "properties": {
                        "decision": { "type": "string", "enum": ["allow", "deny", "error"] }, "code": { "type": "string" },
                        "rule": { "type": "string" }, "count": { "type": "integer", "minimum": 1 } } } } } },
              "latency": { "type": "array", "description": "The latency of endpoints for apps in the last hour, as upper bounds of a histogram's buckets; null above 30 seconds.",
                "items": { "type": "object", "additionalProperties": false,
                  "required": ["route", "count", "p50_seconds", "p95_seconds", "p99_seconds"],
                  "properties": {
                    "route": { "type": "string" }, "count": { "type": "integer", "minimum": 1 },
                    "p50_seconds": { "type": ["number", "null"] }, "p95_seconds": { "type": ["number", "null"] },
                    "p99_seconds": { "type": ["number", "null"] } } } },
              "sequence": { "type": "integer", "minimum": 0, "description": "The number of the last decision. Send it as `after`." },
              "decisions": { "type": "array", "description": "The last decisions of this instance, the newest last.",
                "items": { "$ref": "#/components/schemas/RecentDecision" } } } }
          """#)
    ),
    (
      "Attention",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["code", "since", "count", "text", "action", "runbook"],
            "description": "A present problem.",
            "properties": {
              "code": { "type": "string", "description": "The kind of problem, as the runbook lists them." },
              "since": { "type": "string", "format": "date-time", "description": "When it began, as far as this instance knows." },
              "until": { "type": "string", "format": "date-time", "description": "When it ends, or when the server tries again. Absent if that is not known." },
              "count": { "type": "integer", "minimum": 0, "description": "How many requests it hit since then, in this instance." },
              "text": { "type": "string", "description": "The cause." },
              "action": { "type": "string", "description": "What to do." },
              "runbook": { "type": "string", "format": "uri-reference", "description": "The section of the runbook: a URL, or a path on this server." } } }
          """#)
    ),
    (
      "Decisions",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["decisions"],
            "properties": { "decisions": { "type": "array", "items": { "$ref": "#/components/schemas/RecentDecision" } } } }
          """#)
    ),
    (
      "RecentDecision",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["sequence", "time", "action", "decision", "duration_ms", "request_id"],
            "additionalProperties": false, "description": "An audit line, with its number.",
            "properties": {
              "sequence": { "type": "integer", "minimum": 1, "description": "Counted from 1 since the start." },
              "log": { "type": "string", "enum": ["audit"] },
              "time": { "type": "string", "format": "date-time" },
              "action": { "type": "string" }, "trigger": { "type": "string", "enum": ["appointment"] },
              "decision": { "type": "string", "enum": ["allow", "deny", "error"] },
              "code": { "type": "string" }, "rule": { "type": "string" }, "reason": { "type": "string" },
              "verdicts": { "type": "array", "items": { "type": "object", "additionalProperties": false, "required": ["rule", "verdict"],
                "properties": { "rule": { "type": "string" }, "verdict": { "type": "string" } } } },
              "caller": { "type": "string" }, "subject": { "type": "string" }, "installation": { "type": "string" },
              "app": { "type": "string" },
              "attestation": { "type": "object", "additionalProperties": false, "required": ["type", "result"],
                "description": "The result for a proof that the app is genuine.",
                "properties": { "type": { "type": "string" }, "result": { "type": "string" }, "reason": { "type": "string" } } },
              "proof": { "type": "object", "additionalProperties": false, "required": ["result"],
                "description": "The result for the proof of the caller's key.",
                "properties": { "result": { "type": "string" }, "reason": { "type": "string" } } },
              "address": { "type": "string", "description": "The client's address." },
              "via": { "type": "string", "enum": ["gms", "mcp"], "description": "The interface of the request, if it is not Callgate's own." },
              "contact": { "$ref": "#/components/schemas/MaskedNumber" }, "callback": { "type": "string", "format": "uuid" },
              "conversation": { "type": "string", "description": "The id that an AI agent gave its conversation." },
              "ticket": { "type": "string", "format": "uuid" },
              "consent": { "$ref": "#/components/schemas/SavedConsent" },
              "cancelled": { "type": "integer", "minimum": 0, "description": "How many appointments a revocation has cancelled." },
              "cache": { "type": "string", "enum": ["hit", "miss", "none"] }, "upstream_status": { "type": "integer" },
              "token_sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" }, "replay": { "type": "boolean" },
              "operator": { "type": "string", "description": "The operator of an admin request." },
              "by": { "type": "string", "enum": ["token", "jwt", "local"], "description": "How that was proved." },
              "duration_ms": { "type": "number", "minimum": 0 },
              "request_id": { "type": "string" }, "trace_id": { "type": "string" } } }
          """#)
    ),
    (
      "Reload",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["generation", "notices", "restart_needed"],
            "properties": {
              "generation": { "type": "integer", "minimum": 1, "description": "The number of the current configuration." },
              "notices": { "type": "array", "items": { "type": "string" }, "description": "Parts of the configuration to check." },
              "restart_needed": { "type": "array", "items": { "type": "string" }, "description": "Changed settings that need a restart." } } }
          """#)
    ),
    ("Inquiry", inquiry),
    (
      "Explanation",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["decision", "reason", "verdicts"],
            "properties": {
              "decision": { "type": "string", "enum": ["allow", "deny"] },
              "code": { "type": "string", "description": "The code of the refusal." },
              "rule": { "type": "string", "description": "The rule that refuses the request." },
              "reason": { "type": "string", "description": "The decision and its reason as a sentence." },
              "verdicts": { "type": "array", "items": { "type": "object", "additionalProperties": false,
                "required": ["rule", "verdict", "reason"],
                "properties": {
                  "rule": { "type": "string" },
                  "verdict": { "type": "string", "enum": ["allow", "deny", "would_deny", "skipped"] },
                  "because": { "type": "string", "enum": ["not_applicable", "not_reached"],
                    "description": "Why the rule was skipped: it does not apply to the request, or an earlier rule decided the request." },
                  "reason": { "type": "string", "description": "The values that the rule compared, or why it was skipped. Phone numbers are masked." } } } } } }
          """#)
    ),
  ]
}

extension JSONValue {
  /// The value with the lists of actions in place of the words for them.
  fileprivate var namingActions: JSONValue {
    switch self {
    case .string("ACTIONS"): Self.names([])
    case .string("STOP ACTIONS"): Self.names(["all"])
    case .array(let elements): .array(elements.map(\.namingActions))
    case .object(let object):
      .object(object.members.reduce(into: JSONObject()) { $0.append($1.name, $1.value.namingActions) })
    default: self
    }
  }

  private static func names(_ more: [String]) -> JSONValue {
    .array((Action.allCases.map(\.rawValue) + more).map(JSONValue.string))
  }
}

// The JSON schemas of requests and responses of GMS clients.

import JSON

extension APISchemas {
  /// The schemas of the interface for GMS clients.
  static let gms: [(name: String, schema: JSONValue)] = [
    (
      "GMSCallback",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["_customer_number"],
            "properties": {
              "_customer_number": { "type": "string", "description": "The number to call, in E.164 form." },
              "_desired_time": { "type": ["string", "null"], "description": "The time of the call; now without it. Milliseconds and the colon of the offset are optional, and a space may stand in place of `T`." },
              "_device_notification_id": { "type": ["string", "null"], "description": "The push token of the device that gets the notices of this callback." },
              "_device_os": { "type": ["string", "null"], "description": "The device's system: `gcm`, `fcm`, `android`, `ios`, `apns`, `customhttp` or `httpcb`. Others get no notices." },
              "_media_type": { "type": ["string", "null"], "description": "`chat` is refused." } },
            "additionalProperties": true, "description": "Members without an underscore are texts or booleans." }
          """#)
    ),
    (
      "GMSChange",
      JSONValue(
        literally: #"""
          { "type": "object",
            "properties": { "_new_desired_time": { "type": ["string", "null"], "description": "The new time." } },
            "additionalProperties": true, "description": "Members without an underscore are texts or booleans." }
          """#)
    ),
    (
      "GMSRecord",
      JSONValue(
        literally: #"""
          { "type": "object",
            "required": ["_id", "_service_name", "_customer_number", "_desired_time", "_expiration_time", "_callback_state", "url"],
            "properties": {
              "_id": { "type": "string", "pattern": "^[A-Z0-9]{32}$", "description": "Names the callback. Keep it as secret as a password." },
              "_service_name": { "type": "string" },
              "_customer_number": { "type": "string", "description": "Masked, but in the response to the creation and to a query that names it." },
              "_desired_time": { "type": "string", "description": "The time of the call. For a call at once, the time of its creation." },
              "_expiration_time": { "type": "string", "description": "When it is too late for the call." },
              "_callback_state": { "type": "string", "enum": ["SCHEDULED", "PROCESSING", "COMPLETED"] },
              "_callback_reason": { "type": "string", "enum": ["CANCELLED", "FAIL_TIMEOUT_TTL", "FAIL_QUEUEING", "FAIL_ERROR"], "description": "Why no call was made." },
              "url": { "type": "string", "description": "Its path below the base URL." },
              "_dialog_id": { "type": "string" }, "_action": { "type": "string" },
              "_text": { "type": "string" }, "_ok_title": { "type": "string" } },
            "additionalProperties": { "type": "string" },
            "description": "Every value is a text. A scheduled callback also has its context." }
          """#)
    ),
    (
      "GMSSlots",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["durationMin", "slots"],
            "properties": {
              "durationMin": { "type": "integer", "minimum": 1, "description": "The length of a slot in minutes." },
              "timezone": { "type": "string" },
              "slots": { "type": "array", "items": { "type": "object", "required": ["utcTime", "capacity", "total"],
                "properties": {
                  "utcTime": { "type": "string" }, "localTime": { "type": "string" },
                  "capacity": { "type": "integer", "minimum": 0, "description": "The free places." },
                  "total": { "type": "integer", "minimum": 1 } } } } } }
          """#)
    ),
    (
      "GMSQueuePosition",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["_position", "_eta", "_total_waiting", "_agent_ready_threshold_passed"],
            "properties": {
              "_position": { "type": "string", "enum": ["0"] }, "_eta": { "type": "string", "enum": ["0"] },
              "_total_waiting": { "type": "string", "enum": ["0"] },
              "_agent_ready_threshold_passed": { "type": "string", "enum": ["false"] } },
            "description": "Talkdesk reports no position, so it is always the same." }
          """#)
    ),
    (
      "GMSError",
      JSONValue(
        literally: #"""
          { "type": "object", "required": ["message", "exception", "code", "phrase"],
            "properties": {
              "message": { "type": "string", "description": "What happened and what to do." },
              "exception": { "type": "string", "description": "The class of the exception in GMS." },
              "code": { "type": "integer", "description": "40000 and the status of the problem." },
              "phrase": { "type": "string", "description": "The words of the HTTP status." },
              "availability": { "type": "object", "additionalProperties": { "type": "integer", "minimum": 1 }, "description": "Times that can be booked instead, and their free places." } } }
          """#)
    ),
  ]
}

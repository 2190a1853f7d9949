// The JSON schemas of requests for tickets and their responses.

import JSON

extension APISchemas {
  /// The schemas of requests and responses below `/tickets`. A test compares the limits with those of the
  /// server.
  static let tickets: [(name: String, schema: JSONValue)] = [
    (
      "DeskKey",
      JSONValue(
        literally: #"""
          { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F\\u2028\\u2029]*$",
            "description": "A key of the desk: at most 64 characters, no control characters." }
          """#)
    ),
    (
      "TicketRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["title"],
            "properties": {
              "title": { "$ref": "#/components/schemas/ContextText", "minLength": 1, "description": "What agents see in their list." },
              "message": { "type": "string", "minLength": 1, "maxLength": 5000, "pattern": "^[^\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F-\\u009F]*$",
                "description": "The user's first message. Until there is one, agents do not see the ticket." },
              "custom_fields": { "type": "object", "maxProperties": 20,
                "description": "Values by the keys of the desk's dashboard. The desk drops keys that it does not know.",
                "propertyNames": { "$ref": "#/components/schemas/DeskKey" },
                "additionalProperties": { "$ref": "#/components/schemas/ContextText", "minLength": 1 } },
              "priority": { "type": "string", "enum": ["LOW", "MEDIUM", "HIGH", "URGENT"] },
              "group_key": { "$ref": "#/components/schemas/DeskKey", "description": "The key of the agents' group." },
              "related_channels": { "type": "array", "maxItems": 3, "description": "The URLs of channels that belong to the ticket.",
                "items": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-+\\--~]+$" } },
              "user_name": { "type": "string", "minLength": 1, "maxLength": 80, "pattern": "^[^\\u0000-\\u001F\\u007F-\\u009F\\u2028\\u2029]*$",
                "description": "The name that agents see. It becomes the nickname of a user that has none at Sendbird." } } }
          """#)
    ),
    (
      "TicketReceipt",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["id", "ticket_id", "channel_url", "message_sent"],
            "properties": {
              "id": { "type": "string", "format": "uuid", "description": "The id of the request's record." },
              "ticket_id": { "type": "string", "description": "The ticket's id at the desk." },
              "channel_url": { "type": "string", "description": "The channel of its conversation." },
              "message_sent": { "type": "boolean",
                "description": "Whether the first message was sent. False also if the request had none." } } }
          """#)
    ),
    (
      "Ticket",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["id", "status", "created_at"],
            "properties": {
              "id": { "type": "string", "format": "uuid", "description": "The id of the request's record." },
              "status": { "type": "string", "enum": ["pending", "accepted", "failed", "unknown"],
                "description": "pending: not decided yet. accepted: the desk opened the ticket. failed: it did not. unknown: it may have." },
              "created_at": { "type": "string", "format": "date-time", "description": "When the ticket was requested." },
              "settled_at": { "type": "string", "format": "date-time", "description": "When the request ended." },
              "reason": { "type": "string", "description": "Why the ticket is not open: the code of a problem." },
              "ticket_id": { "type": "string", "description": "The ticket's id at the desk." },
              "channel_url": { "type": "string", "description": "The channel of its conversation." },
              "message_sent": { "type": "boolean", "description": "Whether the first message was sent." } } }
          """#)
    ),
  ]
}

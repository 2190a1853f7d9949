// Describes the endpoints for blocked numbers for the API documentation.

import Gate
import HTTP
import JSON

extension APIOperation {
  private static let example: JSONValue = [
    "phone": "+*********23", "since": "2026-11-20T15:04:05Z", "reason": "customer complained",
    "operator": "ann", "by": "token",
  ]

  package static let adminNumbers = APIOperation(
    method: .get, id: "listBlockedNumbers", tag: .operators, access: .operators(.read),
    summary: "List the blocked phone numbers, newest first",
    description: """
      A page of the numbers that are blocked now. The server stores no full number, so the list shows the last two digits. For the \
      next page, send `next` as `after`. The last page has no `next`.
      """,
    parameters: [
      APIParameter(
        name: "after", place: .query, description: "`next` from the previous page.",
        schema: ["type": "string", "pattern": "^[0-9]{1,18}$"]),
      APIParameter(
        name: "limit", place: .query, description: "The most numbers in a page.",
        schema: ["type": "integer", "minimum": 1, "maximum": 1000, "default": 50], example: 50),
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "A page.",
        contents: [.json("BlockedNumberList", ("one", ["numbers": [example]]))], fields: [.noStore])
    ], refusals: [.invalidRequest, .storeUnavailable])

  package static let adminBlockNumber = APIOperation(
    method: .post, id: "postBlockNumber", tag: .operators, access: .operators(.approve),
    summary: "Block a phone number",
    description: """
      Every instance with the same store refuses callbacks to the number within two seconds, in every way: requests, appointments, \
      dialogs and GMS. No rule or setting lifts a block. Blocking a number again replaces its reason, end and operator. At most \
      100,000 numbers are blocked at a time.
      """,
    content: .json(
      "BlockRequest", ("for good", ["phone": "+14155550123", "reason": "customer complained"]),
      ("for a while", ["phone": "+14155550123", "until": "2099-01-01T00:00:00Z"])),
    answers: [APIAnswer(status: .noContent, description: "Blocked.", fields: [.noStore])],
    refusals: [.invalidJSON, .invalidRequest, .tooMany, .storeUnavailable])

  package static let adminUnblockNumber = APIOperation(
    method: .post, id: "postUnblockNumber", tag: .operators, access: .operators(.approve),
    summary: "Unblock a phone number",
    description: "Ends the block of the number. Without a block nothing changes.",
    content: .json("UnblockRequest", ("one", ["phone": "+14155550123"])),
    answers: [APIAnswer(status: .noContent, description: "Not blocked.", fields: [.noStore])],
    refusals: [.invalidJSON, .invalidRequest, .storeUnavailable])
}

extension APISchemas {
  static let blockedNumbers: [(name: String, schema: JSONValue)] = [
    (
      "BlockedNumberList",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["numbers"],
            "properties": {
              "numbers": { "type": "array", "description": "The page.",
                "items": { "type": "object", "additionalProperties": false, "required": ["phone", "since", "operator", "by"],
                  "properties": {
                    "phone": { "$ref": "#/components/schemas/MaskedNumber" },
                    "reason": { "type": "string", "description": "Why, for operators." },
                    "since": { "type": "string", "format": "date-time", "description": "When it was blocked last." },
                    "until": { "type": "string", "format": "date-time", "description": "When the block ends. Without it: never." },
                    "operator": { "type": "string", "description": "Who blocked it last." },
                    "by": { "type": "string", "description": "How the operator was authenticated." } } } },
              "next": { "type": "string", "description": "Send it as `after` to get the next page." } } }
          """#)
    ),
    (
      "BlockRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["phone"],
            "properties": {
              "phone": { "$ref": "#/components/schemas/PhoneNumber", "description": "The number to block." },
              "reason": { "type": ["string", "null"], "maxLength": 200, "description": "Why, for operators. One line." },
              "until": { "type": ["string", "null"], "format": "date-time", "description": "When the block ends. Without it: never." } } }
          """#)
    ),
    (
      "UnblockRequest",
      JSONValue(
        literally: #"""
          { "type": "object", "additionalProperties": false, "required": ["phone"],
            "properties": { "phone": { "$ref": "#/components/schemas/PhoneNumber", "description": "The number to unblock." } } }
          """#)
    ),
  ]
}

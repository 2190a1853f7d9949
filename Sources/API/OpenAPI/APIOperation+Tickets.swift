// Describes the ticket endpoints for the API documentation.

import HTTP
import JSON

extension APIOperation {
  private static let exampleTicketID = "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a88"

  package static let tickets = APIOperation(
    method: .post, id: "postTicket", tag: .tickets, access: .callers, summary: "Open a ticket",
    description: """
      Opens a ticket at the app's chat desk for the authenticated user, and sends its first message. The server checks the whole \
      body, reports all mistakes in one response, and corrects none. Agents see the ticket after its first message.

      Once the desk may have received a byte of the request, the server never sends it again. If the outcome is unknown, the \
      response is 504 `outcome_unknown`. A 502 `upstream_failed` with an `id` needs a second look: if the record says `unknown`, the \
      ticket may be open. To retry safely, send the same `Idempotency-Key`: you get the first response again. If only the first \
      message failed, the response is 201 with `message_sent` false: let the app send the message in the channel.
      """,
    parameters: [
      .app,
      APIParameter(
        name: "Idempotency-Key", place: .header,
        description: """
          The client's name for this one ticket, such as a UUID. The same key with the same body returns the first response. With \
          another body the response is 422. While the first request still runs, the response is 409.
          """,
        schema: ["$ref": "#/components/schemas/IdempotencyKey"],
        example: "6f1c2a9e-5d0b-4f6a-9f57-0b1f3c2d4e60"),
    ],
    content: .json(
      "TicketRequest",
      ("short", ["title": "My reservation", "message": "I cannot change the date."]),
      (
        "full",
        [
          "title": "My reservation", "message": "I cannot change the date.",
          "custom_fields": ["reservation": "RX-4711"], "priority": "HIGH", "group_key": "travel",
          "related_channels": ["sendbird_group_channel_1"], "user_name": "Ann",
        ]
      )),
    answers: [
      APIAnswer(
        status: .created, description: "The desk opened the ticket.",
        contents: [
          .json(
            "TicketReceipt",
            (
              "opened",
              [
                "id": .string(exampleTicketID), "ticket_id": "4711", "channel_url": "sendbird_desk_4711",
                "message_sent": true,
              ]
            ))
        ], fields: [.noStore, .location(below: "/tickets/")] + APIField.allowances,
        links: [APILink(operation: "getTicket", parameter: "id", expression: "$response.body#/id")])
    ],
    refusals: [
      .invalidJSON, .unknownApp, .duplicate, .inProgress, .unsupportedMediaType, .invalidRequest,
      .idempotencyMismatch, .outcomeUnknown,
    ] + .ofRules + .ofTokens)

  package static let ticket = APIOperation(
    method: .get, id: "getTicket", tag: .tickets, access: .callers, summary: "Get the record of a ticket",
    description: """
      The outcome of a ticket request. Only the user who requested the ticket can read it. The record does not follow the ticket \
      afterwards.
      """,
    parameters: [
      APIParameter(
        name: "id", place: .path, description: "The id of the request's response.",
        schema: ["type": "string", "minLength": 1], example: .string(exampleTicketID))
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The record.",
        contents: [
          .json(
            "Ticket",
            (
              "opened",
              [
                "id": .string(exampleTicketID), "status": "accepted",
                "created_at": "2026-11-20T15:04:05.678Z", "settled_at": "2026-11-20T15:04:05.912Z",
                "ticket_id": "4711", "channel_url": "sendbird_desk_4711", "message_sent": true,
              ]
            ))
        ], fields: [.noStore])
    ], refusals: [.notFound, .storeUnavailable])
}

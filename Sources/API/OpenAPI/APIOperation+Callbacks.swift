// Describes the callback endpoints for the API documentation.

import HTTP
import JSON

extension APIOperation {
  private static let exampleID = "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87"
  private static let exampleTime = "2026-11-20T15:04:05.678Z"

  package static let callbacks = APIOperation(
    method: .post, id: "postCallback", tag: .callbacks, access: .callers, summary: "Request a callback",
    description: """
      Makes Talkdesk call a customer, for clients without a token. The body is Talkdesk's own, with fewer required members, or \
      with a short form of the context. The server checks the whole body, reports all mistakes in one response, and corrects none.

      Once Talkdesk may have received a byte of the request, the server never sends it again. If the outcome is unknown, the \
      response is 504 `outcome_unknown`. A 502 `upstream_failed` with an `id` needs a second look: if that callback's record says \
      `unknown`, the phone may still ring. A new request could cause a second call, so let the customer decide. To retry safely, \
      send the same `Idempotency-Key`: you get the first response again.

      The server refuses callbacks to premium, shared-cost, personal, short, emergency and satellite numbers, unless the operator \
      allows them.
      """,
    parameters: [
      .app,
      APIParameter(
        name: "validate", place: .query,
        description:
          "Check everything, including quotas, but count and send nothing. The response is 200 or the error. The value is ignored.",
        example: "", isFlag: true),
      APIParameter(
        name: "Idempotency-Key", place: .header,
        description: """
          The client's name for this one callback, such as a UUID, bare or as a quoted string (draft-ietf-httpapi-idempotency-key-header). \
          The same key with the same body returns the first response. With another body the response is 422. While the first \
          request still runs, the response is 409.
          """,
        schema: ["$ref": "#/components/schemas/IdempotencyKey"],
        example: "6f1c2a9e-5d0b-4f6a-9f57-0b1f3c2d4e5f"),
    ],
    content: .json(
      "CallbackRequest",
      ("short", ["contact_phone_number": "+14155550123", "context": ["issue": "My reservation"]]),
      (
        "talkdesk",
        [
          "contact_phone_number": "+14155550123", "talkdesk_phone_number": "+18005550199",
          "context": [
            "fields": [
              [
                "name": "issue", "display_name": "Issue", "tooltip_text": "What it is about",
                "data_type": "text",
                "value": "My reservation",
              ]
            ]
          ],
        ]
      )),
    answers: [
      APIAnswer(
        status: .created, description: "Talkdesk accepted the callback.",
        contents: [
          .json(
            "CallbackReceipt",
            (
              "accepted",
              [
                "id": .string(exampleID), "status": "accepted", "created_at": .string(exampleTime),
                "contact_phone_number": "+*********23",
              ]
            ))
        ], fields: [.noStore, .location] + APIField.allowances,
        links: [
          APILink(operation: "getCallback", parameter: "id", expression: "$response.body#/id")
        ]),
      APIAnswer(
        status: .ok, description: "With `?validate`: the server would have requested the callback.",
        contents: [.json("Validation", ("valid", ["valid": true]))], fields: [.noStore] + APIField.allowances),
    ],
    refusals: [
      .invalidJSON, .unknownApp, .numberNotAllowed, .duplicate, .inProgress, .unsupportedMediaType,
      .invalidRequest,
      .idempotencyMismatch, .upstreamRateLimited, .outcomeUnknown,
    ] + .ofRules + .ofTokens)

  package static let callback = APIOperation(
    method: .get, id: "getCallback", tag: .callbacks, access: .callers,
    summary: "Get the record of a callback",
    description: "The record of a callback. Only the caller that requested the callback can read it.",
    parameters: [
      APIParameter(
        name: "id", place: .path, description: "The id of the callback.",
        schema: ["type": "string", "minLength": 1], example: .string(exampleID))
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The record.",
        contents: [
          .json(
            "Callback",
            (
              "accepted",
              [
                "id": .string(exampleID), "status": "accepted", "created_at": .string(exampleTime),
                "contact_phone_number": "+*********23",
              ]
            ))
        ], fields: [.noStore])
    ], refusals: [.notFound, .storeUnavailable])

  package static let availability = APIOperation(
    method: .get, id: "getAvailability", tag: .callbacks, access: .callers,
    summary: "Check whether callbacks are open",
    description: """
      The current state of the rules, for an app that shows or hides its button. The request counts against no quota. Clients may \
      cache the response until the next change.
      """,
    parameters: [.app],
    answers: [
      APIAnswer(
        status: .ok, description: "The current state and the next changes.",
        contents: [
          .json(
            "Availability",
            (
              "open",
              [
                "open": true, "next_change": "2026-11-20T23:00:00Z",
                "windows": [["start": "2026-11-20T14:00:00Z", "end": "2026-11-20T23:00:00Z"]],
                "remaining": ["daily": 4],
              ]
            ))
        ], fields: [.cacheControl] + APIField.allowances)
    ], refusals: [.unknownApp, .denied])
}

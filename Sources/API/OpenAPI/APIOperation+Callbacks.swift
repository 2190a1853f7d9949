// Describes the callback endpoints for the API documentation.

import Documents
import HTTP
import JSON

extension APIOperation {
  private static let exampleID = "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87"
  private static let exampleTime = "2026-11-20T15:04:05.678Z"

  package static let callbacks = APIOperation(
    method: .post, id: "postCallback", tag: .callbacks, access: .callers, summary: "Ask for a callback",
    description: """
      Has Talkdesk call a customer, for clients that never hold a token. Talkdesk's own body is taken, with less required, and so \
      is a short form of its context. The content is checked whole, and every problem is told in one answer; nothing is \
      repaired.

      The request to Talkdesk is never sent again once a byte of it may have been accepted. Where its outcome cannot be known \
      the answer is 504 `outcome_unknown`. It is not known either where a 502 `upstream_failed` has an `id` and that callback's \
      record says `unknown`: Talkdesk answered with a failure, and the call may come. A new request could ring twice, so leave \
      that to the customer. To repeat a request safely, send the same `Idempotency-Key`: the first answer is given again.

      Callbacks to number ranges that are premium, shared-cost, personal, short, emergency or satellite are refused unless the \
      operator allows them.
      """,
    parameters: [
      .app,
      APIParameter(
        name: "validate", place: .query,
        description:
          "Check everything, allowances too, spend none and send nothing: 200, or the refusal. Its value is of no matter.",
        example: "", isFlag: true),
      APIParameter(
        name: "Idempotency-Key", place: .header,
        description: """
          The client's name for this one callback, such as a UUID; bare, or as a quoted string (draft-ietf-httpapi-idempotency-key-header). \
          The same key with the same content replays the first answer, with other content it is refused with 422, and with 409 \
          while the first still runs.
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
        status: .created, description: "Talkdesk has accepted the callback.",
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
        status: .ok, description: "With `?validate`: the callback would have been asked for.",
        contents: [.json("Validation", ("valid", ["valid": true]))], fields: [.noStore] + APIField.allowances),
    ],
    refusals: [
      .invalidJSON, .unknownApp, .numberNotAllowed, .duplicate, .inProgress, .unsupportedMediaType,
      .invalidRequest,
      .idempotencyMismatch, .upstreamRateLimited, .outcomeUnknown,
    ] + .ofRules + .ofTokens)

  package static let callback = APIOperation(
    method: .get, id: "getCallback", tag: .callbacks, access: .callers, summary: "What became of a callback",
    description: "The record of a callback, for the caller that asked for it and nobody else.",
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
    summary: "Whether callbacks are open now",
    description: """
      What the rules say at the moment, without asking for anything: for an app that wants to show or hide its button. May be \
      kept until the next change.
      """,
    parameters: [.app],
    answers: [
      APIAnswer(
        status: .ok, description: "What holds now, and what comes next.",
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

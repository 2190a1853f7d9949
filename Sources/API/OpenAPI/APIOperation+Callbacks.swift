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

      With `at` the request books an appointment, if this server takes appointments. The phone rings at that time, and opening \
      hours are checked for that time. All other rules are checked now. A time up to 60 seconds ago means now. If the time is full, the \
      response is 409 `slot_full`, and `alternatives` has up to 10 times that can be booked.
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
      ),
      ("appointment", ["contact_phone_number": "+14155550123", "at": "2026-11-23T10:00:00-05:00"])),
    answers: [
      APIAnswer(
        status: .created, description: "Talkdesk accepted the callback, or the appointment is booked.",
        contents: [
          .json(
            "CallbackReceipt",
            (
              "accepted",
              [
                "id": .string(exampleID), "status": "accepted", "created_at": .string(exampleTime),
                "contact_phone_number": "+*********23",
              ]
            ), ("scheduled", scheduled))
        ], fields: [.noStore, .location] + APIField.allowances,
        links: [
          APILink(operation: "getCallback", parameter: "id", expression: "$response.body#/id")
        ]),
      APIAnswer(
        status: .ok, description: "With `?validate`: the server would have requested the callback.",
        contents: [.json("CallbackValidation", ("valid", ["valid": true]))],
        fields: [.noStore] + APIField.allowances),
    ],
    refusals: [
      .invalidJSON, .unknownApp, .numberNotAllowed, .numberNotProven, .consentRequired, .duplicate,
      .inProgress, .slotFull, .unsupportedMediaType,
      .invalidRequest, .idempotencyMismatch, .upstreamRateLimited, .outcomeUnknown,
    ] + .ofRules + .ofTokens)

  package static let callback = APIOperation(
    method: .get, id: "getCallback", tag: .callbacks, access: .callers,
    summary: "Get the record of a callback",
    description: """
      The record of a callback. Only the caller that requested the callback can read it. With `wait` the response comes when the \
      record changes, or after that time. At most 1,000 requests wait in an instance; more are answered at once.
      """,
    parameters: [
      callbackID,
      APIParameter(
        name: "wait", place: .query,
        description:
          "How many seconds to wait for a change of the record. More than 25 is 25. A record that changes no more is returned at once.",
        schema: ["type": "integer", "minimum": 0, "default": 0], example: 25),
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
            ), ("scheduled", scheduled))
        ], fields: [.noStore])
    ], refusals: [.notFound, .invalidRequest, .storeUnavailable])

  private static let callbackID = APIParameter(
    name: "id", place: .path, description: "The id of the callback.",
    schema: ["type": "string", "minLength": 1], example: .string(exampleID))

  private static let scheduled: JSONValue = [
    "id": .string(exampleID), "status": "scheduled", "at": "2026-11-23T15:00:00Z",
    "created_at": .string(exampleTime), "contact_phone_number": "+*********23",
  ]

  package static let callbackList = APIOperation(
    method: .get, id: "listOwnCallbacks", tag: .callbacks, access: .callers,
    summary: "List your appointments",
    description: """
      The caller's own appointments that are still to come, the soonest first, at most 100. Only callers with a subject of their \
      own may ask: users with a JWT, and installations. Others keep the ids that they were given.
      """,
    parameters: [
      APIParameter(
        name: "status", place: .query, description: "Required: `scheduled`.",
        schema: ["type": "string", "enum": ["scheduled"]], example: "scheduled", isRequired: true)
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The appointments.",
        contents: [.json("AppointmentList", ("one", ["callbacks": [scheduled]]))], fields: [.noStore])
    ], refusals: [.denied, .invalidRequest, .storeUnavailable])

  package static let changeCallback = APIOperation(
    method: .patch, id: "patchCallback", tag: .callbacks, access: .callers, summary: "Move an appointment",
    description: """
      Gives an appointment another time. The server checks the new time as it checks a booking. The appointment's own place \
      does not count, and no quota is used. 409 `too_late` means that the callback is no longer scheduled: it is being requested, \
      or it has ended.
      """,
    parameters: [callbackID],
    content: APIContent(
      type: "application/merge-patch+json", otherType: "application/json",
      schema: ["$ref": "#/components/schemas/CallbackChange"],
      examples: [("move", ["at": "2026-11-23T11:30:00-05:00"])]),
    answers: [
      APIAnswer(
        status: .ok, description: "The record with its new time.",
        contents: [.json("Callback", ("scheduled", scheduled))], fields: [.noStore])
    ],
    refusals: [
      .invalidJSON, .unknownApp, .numberNotAllowed, .duplicate, .slotFull, .tooLate, .unsupportedMediaType,
      .invalidRequest, .notFound, .closed, .denied, .stopped, .storeUnavailable, .upstreamTimeout,
    ])

  package static let cancelCallback = APIOperation(
    method: .delete, id: "deleteCallback", tag: .callbacks, access: .callers,
    summary: "Cancel an appointment",
    description: """
      After 200 the phone never rings for this appointment. Its place and its quotas are free again. Cancelling it once more \
      returns the same. 409 `too_late` means that it is being requested, or that it has ended; an immediate callback is \
      always too late to cancel.
      """,
    parameters: [callbackID],
    answers: [
      APIAnswer(
        status: .ok, description: "The record, which is `cancelled`.",
        contents: [
          .json(
            "Callback",
            (
              "cancelled",
              [
                "id": .string(exampleID), "status": "cancelled", "at": "2026-11-23T15:00:00Z",
                "created_at": .string(exampleTime), "settled_at": "2026-11-21T08:00:00Z",
                "contact_phone_number": "+*********23",
              ]
            ))
        ], fields: [.noStore])
    ], refusals: [.notFound, .tooLate, .storeUnavailable])

  package static let availability = APIOperation(
    method: .get, id: "getAvailability", tag: .callbacks, access: .callers,
    summary: "Check whether callbacks are open",
    description: """
      The current state of the rules, for an app that shows or hides its button. The request counts against no quota. Clients may \
      cache the response until the next change.

      With `from` and `to` the response also has the slots of appointments that begin in this span, and must not be cached. The \
      span has at most 31 days and 3,000 slots.
      """,
    parameters: [
      .app,
      APIParameter(
        name: "from", place: .query, description: "The beginning of the span, with an offset.",
        schema: ["type": "string", "format": "date-time"], example: "2026-11-23T00:00:00-05:00"),
      APIParameter(
        name: "to", place: .query, description: "Its end, which is not in it. Required with `from`.",
        schema: ["type": "string", "format": "date-time"], example: "2026-11-24T00:00:00-05:00"),
    ],
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
            ),
            (
              "slots",
              [
                "open": true, "next_change": "2026-11-20T23:00:00Z",
                "windows": [["start": "2026-11-20T14:00:00Z", "end": "2026-11-20T23:00:00Z"]],
                "remaining": ["daily": 4],
                "slots": [
                  ["start": "2026-11-23T14:00:00Z", "end": "2026-11-23T14:15:00Z", "free": 12, "total": 20]
                ],
              ]
            ))
        ], fields: [.cacheControl] + APIField.allowances)
    ], refusals: [.unknownApp, .denied, .invalidRequest, .storeUnavailable])
}

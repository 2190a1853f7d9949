// Describes the admin endpoints for the API documentation.

import Gate
import HTTP
import JSON

extension APIOperation {
  private static let time = JSONValue.string("2026-11-20T15:04:05Z")

  package static let operatorPage = APIOperation(
    method: .get, id: "getOperatorPage", tag: .operators, access: .everybody,
    summary: "Get the operator's page",
    description: """
      A page that shows the state of the server and acts on it by the endpoints below `/admin/`. The page itself holds no data and \
      needs no token. It is on the admin listener, and on the public port where an admin token is set. Elsewhere the response is \
      404: a page that says how to switch it on if `Accept` names `text/html`, a problem otherwise.
      """,
    parameters: [ifNoneMatch],
    answers: [
      APIAnswer(
        status: .ok, description: "The page.",
        contents: [APIContent(type: "text/html", schema: ["type": "string"])],
        fields: [.cacheControl, .entityTag]), unchanged,
    ], refusals: [.notFound])

  package static let adminStatus = APIOperation(
    method: .get, id: "getStatus", tag: .operators, access: .operators(.read),
    summary: "Get the state of the server",
    description: """
      Configuration, last reload, rules, stops, store, tokens, keys and opening hours; decisions and latency of the last hour; and \
      the last 200 decisions of this instance. For only the new decisions, send the `sequence` of the previous response as `after`. After \
      a restart the numbers begin at 1 again, and a number that is still to come gets all decisions.
      """,
    parameters: [
      APIParameter(
        name: "after", place: .query,
        description: "Only decisions after this one: the `sequence` of the previous response.",
        schema: ["type": "integer", "minimum": 0, "maximum": 999_999_999_999], example: 17)
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The state.", contents: [.json("Status")], fields: [.noStore])
    ], refusals: [.invalidRequest])

  private static func switchAnswer(_ stops: JSONValue) -> [APIAnswer] {
    [
      APIAnswer(
        status: .ok, description: "All current stops.",
        contents: [.json("Stops", ("now", ["stops": stops]))],
        fields: [.noStore])
    ]
  }

  private static let resumeContent = APIContent.json(
    "ResumeRequest", ("everything", ["scope": "all", "action": "all"]),
    ("app", ["scope": "app", "id": "example-app-ios", "action": "callback"]))

  package static let adminStop = APIOperation(
    method: .post, id: "postStop", tag: .operators, access: .operators(.operate),
    summary: "Stop tokens, callbacks or both",
    description: """
      The kill switch, for everyone, one app or one caller. The server refuses the next request with `stopped`. Other instances \
      with the same store follow within two seconds. A stop survives restarts and reloads.

      With `for` the stop ends automatically. Operators see `reason` in the status and the log; callers never see it. A second stop \
      of the same scope and action keeps the first start and the later end.

      Without its database the server answers `store_unavailable`, and the stop holds only at the instance that was asked, until \
      the database is back. Repeat the stop then.
      """,
    content: .json(
      "StopRequest", ("everything", ["scope": "all", "action": "all"]),
      ("app", ["scope": "app", "id": "example-app-ios", "action": "callback"]),
      (
        "half an hour",
        ["scope": "all", "action": "callback", "reason": "agents have no phones", "for": "30m"]
      )),
    answers: switchAnswer([
      [
        "scope": "all", "action": "callback", "since": time, "until": "2026-11-20T15:34:05Z",
        "reason": "agents have no phones", "operator": "ann", "by": "token",
      ]
    ]),
    refusals: [.invalidJSON, .invalidRequest, .storeUnavailable])

  package static let adminResume = APIOperation(
    method: .post, id: "postResume", tag: .operators, access: .operators(.operate), summary: "Resume",
    description:
      "Ends the stop of the same scope and action. Without such a stop nothing changes.",
    content: resumeContent, answers: switchAnswer([]),
    refusals: [.invalidJSON, .invalidRequest, .storeUnavailable])

  package static let adminReload = APIOperation(
    method: .post, id: "postReload", tag: .operators, access: .operators(.operate),
    summary: "Reload the configuration",
    description: """
      The same as SIGHUP. The server uses the whole new configuration or none of it. After a mistake the old configuration stays \
      in use, and `fields` names each mistake and its place. The server ignores the request body.
      """,
    answers: [
      APIAnswer(
        status: .ok, description: "The new configuration is in use.",
        contents: [
          .json("Reload", ("reloaded", ["generation": 2, "notices": [], "restart_needed": []]))
        ], fields: [.noStore])
    ], refusals: [.invalidRequest])

  package static let adminDecisions = APIOperation(
    method: .get, id: "findDecisions", tag: .operators, access: .operators(.read),
    summary: "Find the decisions about a request",
    description: """
      The decisions with this request id among the last 10,000 of this instance. An appointment has the request id of its booking, \
      so there can be several. To find out why a decision was taken, send its facts and its time to `POST /admin/explain`.
      """,
    parameters: [
      APIParameter(
        name: "request_id", place: .query,
        description: "The request id, as in `X-Request-ID` of the response.", schema: ["type": "string"],
        example: "0198c5a27d107a3b9c550f6e2d1b4a87", isRequired: true)
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The decisions, the newest last.", contents: [.json("Decisions")],
        fields: [.noStore])
    ], refusals: [.invalidRequest, .notFound])

  package static let adminCallbacks = APIOperation(
    method: .get, id: "listCallbacks", tag: .operators, access: .operators(.read),
    summary: "List the callbacks of every caller, newest first",
    description: """
      A page of records with masked numbers. To find callbacks with an unknown outcome, send `status=unknown`. For the next page, \
      send `next` as `after`. The last page has no `next`.
      """,
    parameters: [
      APIParameter(
        name: "status", place: .query, description: "Only callbacks of this status. Without it: all.",
        schema: [
          "type": "string",
          "enum": ["scheduled", "pending", "accepted", "failed", "unknown", "cancelled", "expired"],
        ], example: "unknown"),
      APIParameter(
        name: "after", place: .query,
        description: "Only callbacks older than this one: `next` from the previous page.",
        schema: ["type": "string", "format": "uuid"]),
      APIParameter(
        name: "limit", place: .query, description: "The most callbacks in a page.",
        schema: ["type": "integer", "minimum": 1, "maximum": 1000, "default": 50], example: 50),
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "A page.",
        contents: [
          .json(
            "CallbackList",
            (
              "unknown",
              [
                "callbacks": [
                  [
                    "id": "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87", "status": "unknown", "created_at": time,
                    "settled_at": "2026-11-20T15:04:25Z", "reason": "outcome_unknown",
                    "contact_phone_number": "+*********23", "caller": "ios-app", "app": "example-app-ios",
                  ]
                ]
              ]
            ))
        ], fields: [.noStore])
    ], refusals: [.invalidRequest, .storeUnavailable])

  package static let adminExplain = APIOperation(
    method: .post, id: "postExplain", tag: .operators, access: .operators(.read),
    summary: "Explain the decision about a request",
    description: """
      Every rule's verdict, from the same code that decides requests. The request counts against no quota and sends nothing, \
      except queries to remote policies. A member that is `null` counts as left out.
      """,
    content: .json(
      "Inquiry", ("access", ["action": "access", "caller": "anonymous"]),
      (
        "callback",
        [
          "action": "callback", "phone": "+14155550123", "address": "203.0.113.9",
          "at": "2026-11-22T10:00:00-05:00",
          "claims": ["tier": "gold"], "fields": ["X-App-Version": "2.3.0"],
        ]
      )),
    answers: [
      APIAnswer(
        status: .ok, description: "The decision.",
        contents: [
          .json(
            "Explanation",
            (
              "deny",
              [
                "decision": "deny", "code": "closed", "rule": "opening-hours",
                "reason":
                  "Refused by opening-hours (closed): Sunday 2026-11-22 10:00 in America/New_York is a day without opening hours; opens Monday 2026-11-23 09:00 (2026-11-23T14:00:00Z).",
                "verdicts": [
                  [
                    "rule": "opening-hours", "verdict": "deny",
                    "reason":
                      "Sunday 2026-11-22 10:00 in America/New_York is a day without opening hours; opens Monday 2026-11-23 09:00 (2026-11-23T14:00:00Z)",
                  ],
                  [
                    "rule": "daily", "verdict": "skipped", "because": "not_reached",
                    "reason": "opening-hours refused the request",
                  ],
                ],
              ]
            ))
        ], fields: [.noStore])
    ], refusals: [.invalidJSON, .invalidRequest])
}

// Describes the webhook for Talkdesk's events for the API documentation.

import HTTP
import JSON

extension APIOperation {
  package static let hook = APIOperation(
    method: .post, id: "postTalkdeskEvent", tag: .callbacks, access: .everybody,
    summary: "Receive a Talkdesk event",
    description: """
      Talkdesk sends call events here, if `outcomes` is configured. The path is derived from the webhook's secret. The server \
      responds first and reads the event afterwards, so every body sent to the right path gets 204.
      """,
    parameters: [
      APIParameter(
        name: "secret", place: .path, description: "The token of the webhook.",
        schema: ["type": "string", "minLength": 1], example: "derived-from-the-secret")
    ],
    content: .json(
      "TalkdeskEvent",
      (
        "ended",
        [
          "event": "outboundCallEnds", "call_id": "5f0c", "contact_phone_number": "+14155550123",
          "talkdesk_phone_number": "+18005550199", "start_time": "2026-11-23T10:00:00Z",
          "timestamp": "2026-11-23T10:01:00Z", "duration": "40", "waiting_time": "12",
        ]
      )),
    answers: [APIAnswer(status: .noContent, description: "The server has accepted the event.", contents: [])],
    refusals: [.notFound])
}

// Describes the hook for Talkdesk's events for the API documentation.

import HTTP
import JSON

extension APIOperation {
  package static let hook = APIOperation(
    method: .post, id: "postTalkdeskEvent", tag: .callbacks, access: .everybody,
    summary: "Take an event of Talkdesk's",
    description: """
      Talkdesk sends events of calls here, if `outcomes` is configured. The path is derived from the hook's secret. The server \
      answers first and reads the event afterwards, so every body with the right path is 204.
      """,
    parameters: [
      APIParameter(
        name: "secret", place: .path, description: "The token of the hook.",
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
    answers: [APIAnswer(status: .noContent, description: "The server has taken the event.", contents: [])],
    refusals: [.notFound])
}

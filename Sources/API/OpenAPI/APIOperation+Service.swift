// Describes the health, metrics and documentation endpoints for the API documentation.

import Gate
import HTTP
import JSON

extension APIOperation {
  package static let liveness = APIOperation(
    method: .get, id: "getLiveness", tag: .health, access: .everybody,
    summary: "Check whether the process works",
    description:
      "Never checks Talkdesk, because an outage of Talkdesk must not restart healthy servers.",
    answers: [
      APIAnswer(
        status: .ok, description: "The process works.",
        contents: [.json("Liveness", ("pass", ["status": "pass"]))],
        fields: [.noStore])
    ])

  package static let readiness = APIOperation(
    method: .get, id: "getReadiness", tag: .health, access: .everybody,
    summary: "Check whether the server can serve requests",
    description: """
      Reports the configuration, the key, the store and the last exchange with Talkdesk ID. It sends no requests. Problems with \
      Talkdesk, including a refused credential, are `warn`: they must not take every instance out of service. An instance that \
      shuts down reports `fail`.
      """,
    answers: [
      APIAnswer(
        status: .ok, description: "The server can serve requests.",
        contents: [
          .json(
            "Readiness",
            (
              "pass",
              [
                "status": "pass",
                "checks": [
                  "configuration": ["status": "pass"], "process": ["status": "pass"],
                  "key": [
                    "status": "pass", "serving": "main",
                    "keys": [["key_id": "main", "role": "current", "state": "accepted", "age_seconds": 12]],
                  ],
                  "store": ["status": "pass"], "clock": ["status": "pass", "difference_seconds": 0],
                  "talkdesk_id": ["status": "pass", "scopes": []],
                ],
              ]
            ))
        ], fields: [.noStore]),
      APIAnswer(
        status: .serviceUnavailable, description: "Send requests elsewhere.", contents: [.json("Readiness")],
        fields: [.noStore]),
    ])

  package static let metrics = APIOperation(
    method: .get, id: "getMetrics", tag: .operators, access: .operators(.read),
    summary: "Get metrics for Prometheus",
    description:
      "Counters, gauges and histograms in Prometheus' text format. docs/operate/metrics.md lists their names and labels.",
    answers: [
      APIAnswer(
        status: .ok, description: "The metrics.",
        contents: [APIContent(type: "text/plain", schema: ["type": "string"])], fields: [.noStore])
    ])

  static let ifNoneMatch = APIParameter(
    name: "If-None-Match", place: .header, description: "The `ETag` of the cached version.")

  static let unchanged = APIAnswer(
    status: .notModified, description: "The cached version is current.", fields: [.cacheControl, .entityTag])

  package static let landing = APIOperation(
    method: .get, id: "getLanding", tag: .about, access: .everybody, summary: "Get the landing page",
    description: "A short text for people. `callgate serve --sandbox` has its demo client here.",
    parameters: [ifNoneMatch],
    answers: [
      APIAnswer(
        status: .ok, description: "The page.",
        contents: [APIContent(type: "text/html", schema: ["type": "string"])],
        fields: [.cacheControl, APIField.entityTag.atTimes]), unchanged,
    ])

  package static let openAPI = APIOperation(
    method: .get, id: "getOpenAPI", tag: .about, access: .everybody, summary: "Get this API description",
    description: "OpenAPI 3.1 of every endpoint.", parameters: [ifNoneMatch],
    answers: [
      APIAnswer(
        status: .ok, description: "The document.",
        contents: [
          APIContent(
            type: "application/json",
            schema: JSONValue(
              literally: """
                { "type": "object", "required": ["openapi", "info", "paths"],
                  "properties": { "openapi": { "type": "string", "const": "3.1.0" } } }
                """))
        ], fields: [.cacheControl, .entityTag]),
      unchanged,
    ])

  /// The responses with a page for people: the page, or a 304 if the browser has cached it.
  private static let page = [
    APIAnswer(
      status: .ok, description: "The page.",
      contents: [APIContent(type: "text/html", schema: ["type": "string"])],
      fields: [.cacheControl, .entityTag]),
    unchanged,
  ]

  package static let docs = APIOperation(
    method: .get, id: "getDocs", tag: .about, access: .everybody,
    summary: "Get this API description as a page",
    description:
      "An overview for people, with links to a page for each tag. The pages can be read without scripts and load nothing from other hosts.",
    parameters: [ifNoneMatch],
    answers: page)

  package static let runbook = APIOperation(
    method: .get, id: "getRunbook", tag: .about, access: .everybody, summary: "Get the runbook",
    description:
      "A page for operators: for each alert and each entry of `attention`, what it means and how to fix it. The admin listener serves it, too.",
    parameters: [ifNoneMatch],
    answers: page)

  package static let docsPage = APIOperation(
    method: .get, id: "getDocsPage", tag: .about, access: .everybody,
    summary: "Get a page of this API description",
    description:
      "A page for people: of a tag, by its name in lower case, of all `errors` or of all `schemas`.",
    parameters: [
      APIParameter(name: "tag", place: .path, description: "The page's name.", example: "callbacks"),
      ifNoneMatch,
    ],
    answers: page, refusals: [.notFound])
}

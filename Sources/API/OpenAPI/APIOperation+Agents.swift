// Describes the endpoint for AI agents for the API documentation.

import HTTP
import JSON

extension APIOperation {
  private static func error(_ status: Status, _ description: String, _ code: Int64) -> APIAnswer {
    APIAnswer(
      status: status, description: description,
      contents: [
        APIContent(
          type: "application/json", schema: ["type": "object"],
          examples: [
            (
              "error",
              ["jsonrpc": "2.0", "id": .null, "error": ["code": .number(JSONNumber(code)), "message": "…"]]
            )
          ])
      ], fields: [.noStore])
  }

  package static let mcp = APIOperation(
    method: .post, id: "postMCP", tag: .callbacks, access: .callers,
    summary: "Call a tool as an AI agent",
    description: """
      One message of the Model Context Protocol, versions 2025-03-26 to 2026-07-28, without sessions and streams. The path exists \
      where the configuration has `mcp`; otherwise the response is 404. A refusal by a rule is a result with `isError: true`, whose \
      `structuredContent` is the problem. Batches are refused.
      """,
    content: APIContent(
      type: "application/json",
      schema: [
        "type": "object", "required": ["jsonrpc", "method"],
        "properties": [
          "jsonrpc": ["type": "string", "const": "2.0"],
          "id": [
            "type": ["string", "integer"], "maxLength": 255,
            "description": "The response repeats it. Without it, the message is a notification.",
          ],
          "method": ["type": "string"],
          "params": ["type": "object"],
        ],
      ],
      examples: [("ping", ["jsonrpc": "2.0", "id": "1", "method": "ping"])]),
    answers: [
      APIAnswer(
        status: .ok, description: "The answer to a request: a result or an error of JSON-RPC 2.0.",
        contents: [
          APIContent(
            type: "application/json", schema: ["type": "object"],
            examples: [("ping", ["jsonrpc": "2.0", "id": "1", "result": [:]])])
        ], fields: [.noStore]),
      APIAnswer(
        status: .accepted, description: "The message was a notification.", contents: [], fields: [.noStore]),
      error(
        .badRequest, "No request of JSON-RPC 2.0, a version that is not served, or wrong parameters.", -32600),
      error(.notFound, "A client of version 2026-07-28 used an unknown method.", -32601),
    ],
    refusals: [.invalidRequest, .denied, .notFound, .unsupportedMediaType], isAttested: false)

  package static let mcpMetadata = APIOperation(
    method: .get, id: "getMCPMetadata", tag: .callbacks, access: .everybody,
    summary: "Find the issuers of agents' tokens",
    description:
      "Protected resource metadata of `/mcp` (RFC 9728). The response is 404 where no `jwt` caller may use it.",
    answers: [
      APIAnswer(
        status: .ok, description: "The resource and its authorization servers.",
        contents: [
          APIContent(
            type: "application/json",
            schema: ["type": "object", "required": ["resource", "authorization_servers"]],
            examples: [
              (
                "jwt",
                [
                  "resource": "https://calls.example.com/mcp",
                  "authorization_servers": ["https://login.example.com/"],
                  "bearer_methods_supported": ["header"], "resource_name": "Callgate",
                ]
              )
            ])
        ])
    ],
    refusals: [.notFound])
}

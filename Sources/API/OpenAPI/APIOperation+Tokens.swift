// Describes the token endpoints for the API documentation.

import HTTP
import JSON

extension APIParameter {
  /// Which app a request is for.
  static let app = APIParameter(
    name: "app", place: .query,
    description: "The app this is for. Without it, the one app that lists the caller, if there is one.",
    example: "example-app-ios")
}

extension [Problem.Code] {
  /// What rules and the kill switch refuse with.
  static let ofRules: [Problem.Code] = [
    .closed, .denied, .stopped, .rateLimited, .quotaExhausted, .storeUnavailable,
  ]
  /// What is told of an exchange with Talkdesk ID that gave no token.
  static let ofTokens: [Problem.Code] = [
    .upstreamRefused, .upstreamFailed, .upstreamUnavailable, .upstreamTimeout,
  ]
}

extension APIOperation {
  private static let exampleToken = JSONValue.string(
    "eyJhbGciOiJFUzI1NiJ9.eyJzY3AiOiJjYWxsYmFjayJ9.c2lnbmF0dXJl")

  package static let access = APIOperation(
    method: .get, id: "getAccess", tag: .tokens, access: .callers, summary: "Get an access token",
    description: """
      Vends a short-lived Talkdesk ID access token: the contract of Talkdesk's mobile SDKs, where anything but 200 means "not \
      authorized". The content is exactly the token, without a newline; with `Accept: application/json` it is RFC 6749's \
      document.

      `?probe` asks for the decision alone: 204 exactly where a token would have been vended, otherwise the same refusal. It \
      spends no allowance and returns no token.
      """,
    parameters: [
      .app,
      APIParameter(
        name: "probe", place: .query, description: "Ask for the decision alone. Its value is of no matter.",
        example: "", isFlag: true),
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The token.",
        contents: [
          APIContent(
            type: "text/plain", schema: ["type": "string", "minLength": 1],
            examples: [("token", exampleToken)]),
          .json(
            "AccessToken",
            (
              "token",
              [
                "access_token": exampleToken, "token_type": "Bearer", "expires_in": 599,
                "scope": "callback:write",
              ]
            )),
        ], fields: [.noStore] + APIField.allowances),
      APIAnswer(
        status: .noContent, description: "To a probe: a token would have been vended.",
        fields: [.noStore] + APIField.allowances),
    ], refusals: [.unknownApp] + .ofRules + .ofTokens)

  package static let token = APIOperation(
    method: .post, id: "postToken", tag: .tokens, access: .callers,
    summary: "Get an access token as Talkdesk's stock apps do",
    description: """
      What Talkdesk's iOS and Android examples send. A trailing slash and doubled slashes are tolerated, and any content within \
      the limits is ignored. A refusal never contains the text `auth_token`.
      """,
    parameters: [
      APIParameter(
        name: "app", place: .path, description: "The app's name in this server's configuration.",
        schema: ["type": "string", "minLength": 1], example: "example-app-ios")
    ],
    answers: [
      APIAnswer(
        status: .created, description: "The token.",
        contents: [.json("StockToken", ("token", ["auth_token": exampleToken, "expires_in": 599]))],
        fields: [.noStore] + APIField.allowances)
    ], refusals: [.unknownApp, .notFound] + .ofRules + .ofTokens)
}

// Describes the token endpoints for the API documentation.

import HTTP
import JSON

extension APIParameter {
  /// The app that a request is for.
  static let app = APIParameter(
    name: "app", place: .query,
    description:
      "The app that the request is for. Without it: the app that lists the caller, if there is exactly one.",
    example: "example-app-ios")
}

extension [Problem.Code] {
  /// The refusals of rules, the kill switch and strict audit.
  static let ofRules: [Problem.Code] = [
    .closed, .denied, .noAgents, .stopped, .rateLimited, .quotaExhausted, .storeUnavailable,
    .auditUnavailable,
  ]
  /// The problems if Talkdesk ID or a chat desk issues no token.
  static let ofTokens: [Problem.Code] = [
    .upstreamRefused, .upstreamFailed, .upstreamUnavailable, .upstreamTimeout,
  ]
}

extension APIOperation {
  private static let exampleToken = JSONValue.string(
    "eyJhbGciOiJFUzI1NiJ9.eyJzY3AiOiJjYWxsYmFjayJ9.c2lnbmF0dXJl")

  /// The content types in which a token is returned.
  static let tokenContents: [APIContent] = [
    APIContent(
      type: "text/plain", schema: ["type": "string", "minLength": 1], examples: [("token", exampleToken)]),
    .json(
      "AccessToken",
      (
        "token",
        [
          "access_token": exampleToken, "token_type": "Bearer", "expires_in": 599, "scope": "callback:write",
        ]
      )),
  ]

  package static let access = APIOperation(
    method: .get, id: "getAccess", tag: .tokens, access: .callers, summary: "Get an access token",
    description: """
      Issues a short-lived Talkdesk ID access token. Talkdesk's mobile SDKs treat every status except 200 as "not authorized". The \
      body is exactly the token, without a newline. With `Accept: application/json` it is the document of RFC 6749.

      `?probe` returns only the decision: 204 if the server would issue a token, otherwise the same error. It counts against no \
      quota and returns no token.

      For an app with a chat desk the token is a Sendbird session token of the signed-in user or the installation. Other callers \
      get 403 `denied`.
      """,
    parameters: [
      .app,
      APIParameter(
        name: "probe", place: .query, description: "Return only the decision. The value is ignored.",
        example: "", isFlag: true),
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The token.", contents: tokenContents,
        fields: [.noStore] + APIField.allowances),
      .pushed,
      APIAnswer(
        status: .noContent, description: "With `?probe`: the server would have issued a token.",
        fields: [.noStore] + APIField.allowances),
    ], refusals: [.unknownApp, .noDevice] + .ofRules + .ofTokens)

  package static let token = APIOperation(
    method: .post, id: "postToken", tag: .tokens, access: .callers,
    summary: "Get an access token (stock app format)",
    description: """
      The request that Talkdesk's iOS and Android examples send. The server accepts a trailing slash and doubled slashes, and ignores a \
      request body within the limits. An error never contains the text `auth_token`.
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
        fields: [.noStore] + APIField.allowances), .pushed,
    ], refusals: [.unknownApp, .notFound, .noDevice] + .ofRules + .ofTokens)
}

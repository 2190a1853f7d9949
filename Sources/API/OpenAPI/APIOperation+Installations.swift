// Describes the endpoints for installations for the API documentation.

import Gate
import HTTP
import JSON

extension APIOperation {
  private static let exampleClient: JSONValue = "6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44"
  private static let exampleEntry: JSONValue = [
    "client_id": exampleClient, "client_app": "Shop", "app": "shop", "state": "active", "subject": "ann",
    "address": "203.0.113.7", "created_at": "2026-11-20T15:04:05Z", "used_at": "2026-11-21T09:30:00Z",
    "expires_at": "2027-05-20T09:30:00Z",
  ]
  private static let exampleRequest: JSONValue = [
    "client_id": exampleClient, "client_app": "Shop", "app": "shop", "state": "pending",
    "address": "203.0.113.7", "created_at": "2026-11-20T15:04:05Z", "expires_at": "2026-11-20T15:14:05Z",
  ]

  private static let fetchCodeExamples: [(name: String, value: JSONValue)] = [
    ("first", ["client_id": exampleClient, "client_app": "Shop"]),
    (
      "poll",
      [
        "client_id": exampleClient, "client_app": "Shop", "request_id": "q7p2W1kEo5mC0gVtqkz3bGZr8n1dXyAf",
      ]
    ),
    (
      "code",
      [
        "client_id": exampleClient, "client_app": "Shop",
        "client_secret": "Yh3k9QmV2r7Tt0bLw5ZxN8pC1sGfJdKaE6uHiOqRvWc",
      ]
    ),
  ]

  package static let fetchCode = APIOperation(
    method: .post, id: "postFetchCode", tag: .installations, access: .everybody,
    summary: "Enroll an installation, or get its code",
    description: """
      An installation is one app on one phone with a secret of its own. The app makes a UUID and sends it with its name.

      With the token of a signed-in user, issued at most 5 minutes ago, the response has the secret at once. Without one, the \
      response is 202 with a `user_code`: the customer tells it to an operator, and the app polls with `request_id`. One poll \
      gets the secret, once. From then on the app sends `client_id` and the secret as HTTP Basic user name and password to every \
      other endpoint, and may ask here for the current code.

      Some apps need `attestation` with the first request: 401 `attestation_required` says so. Some take it in place of an operator's \
      approval, and the response has the secret at once.

      Some apps take or need `jkt`, a key of the phone: then each request carries a proof by that key in the header `DPoP` (RFC 9449), \
      and 401 `invalid_proof` has the nonce for it in `DPoP-Nonce`.

      Every wrong value gives the same 401 `invalid_client`. The body is JSON or a form.
      """,
    parameters: [
      APIParameter(
        name: "app", place: .query,
        description: "The app. Optional if only one app has installations.", example: "shop"),
      .proof,
    ],
    content: APIContent(
      type: "application/json", otherType: "application/x-www-form-urlencoded",
      schema: ["$ref": "#/components/schemas/FetchCodeRequest"],
      examples: fetchCodeExamples),
    answers: [
      APIAnswer(
        status: .ok, description: "The code, with the secret if it is new.",
        contents: [
          .json(
            "InstallationCode",
            (
              "enrolled",
              [
                "code": "287082", "expires_in": 17,
                "client_secret": "Yh3k9QmV2r7Tt0bLw5ZxN8pC1sGfJdKaE6uHiOqRvWc",
              ]
            ), ("code", ["code": "287082", "expires_in": 17]))
        ], fields: [.noStore]),
      APIAnswer(
        status: .accepted, description: "An operator has to approve. Poll every `interval` seconds.",
        contents: [
          .json(
            "PendingInstallation",
            (
              "pending",
              [
                "status": "pending", "request_id": "q7p2W1kEo5mC0gVtqkz3bGZr8n1dXyAf",
                "user_code": "BCDF-GHJK", "interval": 5, "expires_in": 600,
              ]
            ))
        ], fields: [.noStore, .retryAfter]),
    ],
    refusals: [
      .invalidJSON, .unauthenticated, .invalidToken, .invalidClient, .invalidProof, .denied, .stopped,
      .closed,
      .unknownApp, .tooMany, .taken, .requestExpired, .alreadyDelivered, .challengeExpired,
      .unsupportedMediaType, .invalidRequest, .slowDown,
      .rateLimited, .quotaExhausted, .storeUnavailable, .auditUnavailable, .upstreamTimeout,
    ] + .ofAttestations)

  package static let challenge = APIOperation(
    method: .post, id: "postAttestationChallenge", tag: .installations, access: .everybody,
    summary: "Get a challenge for an attestation",
    description: """
      A phone puts the challenge into what it attests with App Attest or Play Integrity. The request needs no credential and no body. An address gets 300 \
      challenges a minute.
      """,
    parameters: [
      APIParameter(
        name: "app", place: .query,
        description: "The app. Optional if only one app has installations.", example: "shop")
    ],
    answers: [
      APIAnswer(
        status: .created, description: "The challenge. It works once.",
        contents: [
          .json(
            "AttestationChallenge",
            (
              "challenge",
              ["challenge": "AAAAAGkkmYAx0mV7Vd1cKqlmH3jV5l0v0Tz0s8mQkFQ", "expires_in": 300]
            ))
        ], fields: [.noStore])
    ],
    refusals: [.denied, .unknownApp, .invalidRequest, .rateLimited, .storeUnavailable])

  package static let revokeSelf = APIOperation(
    method: .delete, id: "deleteInstallation", tag: .installations, access: .callers,
    summary: "Revoke the installation that sends the request",
    description:
      "For a phone whose user signs out. For an hour, the same request with the same secret is answered with 204 again. Other callers are refused.",
    answers: [APIAnswer(status: .noContent, description: "The installation is revoked.", fields: [.noStore])],
    refusals: [.denied, .notFound, .storeUnavailable])

  package static let verifyCode = APIOperation(
    method: .post, id: "postVerifyCode", tag: .installations, access: .callers,
    summary: "Verify an installation's code",
    description: """
      For a flow that asks the customer for the code on the phone. Only the callers in the app's `verifiers` may send this request.

      The server accepts the codes of the current, the previous and the next 30 seconds. It accepts each code once, and no code \
      older than the last accepted one. Five wrong codes in a row lock the installation for 30 seconds (429). Each further wrong \
      code doubles that time, up to an hour.
      """,
    content: .json("VerifyCodeRequest", ("code", ["client_id": exampleClient, "code": "287082"])),
    answers: [
      APIAnswer(
        status: .ok, description: "Whether the code is valid.",
        contents: [.json("VerifiedCode", ("valid", ["valid": true]))], fields: [.noStore])
    ],
    refusals: [.invalidJSON, .denied, .unsupportedMediaType, .invalidRequest, .storeUnavailable],
    isAttested: false)

  // MARK: Operators

  package static let adminInstallations = APIOperation(
    method: .get, id: "listInstallations", tag: .operators, access: .operators(.read),
    summary: "List installations and the requests for them",
    description:
      "A page of entries, not sorted by time. For the next page, send `next` as `after`. The last page has no `next`. The list never shows a user code.",
    parameters: [
      APIParameter(
        name: "state", place: .query,
        description: "Only entries of this state. Without it: all, grouped by state.",
        schema: ["type": "string", "enum": ["pending", "approved", "active", "denied", "revoked"]],
        example: "active"),
      APIParameter(
        name: "after", place: .query, description: "`next` from the previous page.",
        schema: [
          "type": "string", "pattern": "^(pending|approved|active|denied|revoked):([0-9a-f]{2}){0,32}$",
        ]),
      APIParameter(
        name: "limit", place: .query, description: "The most entries in a page.",
        schema: ["type": "integer", "minimum": 1, "maximum": 1000, "default": 50], example: 50),
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "A page.",
        contents: [.json("InstallationList", ("active", ["installations": [exampleEntry]]))],
        fields: [.noStore])
    ], refusals: [.invalidRequest, .storeUnavailable])

  package static let adminFindInstallation = APIOperation(
    method: .post, id: "postFindInstallation", tag: .operators, access: .operators(.approve),
    summary: "Find the request of a user code",
    description:
      """
      Shows the request with this user code, so that you can check it before you approve it. `replaces` is the installation that the \
      approval replaces: its phone must enroll again, and its appointments end.
      """,
    content: .json("UserCodeRequest", ("code", ["user_code": "BCDF-GHJK"])),
    answers: [
      APIAnswer(
        status: .ok, description: "The request.",
        contents: [.json("InstallationEntry", ("pending", exampleRequest))],
        fields: [.noStore])
    ], refusals: [.invalidJSON, .invalidRequest, .storeUnavailable])

  package static let adminApproveInstallation = judgement(
    "postApproveInstallation", "Approve the request of a user code", "The next poll delivers the secret.",
    and: [.auditUnavailable])
  package static let adminDenyInstallation = judgement(
    "postDenyInstallation", "Deny the request of a user code", "The next poll gets 403 `denied`.")

  private static func judgement(
    _ id: String, _ summary: String, _ description: String, and others: [Problem.Code] = []
  ) -> APIOperation {
    APIOperation(
      method: .post, id: id, tag: .operators, access: .operators(.approve), summary: summary,
      description: description,
      content: .json("UserCodeRequest", ("code", ["user_code": "BCDF-GHJK"])),
      answers: [APIAnswer(status: .noContent, description: "Done.", fields: [.noStore])],
      refusals: [.invalidJSON, .invalidRequest, .storeUnavailable] + others)
  }

  package static let adminRevokeInstallation = APIOperation(
    method: .post, id: "postRevokeInstallation", tag: .operators, access: .operators(.approve),
    summary: "Revoke an installation, or all of a user",
    description:
      "Every instance with the same store refuses the installation within two seconds, and its scheduled appointments are canceled. With `subject` the server revokes all installations of that user, from every issuer. After a 503, send the same request again: it succeeds whether or not the first one was made.",
    content: .json("RevocationRequest", ("one", ["client_id": exampleClient]), ("user", ["subject": "ann"])),
    answers: [APIAnswer(status: .noContent, description: "Revoked.", fields: [.noStore])],
    refusals: [.invalidJSON, .invalidRequest, .storeUnavailable])
}

// Describes the endpoints for tokens by push for the API documentation.

import HTTP
import JSON

extension APIAnswer {
  /// The response if the token comes by push.
  static let pushed = APIAnswer(
    status: .accepted,
    description: """
      For an app with `delivery: push`: the server sends a push notification to the installation's device. It carries a claim, which \
      `POST /access/claim` redeems. HEAD returns the same and sends nothing.
      """,
    contents: [.json("PushedToken", ("pushed", ["delivery": "push"]))],
    fields: [.noStore] + APIField.allowances)
}

extension APIOperation {
  private static let exampleID: JSONValue = "7Q2K9XW4N1ZB8C5V3M6L0JHGFDSAPOIU"

  package static let claim = APIOperation(
    method: .post, id: "postClaim", tag: .tokens, access: .callers,
    summary: "Exchange a claim for its token",
    description: """
      `claim` is the `_id` in the push notification. It returns one token, within 60 seconds, to the installation that requested it. The server applies the \
      rules again. The response has the forms of `GET /access`. An expired, used or unknown claim gets 410 `claim_expired`: \
      ask for the token again.
      """,
    content: .json("ClaimRequest", ("claim", ["claim": exampleID])),
    answers: [APIAnswer(status: .ok, description: "The token.", contents: tokenContents, fields: [.noStore])],
    refusals: [.invalidJSON, .unsupportedMediaType, .invalidRequest, .claimExpired, .unknownApp] + .ofRules
      + .ofTokens)

  package static let notice = APIOperation(
    method: .get, id: "getNotice", tag: .installations, access: .callers,
    summary: "Get a notification",
    description:
      "For the installation that got the notification, for 24 hours. Unknown ids and other installations' ids get the same 404.",
    parameters: [
      APIParameter(
        name: "id", place: .path, description: "The `_id` in the notification.",
        schema: ["type": "string", "minLength": 1], example: exampleID)
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "The action and its callback.",
        contents: [
          .json(
            "Notice", ("access", ["action": "access"]),
            ("changed", ["action": "changed", "callback": "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87"]))
        ], fields: [.noStore])
    ], refusals: [.notFound, .rateLimited, .storeUnavailable])

  package static let registerDevice = APIOperation(
    method: .put, id: "putDevice", tag: .installations, access: .callers,
    summary: "Register the device that gets this installation's push notifications",
    description: """
      `token` is what the provider gave to the app on this phone: FCM's registration token, APNs' device token in hexadecimal digits, \
      or the name that your own receiver knows. An installation has one device. A token of FCM or APNs belongs to the installation that \
      registered it last. A name that another user's installation has used in the last 24 hours is `taken`, so make names that nobody \
      can guess. A device that is replaced gets a notification `changed`. Register each time the app starts: providers change tokens.
      """,
    content: .json(
      "DeviceRequest", ("fcm", ["platform": "fcm", "token": "cVQ3x0sTSe2:APA91bF0example"])),
    answers: [APIAnswer(status: .noContent, description: "The device is registered.", fields: [.noStore])],
    refusals: [.invalidJSON, .denied, .taken, .unsupportedMediaType, .invalidRequest, .storeUnavailable])

  package static let removeDevice = APIOperation(
    method: .delete, id: "deleteDevice", tag: .installations, access: .callers,
    summary: "Remove the device of this installation",
    description: "The device gets no further notifications. Without a device the response is the same.",
    answers: [APIAnswer(status: .noContent, description: "The device is removed.", fields: [.noStore])],
    refusals: [.denied, .storeUnavailable])

  package static let dialog = APIOperation(
    method: .post, id: "postDialog", tag: .installations, access: .everybody,
    summary: "Answer the notification before an appointment",
    description: """
      Apps built for the callback notifications of Genesys Mobile Services use this format. The `_id` of the notification is the only credential, \
      and the server ignores the body. `connect` calls now if the rules allow it, otherwise at the time of the appointment. `snooze` puts \
      the call off. `cancel` cancels it. `connect-inbound` cancels it and returns the number to dial. Each of these uses up the `_id`, and so do a \
      move and the end of the appointment. Unknown and used ids and unknown actions get the same 404.
      """,
    parameters: [
      APIParameter(
        name: "id", place: .path, description: "The `_id` in the notification.",
        schema: ["type": "string", "minLength": 1], example: exampleID),
      APIParameter(
        name: "action", place: .path,
        description: "The `_action` in the notification, or the customer's choice.",
        schema: [
          "type": "string",
          "enum": [
            "get-dialog-user-confirmation-provide_code-true",
            "get-dialog-user-confirmation-provide_code-false",
            "connect", "connect-outbound", "wait-for-agent", "snooze", "cancel", "connect-inbound",
            "check-queue-position",
          ],
        ], example: "connect"),
    ],
    answers: [
      APIAnswer(
        status: .ok,
        description:
          "A menu, a text, or a number to dial. For `check-queue-position`, which only servers with `gms` have, a position.",
        contents: [
          APIContent(
            type: "application/json",
            schema: [
              "anyOf": [
                ["$ref": "#/components/schemas/Dialog"], ["$ref": "#/components/schemas/GMSQueuePosition"],
              ]
            ],
            examples: [
              (
                "confirmation",
                [
                  "_dialog_id": "0", "_action": "ConfirmationDialog",
                  "_text": "You will receive the call shortly", "_ok_title": "Ok", "_id": exampleID,
                ]
              ),
              (
                "position",
                [
                  "_position": "0", "_eta": "0", "_total_waiting": "0",
                  "_agent_ready_threshold_passed": "false",
                ]
              ),
            ])
        ], fields: [.noStore]),
      APIAnswer(
        status: .noContent,
        description:
          "`snooze` and `cancel` are done. A notification of another kind has no dialog and gets this response, too.",
        fields: [.noStore]),
    ],
    refusals: [.notFound, .tooLate, .rateLimited, .storeUnavailable] + .ofRules)
}

// Describes the endpoints of tokens that come by push for the API documentation.

import HTTP
import JSON

extension APIAnswer {
  /// The token comes by push.
  static let pushed = APIAnswer(
    status: .accepted,
    description: """
      For an app with `delivery: push`: a notice goes to the device of the installation. It carries a claim, which \
      `POST /access/claim` redeems. HEAD returns the same and sends nothing.
      """,
    contents: [.json("PushedToken", ("pushed", ["delivery": "push"]))],
    fields: [.noStore] + APIField.allowances)
}

extension APIOperation {
  private static let exampleID: JSONValue = "7Q2K9XW4N1ZB8C5V3M6L0JHGFDSAPOIU"

  package static let claim = APIOperation(
    method: .post, id: "postClaim", tag: .tokens, access: .callers,
    summary: "Get the token for the claim in a notice",
    description: """
      `claim` is the `_id` in the notice. It gives one token, within 60 seconds, to the installation that asked. The rules are \
      asked again. The response has the forms of `GET /access`. A claim that is over, used or unknown gives 410 `claim_expired`: \
      ask for the token again.
      """,
    content: .json("ClaimRequest", ("claim", ["claim": exampleID])),
    answers: [APIAnswer(status: .ok, description: "The token.", contents: tokenContents, fields: [.noStore])],
    refusals: [.invalidJSON, .unsupportedMediaType, .invalidRequest, .claimExpired, .unknownApp] + .ofRules
      + .ofTokens)

  package static let notice = APIOperation(
    method: .get, id: "getNotice", tag: .installations, access: .callers,
    summary: "Look at what a notice is about",
    description:
      "For the installation that got the notice, for 24 hours. Another installation's notice and an unknown one are the same 404.",
    parameters: [
      APIParameter(
        name: "id", place: .path, description: "The `_id` in the notice.",
        schema: ["type": "string", "minLength": 1], example: exampleID)
    ],
    answers: [
      APIAnswer(
        status: .ok, description: "What it is about.",
        contents: [
          .json(
            "Notice", ("access", ["action": "access"]),
            ("changed", ["action": "changed", "callback": "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87"]))
        ], fields: [.noStore])
    ], refusals: [.notFound, .rateLimited, .storeUnavailable])

  package static let registerDevice = APIOperation(
    method: .put, id: "putDevice", tag: .installations, access: .callers,
    summary: "Register the device that gets this installation's notices",
    description: """
      `token` is what the provider gave to the app on this phone: FCM's registration token, APNs' device token in hexadecimal digits, \
      or the name that your own receiver knows. An installation has one device. A token of FCM or APNs belongs to the installation that \
      registered it last. A name that another user's installation has used in the last 24 hours is `taken`, so make names that nobody \
      can guess. A device that is replaced gets a notice `changed`. Register again at each start of the app: providers change tokens.
      """,
    content: .json(
      "DeviceRequest", ("fcm", ["platform": "fcm", "token": "cVQ3x0sTSe2:APA91bF0example"])),
    answers: [APIAnswer(status: .noContent, description: "It is registered.", fields: [.noStore])],
    refusals: [.invalidJSON, .denied, .taken, .unsupportedMediaType, .invalidRequest, .storeUnavailable])

  package static let removeDevice = APIOperation(
    method: .delete, id: "deleteDevice", tag: .installations, access: .callers,
    summary: "Remove the device of this installation",
    description: "It gets no notices any more. The response is the same where there was none.",
    answers: [APIAnswer(status: .noContent, description: "It is removed.", fields: [.noStore])],
    refusals: [.denied, .storeUnavailable])

  package static let dialog = APIOperation(
    method: .post, id: "postDialog", tag: .installations, access: .everybody,
    summary: "Answer the notice before an appointment",
    description: """
      Apps that know the callback notices of Genesys Mobile Services use this format. The `_id` of the notice is the only credential, \
      and the body does not count. `connect` calls now if the rules allow it, otherwise at the time of the appointment. `snooze` puts \
      the call off. `cancel` cancels it. `connect-inbound` cancels it and names the number to dial. These spend the `_id`, and so do a \
      move and the end of the appointment. Unknown and spent ids, and actions that are none, are the same 404.
      """,
    parameters: [
      APIParameter(
        name: "id", place: .path, description: "The `_id` in the notice.",
        schema: ["type": "string", "minLength": 1], example: exampleID),
      APIParameter(
        name: "action", place: .path,
        description: "The `_action` in the notice, or the choice of the customer.",
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
          "`snooze` and `cancel` are done. A notice of another kind has no dialog, and gets this response too.",
        fields: [.noStore]),
    ],
    refusals: [.notFound, .tooLate, .rateLimited, .storeUnavailable] + .ofRules)
}

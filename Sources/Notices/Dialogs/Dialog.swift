// The documents of the dialogs before a call, in the wire format of Genesys Mobile Services (GMS) for
// callback apps.

package import JSON

/// A document that tells an app what to show or do next.
///
/// The members and their order are those of the reference "Callback Push Notifications for iOS", as strict
/// JSON. Values are texts, except for the one number that the reference shows. Two mistakes of the reference
/// are corrected: its item "Cancel" points to `snooze`, and its `_resource_url` has a name that is not an
/// action.
package struct Dialog: Sendable {
  /// The links of one notification.
  package struct Links: Sendable {
    private let base: String
    let id: NoticeID

    /// - Parameter externalURL: The URL under which apps reach this server, without a slash at its end.
    package init(_ externalURL: String, _ id: NoticeID) {
      base = "\(externalURL)/genesys/1/service/\(id.exposed)/"
      self.id = id
    }

    func url(_ action: String) -> JSONValue { .string(base + action) }
  }

  package let document: JSONObject

  // MARK: The menu

  /// The heading if an agent is known to be available.
  package static let agentAvailable = "Agent is available right now"

  /// Asks whether the customer is ready, and offers to connect, snooze or cancel.
  ///
  /// - Parameters:
  ///   - heading: The menu's heading.
  ///   - providesCode: Whether the call begins with a verification code. The app then tells the customer to
  ///     expect tones.
  ///   - expires: The time at which the menu expires, as text.
  ///   - snooze: The minutes by which the customer may postpone the call; nil if the menu does not offer
  ///     that.
  package static func menu(
    _ links: Links, heading: String, providesCode: Bool, expires: String, snooze minutes: Int64?
  ) -> Dialog {
    var connect = item("1", "Yes, I'm ready to talk", links.url(DialogAction.connect.rawValue))
    if providesCode {
      connect["_confirmation_dialog"] = [
        "_text": "You will hear tones immediately after call is connected. This is normal.",
        "_dialog_type": "Notification",
        "_dismiss_timeout": 2,
      ]
    }
    var items: [JSONValue] = [.object(connect)]
    if let minutes {
      let time = minutes == 1 ? "1 minute" : "\(minutes) minutes"
      items.append(.object(item("2", "No, try again in \(time)", links.url(DialogAction.snooze.rawValue))))
    }
    items.append(
      .object(item("3", "Cancel, my problem has been solved", links.url(DialogAction.cancel.rawValue))))
    let action: DialogAction = providesCode ? .menuWithCode : .menu
    return Dialog(document: [
      "_dialog_id": "0",
      "_label": .string(heading),
      "_user_action_url": links.url("not-used"),
      "_method": "POST",
      "_action": "DisplayMenu",
      "_expires": .string(expires),
      "_resource_url": links.url(action.rawValue),
      "_content": [["_group_name": "Are you ready?", "_group_content": .array(items)]],
    ])
  }

  private static func item(_ id: String, _ label: String, _ url: JSONValue) -> JSONObject {
    [
      "_dialog_id": .string(id),
      "_label": .string(label),
      "_action": "MenuItem",
      "_user_action_url": url,
      "_method": "POST",
      "_id_to_jump_before": "exit://",
    ]
  }

  // MARK: After a choice

  /// The confirmation that the phone rings soon.
  package static func calling(_ id: NoticeID) -> Dialog {
    confirmation("You will receive the call shortly", id)
  }

  /// The confirmation that the customer gets another notification.
  package static func waiting(_ id: NoticeID) -> Dialog {
    confirmation("We will notify you when agent is available", id)
  }

  /// The confirmation of a choice.
  package static func done(_ text: String, _ id: NoticeID) -> Dialog { confirmation(text, id) }

  private static func confirmation(_ text: String, _ id: NoticeID) -> Dialog {
    Dialog(document: [
      "_dialog_id": "0",
      "_action": "ConfirmationDialog",
      "_text": .string(text),
      "_ok_title": "Ok",
      "_id": .string(id.exposed),
    ])
  }

  /// The instruction to dial a number: the customer makes the call.
  ///
  /// - Parameters:
  ///   - number: The number to dial, in E.164 form.
  ///   - accessCode: The code that the agent asks for; nil if there is none.
  package static func dial(_ number: String, accessCode: String?, _ id: NoticeID) -> Dialog {
    Dialog(document: [
      "_dialog_id": "0",
      "_label": "Connecting ...",
      "_action": "DialNumber",
      "_tel_url": .string("tel:" + number),
      "_access_code": .string(accessCode ?? "n/a"),
      "_id": .string(id.exposed),
    ])
  }
}

/// An action that an app requests with the `_id` of a notification. `get-dialog-start-chat` is not supported,
/// because this server has no chat of that kind.
package enum DialogAction: String, CaseIterable, Sendable {
  case menuWithCode = "get-dialog-user-confirmation-provide_code-true"
  case menu = "get-dialog-user-confirmation-provide_code-false"
  /// The customer wants the call now. The menu's items use this name.
  case connect
  /// The customer wants the call now. Pushes of GMS use this name.
  case connectOutbound = "connect-outbound"
  case waitForAgent = "wait-for-agent"
  case snooze
  case cancel
  /// The customer makes the call.
  case connectInbound = "connect-inbound"
}

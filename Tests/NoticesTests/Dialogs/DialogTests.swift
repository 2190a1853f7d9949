// Compares the dialogs with the examples of the reference "Callback Push Notifications for iOS", made strict JSON.

import JSON
import Testing

@testable import Notices

@Suite struct DialogTests {
  private static let service = "3SQI3S31693JL9L3R00506T40C000U73"
  private static let base = "https://calls.example.com/genesys/1/service/3SQI3S31693JL9L3R00506T40C000U73"

  private var id: NoticeID { get throws { try #require(NoticeID(Self.service)) } }
  private var links: Dialog.Links {
    get throws { Dialog.Links("https://calls.example.com", try id) }
  }

  /// The menu of the reference. Its item "Cancel" leads to `cancel`, and `_resource_url` to the action that was asked for.
  private func menu(_ action: String, confirmation: String = "", snooze: String) -> String {
    """
    {"_dialog_id":"0","_label":"Agent is available right now","_user_action_url":"\(Self.base)/not-used",\
    "_method":"POST","_action":"DisplayMenu","_expires":"2026-11-24T15:00:00Z",\
    "_resource_url":"\(Self.base)/\(action)",\
    "_content":[{"_group_name":"Are you ready?","_group_content":[\
    {"_dialog_id":"1","_label":"Yes, I'm ready to talk","_action":"MenuItem",\
    "_user_action_url":"\(Self.base)/connect","_method":"POST","_id_to_jump_before":"exit://"\(confirmation)},\
    \(snooze)\
    {"_dialog_id":"3","_label":"Cancel, my problem has been solved","_action":"MenuItem",\
    "_user_action_url":"\(Self.base)/cancel","_method":"POST","_id_to_jump_before":"exit://"}]}]}
    """
  }

  private func item(minutes: String) -> String {
    """
    {"_dialog_id":"2","_label":"No, try again in \(minutes)","_action":"MenuItem",\
    "_user_action_url":"\(Self.base)/snooze","_method":"POST","_id_to_jump_before":"exit://"},
    """
  }

  private func text(_ dialog: Dialog) -> String {
    String(decoding: dialog.document.serialized(), as: UTF8.self)
  }

  @Test func `the menu with a code is the one of the reference`() throws {
    let dialog = Dialog.menu(
      try links, heading: Dialog.agentAvailable, providesCode: true, expires: "2026-11-24T15:00:00Z",
      snooze: 5)
    let confirmation =
      #","_confirmation_dialog":{"_text":"You will hear tones immediately after call is connected. This is normal.","#
      + #""_dialog_type":"Notification","_dismiss_timeout":2}"#
    #expect(
      text(dialog)
        == menu(
          "get-dialog-user-confirmation-provide_code-true", confirmation: confirmation,
          snooze: item(minutes: "5 minutes")))
  }

  @Test func `the menu without a code announces no tones`() throws {
    let dialog = Dialog.menu(
      try links, heading: Dialog.agentAvailable, providesCode: false, expires: "2026-11-24T15:00:00Z",
      snooze: 1)
    #expect(
      text(dialog)
        == menu("get-dialog-user-confirmation-provide_code-false", snooze: item(minutes: "1 minute")))
  }

  @Test func `after the last snooze the menu has two items`() throws {
    let dialog = Dialog.menu(
      try links, heading: Dialog.agentAvailable, providesCode: false, expires: "2026-11-24T15:00:00Z",
      snooze: nil)
    #expect(text(dialog) == menu("get-dialog-user-confirmation-provide_code-false", snooze: ""))
  }

  @Test func `the confirmations are those of the reference`() throws {
    let end = #","_ok_title":"Ok","_id":"3SQI3S31693JL9L3R00506T40C000U73"}"#
    #expect(
      text(.calling(try id))
        == #"{"_dialog_id":"0","_action":"ConfirmationDialog","_text":"You will receive the call shortly""#
        + end)
    #expect(
      text(.waiting(try id))
        == #"{"_dialog_id":"0","_action":"ConfirmationDialog","_text":"We will notify you when agent is available""#
        + end)
  }

  @Test(arguments: [(nil, "n/a"), ("482913", "482913")])
  func `a customer who calls gets the number and the code`(code: String?, shown: String) throws {
    #expect(
      text(.dial("+14155550100", accessCode: code, try id))
        == #"{"_dialog_id":"0","_label":"Connecting ...","_action":"DialNumber","_tel_url":"tel:+14155550100","#
        + #""_access_code":"\#(shown)","_id":"3SQI3S31693JL9L3R00506T40C000U73"}"#)
  }
}

// Tests of notifications, their IDs and the devices' tokens.

import Platform
import TestSupport
import Testing

@testable import Notices

@Suite struct NoticeTests {
  @Test(arguments: [
    (Notice.Action.access, "access"),
    (.confirmWithCode, "get-dialog-user-confirmation-provide_code-true"),
    (.confirm, "get-dialog-user-confirmation-provide_code-false"), (.changed, "changed"),
    (.expired, "expired"),
  ])
  func `the message is the JSON text of id and action`(action: Notice.Action, name: String) throws {
    #expect(
      try Notice.sample(action).message
        == "{\"_id\":\"3SQI3S31693JL9L3R0O5O6T4OC000U73\",\"_action\":\"\(name)\"}")
  }

  @Test(arguments: [
    (String(repeating: "A", count: 32), true), (String(repeating: "9", count: 32), true),
    (String(repeating: "A", count: 31), false), (String(repeating: "A", count: 33), false),
    (String(repeating: "A", count: 31) + "a", false), (String(repeating: "A", count: 31) + "-", false),
    (String(repeating: "A", count: 31) + "É", false), ("", false),
  ])
  func `an id has 32 characters A–Z and 0–9`(text: String, isID: Bool) {
    #expect((NoticeID(text) != nil) == isID)
  }

  @Test func `what is public of an id is a UUID, always the same, without the id`() throws {
    let (one, other) = (try Notice.sample().id, try Notice.sample(id: String(repeating: "Z", count: 32)).id)
    #expect(one.publicID == "577c832b-13a8-8754-92e9-68c15477c214")
    #expect(one.publicID != other.publicID)
    #expect(one.publicID.utf8.count == 36)
  }

  @Test func `no id and no token is printed`() throws {
    let (notice, device) = (try Notice.sample(), try DeviceAddress.sample(.fcm))
    for text in ["\(notice)", "\(device)", String(reflecting: notice), String(reflecting: device)] {
      #expect(text.contains("<redacted>"))
      #expect(!text.contains("3SQI"))
      #expect(!text.contains("device-token"))
    }
    var dumped = ""
    dump(notice, to: &dumped)
    dump(device, to: &dumped)
    #expect(!dumped.contains("3SQI") && !dumped.contains("device-token"))
  }

  @Test(
    arguments: [
      (1_800_000_060, 60), (1_800_000_001, 1), (1_800_000_000, 0), (1_799_999_999, 0),
    ] as [(Int64, Int64)])
  func `what is left of a notice is never negative`(ends: Int64, left: Int64) throws {
    let notice = try Notice.sample(ends: UnixTime(seconds: ends))
    #expect(notice.secondsLeft(ManualTime().unixTime) == left)
  }
}

@Suite struct PushTokenTests {
  @Test(arguments: [
    (PushPlatform.apns, String(repeating: "0", count: 63), false),
    (.apns, String(repeating: "0", count: 64), true), (.apns, String(repeating: "F", count: 200), true),
    (.apns, String(repeating: "f", count: 201), false),
    (.apns, String(repeating: "0", count: 63) + "g", false),
    (.apns, String(repeating: "0", count: 63) + "P", false),
    (.fcm, "", false), (.fcm, "!", true), (.fcm, String(repeating: "~", count: 4096), true),
    (.fcm, String(repeating: "~", count: 4097), false), (.fcm, "a b", false), (.fcm, "a\u{7F}", false),
    (.fcm, "é", false), (.http, "device/1?x=\"y\"", true), (.http, "", false), (.http, "a\nb", false),
  ])
  func `a token has the form of its platform`(platform: PushPlatform, text: String, isToken: Bool) {
    #expect((DeviceAddress(text, platform: platform) != nil) == isToken)
  }

  @Test func `an APNs token is the same in upper and lower case, others are not`() {
    let digits = String(repeating: "0aF9", count: 16)
    #expect(DeviceAddress(digits, platform: .apns)?.exposed == String(repeating: "0af9", count: 16))
    #expect(DeviceAddress("aB", platform: .fcm) != DeviceAddress("ab", platform: .fcm))
  }
}

// Tests of how the content of a GMS request is read.

import API
import HTTP
import JSON
import Notices
import Testing

@testable import Handling

@Suite struct GMSContentTests {
  private static func content(_ text: String, type: String = "application/json") throws -> GMSContent {
    let octets = Array(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
        .utf8)
    var (parser, request, offset) = (RequestParser(), Request(), 0)
    guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else {
      Issue.record("the request is not complete")
      throw Problem(.malformedRequest, "")
    }
    return try GMSContent(request, nil)
  }

  @Test func `members without an underscore are the customer's data, others are the service's`() throws {
    let text = """
      {"_customer_number":"+14155550123","_urs_virtual_queue":"x","_desired_time":"2026-11-23T10:00:00.000+0100",
       "first_name":"Ann","vip":true,"nothing":null,"empty":""}
      """
    let made = try JSONValue(parsing: try Self.content(text).callback())
    #expect(made["contact_phone_number"]?.string == "+14155550123")
    #expect(made["at"]?.string == "2026-11-23T09:00:00Z")
    let fields = try #require(made["context"]?["fields"]?.array)
    #expect(fields.map { $0["name"]?.string } == ["first_name", "vip"])
    #expect(fields.map { $0["value"]?.string } == ["Ann", "true"])
    #expect(made.object?.members.count == 3)
  }

  @Test func `a form is the same`() throws {
    let form = try Self.content(
      "_customer_number=%2B14155550123&first_name=Zo%C3%AB", type: "application/x-www-form-urlencoded")
    let json = try Self.content(#"{"_customer_number":"+14155550123","first_name":"Zoë"}"#)
    #expect(try form.callback() == json.callback())
    #expect(throws: Problem.self) { try Self.content("a=%", type: "application/x-www-form-urlencoded") }
  }

  @Test(arguments: [
    #"{"_customer_number":"+14155550123"}"#, " { \"_customer_number\": \"+14155550123\" }\r\n",
    #"[{"a":"b"}]"#,
  ])
  func `JSON that is sent as a form is told its Content-Type`(_ text: String) throws {
    let problem = try #require(throws: Problem.self) {
      try Self.content(text, type: "application/x-www-form-urlencoded")
    }
    #expect(problem.code == .invalidRequest && problem.detail.contains("application/json"))
    #expect(!problem.detail.contains("4155550123"))
    #expect(throws: Never.self) {
      try Self.content("{vip}=1&_customer_number=%2B1", type: "application/x-www-form-urlencoded")
    }
  }

  @Test(arguments: ["gcm", "fcm", "android", "ios", "apns", "customhttp", "httpcb"])
  func `a device has the provider of its system`(_ system: String) throws {
    let token = String(repeating: "a", count: 64)
    let content = try Self.content(
      #"{"_customer_number":"+14155550123","_device_notification_id":"\#(token)","_device_os":"\#(system)"}"#)
    guard case .token(let device) = content.device else {
      Issue.record("no device")
      return
    }
    let platform: PushPlatform =
      switch system {
      case "ios", "apns": .apns
      case "customhttp", "httpcb": .http
      default: .fcm
      }
    #expect(device.platform == platform && device.exposed == token)
  }

  @Test(arguments: [
    #""_device_notification_id":"a","_device_os":"windows""#, #""_device_notification_id":"a""#,
    #""_device_notification_id":"a","_device_os":"GCM""#, #""_device_notification_id":"a","_device_os":1"#,
    #""_device_notification_id":"","_device_os":"fcm""#,
    #""_device_notification_id":"a b","_device_os":"fcm""#,
    #""_device_notification_id":"a","_device_os":"ios""#, #""_device_notification_id":7,"_device_os":"fcm""#,
  ]) func `an unknown system or token is unusable`(_ members: String) throws {
    guard case .unusable = try Self.content("{\(members)}").device else {
      Issue.record("taken: \(members)")
      return
    }
  }

  @Test(arguments: ["{}", #"{"_device_os":"fcm"}"#, #"{"_device_notification_id":null,"_device_os":"fcm"}"#])
  func `without an id there is no device`(_ text: String) throws {
    guard case .none = try Self.content(text).device else {
      Issue.record("a device")
      return
    }
  }
}

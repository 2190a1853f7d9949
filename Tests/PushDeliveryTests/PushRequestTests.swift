// Tests of the bodies that register a device or claim a token.

import API
import Notices
import Testing

@testable import PushDelivery

@Suite struct PushRequestTests {
  private func device(_ text: String) throws -> DeviceAddress {
    try DeviceRequest(parsing: Array(text.utf8), platforms: [.fcm, .apns]).token
  }

  @Test func `a device is read`() throws {
    let token = try device(#"{"token":"\#(String(repeating: "AB", count: 32))","platform":"apns"}"#)
    #expect((token.platform, token.exposed) == (.apns, String(repeating: "ab", count: 32)))
  }

  @Test(arguments: [
    (#"{}"#, ["platform", "token"]), (#"{"platform":"fcm","token":""}"#, ["token"]),
    (#"{"platform":"http","token":"x"}"#, ["platform"]), (#"{"platform":"FCM","token":"x"}"#, ["platform"]),
    (#"{"platform":"apns","token":"x"}"#, ["token"]),
    (#"{"platform":1,"token":null,"x":1}"#, ["platform", "platform", "token", "x"]),
  ])
  func `everything that is wrong is named`(_ text: String, names: [String]) throws {
    do {
      _ = try device(text)
      Issue.record("taken")
    } catch let problem as Problem {
      #expect(problem.code == .invalidRequest)
      #expect(Set(problem.fields.map(\.name)) == Set(names))
    }
  }

  @Test(
    arguments: [
      ([], "No push provider is configured."),
      ([.fcm], "This push provider is not configured. Give one of: fcm."),
    ] as [([PushPlatform], String)])
  func `a provider that the server does not have is refused with a remedy`(
    _ platforms: [PushPlatform], _ words: String
  ) throws {
    let body = Array(#"{"platform":"http","token":"x"}"#.utf8)
    #expect { try DeviceRequest(parsing: body, platforms: platforms) } throws: {
      ($0 as? Problem)?.fields.map(\.description) == [words]
    }
  }

  @Test(arguments: [
    ("[]", Problem.Code.invalidRequest), ("{", .invalidJSON), (#"{"claim":5}"#, .invalidRequest),
  ])
  func `what is no claim is refused`(_ text: String, code: Problem.Code) throws {
    #expect { try ClaimRequest(parsing: Array(text.utf8)) } throws: { ($0 as? Problem)?.code == code }
  }

  @Test func `the longest token may be written with escapes`() throws {
    let escaped = String(repeating: #"\u0041"#, count: 4096)
    #expect(try device(#"{"platform":"fcm","token":"\#(escaped)"}"#).exposed.utf8.count == 4096)
  }
}

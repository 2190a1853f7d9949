// Makes notices, devices and settings for the tests of notices.

import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Notices

extension Notice {
  /// A notice that ends a minute after the manual clocks begin.
  static func sample(
    _ action: Action = .access, id: String = "3SQI3S31693JL9L3R0O5O6T4OC000U73", text: String = "Your call",
    ends: UnixTime = UnixTime(seconds: 1_800_000_060)
  ) throws -> Notice {
    Notice(id: try #require(NoticeID(id)), action: action, text: text, ends: ends)
  }
}

extension DeviceAddress {
  /// A device on a platform.
  static func sample(_ platform: PushPlatform) throws -> DeviceAddress {
    let text = platform == .apns ? String(repeating: "ab", count: 32) : "device-token:1"
    return try #require(DeviceAddress(text, platform: platform))
  }
}

extension NoticeSender {
  /// Sends a notification for the first time.
  func send(_ notice: Notice, to device: DeviceAddress, deadline: MonotonicTime) async -> NoticeVerdict {
    var posts = NoticePosts()
    return await send(notice, to: device, deadline: deadline, posts: &posts)
  }
}

extension ManualTime {
  /// A deadline that nothing here reaches.
  var soon: MonotonicTime { now + .seconds(5) }
}

extension OutboundRequest {
  /// The content as JSON.
  var json: JSONValue? { try? JSONValue(parsing: Array(content)) }
}

/// A JWT's header and claims, after its signature is verified.
func verified(
  _ text: String, by key: PublicKey, _ algorithm: SignatureAlgorithm
) throws -> (header: JSONObject, claims: JSONObject) {
  let token = try JWS.Compact(parsing: Array(text.utf8))
  #expect(token.verify(with: key, algorithm: algorithm))
  return (token.header, try #require(JSONValue(parsing: token.payload).object))
}

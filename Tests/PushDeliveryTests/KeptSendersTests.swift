// Tests of which senders a reload keeps.

import Configuration
import HTTP
import JOSE
import JSON
import Notices
import Platform
import Synchronization
import TestSupport
import Testing

@testable import PushDelivery

@Suite struct KeptSendersTests {
  private struct NoTransport: HTTPTransport {
    func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
      throw TransportError(.connect, sent: false, detail: "a test")
    }
  }

  private static func key() throws -> [UInt8] {
    try PrivateKey.generate(for: .ES256).pem().exposedBytes()
  }

  private static func notices(_ key: [UInt8], topic: String = "com.example.shop") throws
    -> Configuration.Notices
  {
    var notices = Configuration.Notices()
    notices.apns = try APNsSettings(key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topic: topic)
    return notices
  }

  @Test func `a reload keeps the sender, and its connection, whose settings are equal`() throws {
    let connections = Mutex(0)
    let kept = KeptSenders(
      transport: NoTransport(),
      connect: {
        connections.withLock { $0 += 1 }
        return NoTransport()
      }, clock: ManualTime())
    let (first, second) = (try Self.key(), try Self.key())
    let sender = { (notices: Configuration.Notices) in kept.senders(notices)[.apns] as? APNsSender }
    let made = try #require(sender(try Self.notices(first)))
    #expect(sender(try Self.notices(first)) === made)
    #expect(connections.withLock { $0 } == 1)
    #expect(sender(try Self.notices(first, topic: "com.example.other")) !== made)
    #expect(sender(try Self.notices(second)) !== made)
    #expect(connections.withLock { $0 } == 3)
    #expect(sender(Configuration.Notices()) == nil)
    #expect(sender(try Self.notices(second)) != nil)
    #expect(connections.withLock { $0 } == 4)
  }

  @Test func `a reload keeps FCM's token, and asks Google anew after a failure`() async throws {
    let tokenURL = "https://oauth2.googleapis.com/token"
    let network = ScriptedTransport { number, request in
      guard request.url == tokenURL else { return .status(200) }
      return number == 0 ? .status(400) : .status(200, "{\"access_token\":\"t\",\"expires_in\":3600}")
    }
    let account: JSONObject = [
      "type": "service_account", "project_id": "shop-1", "private_key_id": "0f1e2d",
      "private_key": .string(try PrivateKey.generate(for: .RS256).pem().exposedString()),
      "client_email": "push@shop-1.iam.gserviceaccount.com", "token_uri": .string(tokenURL),
    ]
    var notices = Configuration.Notices()
    notices.fcm = FCMSettings(try ServiceAccount(parsing: account.serialized()))
    let clock = ManualTime()
    let kept = KeptSenders(transport: network, connect: { nil }, clock: clock)
    let notice = Notice(
      id: try #require(NoticeID(String(repeating: "A", count: 32))), action: .access, text: "x",
      ends: UnixTime(seconds: 2_000_000_000))
    let device = try #require(DeviceAddress("device-1", platform: .fcm))
    func isTaken() async throws -> Bool {
      var posts = NoticePosts()
      let sender = try #require(kept.senders(notices)[.fcm])
      return await sender.send(notice, to: device, deadline: clock.now + .seconds(5), posts: &posts) == .taken
    }
    let exchanges = { network.requests.count { $0.url == tokenURL } }
    #expect(try await !isTaken())
    #expect(try await isTaken())
    #expect(try await isTaken())
    #expect(exchanges() == 2)
    kept.forgetTokens()
    #expect(try await isTaken())
    #expect(exchanges() == 3)
  }
}

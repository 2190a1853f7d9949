// Tests of which senders a reload keeps.

import Configuration
import HTTP
import JOSE
import Notices
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
}

// Tests of the sender of notices by APNs on a scripted network.

import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Notices

@Suite struct APNsSenderTests {
  private let time = ManualTime()

  /// Counts the connections made after the first.
  private final class Connections: Sendable {
    private let made = Mutex(0)
    var count: Int { made.withLock { $0 } }
    func make() { made.withLock { $0 += 1 } }
  }

  private func sender(
    _ network: ScriptedTransport, _ connections: Connections = Connections()
  ) throws -> APNsSender {
    APNsSender(
      try .sample(), transport: network,
      connect: {
        connections.make()
        return network
      }, time: time)
  }

  private static func error(_ status: Int, _ reason: String) -> ScriptedTransport.Answer {
    .status(status, "{\"reason\":\"\(reason)\"}")
  }

  private func send(_ sender: APNsSender, _ notice: Notice? = nil) async throws -> NoticeVerdict {
    await sender.send(try notice ?? .sample(), to: try .sample(.apns), deadline: time.soon)
  }

  @Test func `a notice is an alert with the headers that APNs wants`() async throws {
    let network = ScriptedTransport { _, _ in .status(200) }
    let notice = try Notice.sample(.confirm)
    #expect(try await send(try sender(network), notice) == .taken)
    let request = try #require(network.requests.first)
    #expect(request.method == .post)
    #expect(request.url == "https://api.push.apple.com/3/device/\(String(repeating: "ab", count: 32))")
    #expect(request.fields["Authorization"]?.hasPrefix("bearer ") == true)
    #expect(request.fields["apns-topic"] == "com.example.shop")
    #expect(request.fields["apns-push-type"] == "alert")
    #expect(request.fields["apns-priority"] == "10")
    #expect(request.fields["apns-expiration"] == "1800000060")
    #expect(request.fields["apns-collapse-id"] == notice.id.exposed)
    #expect(request.fields["apns-id"] == notice.id.publicID)
    #expect(request.json == ["aps": ["alert": "Your call"], "message": .string(notice.message)])
    #expect(request.timeout == .seconds(5))
  }

  @Test func `a notice that ends now is delivered now or never`() async throws {
    let network = ScriptedTransport { _, _ in .status(200) }
    _ = try await send(try sender(network), .sample(ends: time.unixTime))
    #expect(network.requests.first?.fields["apns-expiration"] == "0")
  }

  @Test func `a payload of 4096 octets is sent, and a longer one is not`() async throws {
    let network = ScriptedTransport { _, _ in .status(200) }
    let sender = try sender(network)
    let rest = APNsSender.payload(try .sample(text: "")).count
    #expect(try await send(sender, .sample(text: String(repeating: "x", count: 4096 - rest))) == .taken)
    guard case .giveUp = try await send(sender, .sample(text: String(repeating: "x", count: 4097 - rest)))
    else {
      Issue.record("not given up")
      return
    }
    #expect(network.requests.map(\.content.count) == [4096])
  }

  @Test func `an expired provider token is renewed and the notice sent once more`() async throws {
    let network = ScriptedTransport { number, _ in
      number == 1 ? Self.error(403, "ExpiredProviderToken") : .status(200)
    }
    let sender = try sender(network)
    #expect(try await send(sender) == .taken)
    time.advance(by: .seconds(20 * 60))
    #expect(try await send(sender) == .taken)
    #expect(network.count == 3)
    let bearers = network.requests.map { $0.fields["Authorization"] }
    #expect(bearers[0] == bearers[1])
    #expect(bearers[1] != bearers[2])
  }

  @Test func `a new provider token that has expired stops the sender`() async throws {
    let network = ScriptedTransport { _, _ in Self.error(403, "ExpiredProviderToken") }
    guard case .stopSender(let reason) = try await send(try sender(network)) else {
      Issue.record("not stopped")
      return
    }
    #expect(reason.contains("clock"))
    #expect(network.count == 1)
  }

  @Test func `a token that is refused with 401 is renewed once, whatever its age`() async throws {
    let network = ScriptedTransport { number, _ in number == 1 ? .status(200) : .status(401) }
    let sender = try sender(network)
    #expect(try await send(sender) == .taken)
    guard case .stopSender = try await send(sender) else {
      Issue.record("not stopped")
      return
    }
    #expect(network.count == 4)
    let bearers = network.requests.map { $0.fields["Authorization"] }
    #expect(bearers[0] != bearers[1] && bearers[1] == bearers[2] && bearers[2] != bearers[3])
  }

  @Test func `forgotten tokens are signed again`() async throws {
    let network = ScriptedTransport { _, _ in .status(200) }
    let sender = try sender(network)
    for _ in 0..<2 { _ = try await send(sender) }
    sender.forgetTokens()
    _ = try await send(sender)
    let bearers = network.requests.map { $0.fields["Authorization"] }
    #expect(bearers[0] == bearers[1] && bearers[1] != bearers[2])
  }

  @Test func `a named wait is kept although another connection is wanted`() async throws {
    let network = ScriptedTransport { _, _ in
      .status(503, "{\"reason\":\"Shutdown\"}", fields: ["Retry-After": "9"])
    }
    let connections = Connections()
    let sender = try sender(network, connections)
    time.advance(by: .seconds(60))
    #expect(try await send(sender) == .restProvider(for: .seconds(9), reason: "APNs 503 Shutdown"))
    #expect(network.count == 1 && connections.count == 1)
  }

  @Test func `a notice is sent three times at most, whatever is changed between`() async throws {
    let network = ScriptedTransport { number, _ in
      switch number {
      case 0: .lost()
      case 1: .status(401)
      default: Self.error(503, "Shutdown")
      }
    }
    let sender = try sender(network)
    time.advance(by: .seconds(60))
    var posts = NoticePosts()
    let verdict = await sender.send(try .sample(), to: try .sample(.apns), deadline: time.soon, posts: &posts)
    #expect(verdict == .retry(after: nil, reason: "APNs 503 Shutdown"))
    #expect(network.count == 3 && !posts.hasMore)
    #expect(network.requests.someAndAll { $0.reuse == .allowed }, "the transport may repeat it uncounted")
  }

  @Test func `after too many new tokens the old one is used, at once and afterwards`() async throws {
    let network = ScriptedTransport { number, _ in
      number == 1 ? Self.error(429, "TooManyProviderTokenUpdates") : .status(200)
    }
    let sender = try sender(network)
    _ = try await send(sender)
    time.advance(by: .seconds(50 * 60))
    #expect(try await send(sender) == .taken)
    #expect(try await send(sender) == .taken)
    let bearers = network.requests.map { $0.fields["Authorization"] }
    #expect(bearers[1] != bearers[0])
    #expect(bearers[2] == bearers[0])
    #expect(bearers[3] == bearers[0])
  }

  @Test(arguments: [(400, "IdleTimeout"), (503, "Shutdown"), (403, "UnrelatedKeyIdInToken")])
  func `a notice goes out once more over a new connection where APNs wants one`(
    status: Int, reason: String
  ) async throws {
    let network = ScriptedTransport { number, _ in
      number == 0 ? Self.error(status, reason) : .status(200)
    }
    let connections = Connections()
    let sender = try sender(network, connections)
    time.advance(by: APNsSender.shortestConnection)
    #expect(try await send(sender) == .taken)
    #expect(network.count == 2)
    #expect(connections.count == 1)
  }

  @Test func `a connection is not replaced in its first ten seconds`() async throws {
    let network = ScriptedTransport { _, _ in Self.error(503, "Shutdown") }
    let connections = Connections()
    let sender = try sender(network, connections)
    time.advance(by: APNsSender.shortestConnection - .nanoseconds(1))
    #expect(try await send(sender) == .retry(after: nil, reason: "APNs 503 Shutdown"))
    #expect(network.count == 1)
    #expect(connections.count == 0)
  }

  @Test func `a notice is sent twice at most`() async throws {
    let network = ScriptedTransport { _, _ in Self.error(403, "UnrelatedKeyIdInToken") }
    let sender = try sender(network)
    time.advance(by: .seconds(60))
    guard case .stopSender = try await send(sender) else {
      Issue.record("not stopped")
      return
    }
    #expect(network.count == 2)
  }

  @Test func `a connection that cannot be replaced stays`() async throws {
    let network = ScriptedTransport { number, _ in
      number == 0 ? Self.error(503, "Shutdown") : .status(200)
    }
    let sender = APNsSender(try .sample(), transport: network, connect: { nil }, time: time)
    time.advance(by: .seconds(60))
    #expect(try await send(sender) == .retry(after: nil, reason: "APNs 503 Shutdown"))
    #expect(try await send(sender) == .taken)
  }

  @Test func `a connection on which a request was not answered in time is replaced for the next one`()
    async throws
  {
    let network = ScriptedTransport { number, _ in
      number == 0 ? .lost(.timedOut) : .status(200)
    }
    let connections = Connections()
    let sender = try sender(network, connections)
    time.advance(by: .seconds(60))
    guard case .retry(after: nil, _) = try await send(sender) else {
      Issue.record("no retry")
      return
    }
    #expect(connections.count == 1)
    #expect(network.count == 1, "there was no time left for another attempt")
  }

  @Test func `nothing is sent after the deadline`() async throws {
    let network = ScriptedTransport { _, _ in .status(200) }
    let verdict = await (try sender(network)).send(
      try .sample(), to: try .sample(.apns), deadline: time.now)
    guard case .retry = verdict else {
      Issue.record("no retry")
      return
    }
    #expect(network.count == 0)
  }
}

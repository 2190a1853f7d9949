// Tests of token requests while an OAuth client changes its key.

import HTTP
import JOSE
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

/// Two keys of one client: the next one, which is tried first, and the current one.
@Suite struct CredentialRotationTests {
  /// Talkdesk ID's response for each key, which a test may change.
  private final class Registry: Sendable {
    private let refused = Mutex<[String: ScriptedTransport.Answer]>([:])

    func refuse(
      _ client: String, _ answer: ScriptedTransport.Answer = .status(401, #"{"error":"invalid_client"}"#)
    ) {
      refused.withLock { $0[client] = answer }
    }
    func accept(_ client: String) { refused.withLock { $0[client] = nil } }

    func answer(_ request: OutboundRequest) -> ScriptedTransport.Answer {
      let content = String(decoding: request.content, as: UTF8.self)
      let client = content.contains("client_id=next") ? "next" : "current"
      return refused.withLock { $0[client] } ?? .token("from-\(client)")
    }
  }

  private let time = ManualTime()
  private let registry = Registry()
  private let transport: ScriptedTransport
  private let id: TalkdeskID

  init() throws {
    let registry = registry
    transport = ScriptedTransport { _, request in registry.answer(request) }
    id = try .scripted(
      transport, time,
      credentials: [.key("kid-next", clientID: "next"), .key("kid-current", clientID: "current")], unit: 0)
  }

  private final class Changes: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    @Sendable func note(_ status: CredentialStatus) {
      list.withLock { $0.append("\(status.role) \(status.state)") }
    }
  }

  @discardableResult
  private func exchange(_ changes: Changes = Changes()) async -> Result<AccessToken, TokenExchangeError> {
    do throws(TokenExchangeError) {
      return .success(
        try await id.exchange(
          scope: "callback:write", deadline: time.now + .seconds(10), trace: nil, observe: { _ in },
          change: changes.note))
    } catch {
      return .failure(error)
    }
  }

  private var states: [String] { id.credentialStatus.map { "\($0.role) \($0.name) \($0.state)" } }

  @Test func `before the first exchange nothing is known`() {
    #expect(states == ["next kid-next untried", "current kid-current untried"])
    #expect(id.credentialStatus.someAndAll { $0.age == nil && $0.retryIn == nil })
  }

  @Test func `a next key that is accepted serves alone`() async throws {
    let changes = Changes()
    #expect(try await exchange(changes).get().text == "from-next")
    #expect(transport.count == 1)
    #expect(changes.all == ["next accepted"])
    await exchange(changes)
    #expect(changes.all == ["next accepted"], "told once")
    #expect(states == ["next kid-next accepted", "current kid-current untried"])
  }

  @Test(
    arguments: [
      .status(401, #"{"error":"invalid_client"}"#), .status(400, #"{"error":"invalid_client"}"#),
      .status(401),
    ] as [ScriptedTransport.Answer])
  func `a next key that is refused is left aside for a minute, not tried at each exchange`(
    answer: ScriptedTransport.Answer
  ) async throws {
    registry.refuse("next", answer)
    let changes = Changes()
    #expect(try await exchange(changes).get().text == "from-current")
    #expect(transport.count == 2)
    #expect(changes.all.sorted() == ["current accepted", "next refused"])
    #expect(states == ["next kid-next refused", "current kid-current accepted"])
    #expect(id.credentialStatus[0].retryIn == .seconds(60))

    for _ in 1...3 { await exchange() }
    #expect(transport.count == 5, "one request each")
    time.advance(by: .seconds(59))
    #expect(id.credentialStatus[0].retryIn == .seconds(1))
    await exchange()
    #expect(transport.count == 6)
    time.advance(by: .seconds(1))
    await exchange(changes)
    #expect(transport.count == 8, "tried again")
    #expect(id.credentialStatus[0].retryIn == .seconds(120), "and left aside for longer")
    id.tryAllAgain()
    #expect(states == ["next kid-next refused", "current kid-current accepted"])
    await exchange(changes)
    #expect(transport.count == 10, "a reload tries it again at once")
    #expect(changes.all.count == 2, "nothing new to tell")
  }

  @Test func `once Talkdesk knows the next key it serves`() async throws {
    registry.refuse("next")
    await exchange()
    registry.accept("next")
    time.advance(by: .seconds(60))
    let changes = Changes()
    #expect(try await exchange(changes).get().text == "from-next")
    #expect(changes.all == ["next accepted"])
    #expect(id.credentialStatus[0].retryIn == nil)
    #expect(states == ["next kid-next accepted", "current kid-current accepted"])
  }

  @Test func `a key left aside is still tried when the other is retired meanwhile`() async throws {
    registry.refuse("next")
    await exchange()
    registry.accept("next")
    registry.refuse("current")
    #expect(id.credentialStatus[0].retryIn != nil)
    let changes = Changes()
    #expect(try await exchange(changes).get().text == "from-next")
    #expect(changes.all.sorted() == ["current refused", "next accepted"])
  }

  @Test func `if all are refused none is set aside, and only explicit codes count`()
    async throws
  {
    registry.refuse("next", .status(401))
    registry.refuse("current", .status(401, #"{"error":"invalid_scope"}"#))
    guard case .failure(.refused(401, "invalid_scope")) = await exchange() else {
      Issue.record("another outcome")
      return
    }
    #expect(transport.count == 2)
    #expect(states == ["next kid-next untried", "current kid-current untried"])
    await exchange()
    #expect(transport.count == 4)
    registry.refuse("next")
    registry.refuse("current")
    let changes = Changes()
    await exchange(changes)
    #expect(changes.all == ["next refused", "current refused"])
    #expect(id.credentialStatus.someAndAll { $0.state == .refused && $0.retryIn == nil })
  }

  @Test func `exchanges that ran at the same time count as one refusal`() {
    let rotation = CredentialRotation(count: 2)
    let start = time.now
    for _ in 1...5 {
      _ = rotation.accepted(1, insteadOf: [0], startedAt: start, now: start + .seconds(1), unit: 0)
    }
    let status = rotation.status(
      of: 0, name: "client_secret", clientID: "c", role: .next, now: start + .seconds(1))
    #expect(status.retryIn == .seconds(60))
  }

  @Test func `the rest doubles from a minute to ten, with a tenth at random`() {
    #expect(
      (1...6).map { CredentialRotation.rest(after: $0, unit: 0) }
        == [60, 120, 240, 480, 600, 600].map { .seconds($0) })
    #expect(CredentialRotation.rest(after: 1, unit: 1) == .seconds(66))
    #expect(CredentialRotation.rest(after: 1000, unit: 0) == .seconds(600))
  }

  @Test
  func
    `a token source names the key that serves, and a new configuration keeps what is known of the same keys`()
    async throws
  {
    registry.refuse("next")
    let source = TokenSource(issuer: id, policy: TokenPolicy(share: false), time: time, jitter: { 0 })
    let scope = source.scopeID("callback:write")
    #expect(source.status.servingCredential == nil)
    _ = try await source.token(scope)
    #expect(source.status.servingCredential == "kid-current")
    #expect(source.status.hasRefusedCredential)
    #expect(source.status.isWell)

    // The same keys again: their state is kept, but the next key is tried at once.
    source.reconfigure(
      issuer: try TalkdeskID.scripted(transport, time, credentials: id.credentials),
      policy: TokenPolicy(share: false))
    #expect(source.status.credentials.map(\.state) == [.refused, .accepted])
    #expect(source.status.credentials[0].retryIn == nil)
    registry.accept("next")
    #expect(try await source.token(scope).text == "from-next")

    // The next key becomes the current one.
    source.reconfigure(
      issuer: try TalkdeskID.scripted(transport, time, credentials: [id.credentials[0]]),
      policy: TokenPolicy(share: false))
    #expect(source.status.credentials.map(\.state) == [.accepted])
    #expect(source.status.credentials.map(\.role) == [.current])

    // Another key under the same name is another key, and so is the same key elsewhere.
    source.reconfigure(
      issuer: try TalkdeskID.scripted(transport, time, credentials: [.key("kid-next", clientID: "next")]),
      policy: TokenPolicy(share: false))
    #expect(source.status.servingCredential == nil)
    _ = try await source.token(scope)
    let last = try #require(source.state.withLock { $0.issuer } as? TalkdeskID)
    let elsewhere = try TalkdeskID.scripted(
      transport, time, credentials: last.credentials,
      endpoints: TalkdeskEndpoints(account: "other"))
    source.reconfigure(issuer: elsewhere, policy: TokenPolicy(share: false))
    #expect(source.status.servingCredential == nil)
  }

  @Test func `without a scope none is asked for, and the token has what the client has`() async throws {
    let transport = ScriptedTransport { _, _ in .token("t", scope: "a b") }
    let id = try TalkdeskID.scripted(transport, time)
    let token = try await id.exchange(scope: "", deadline: time.now + .seconds(10))
    #expect(token.scope == "a b")
    #expect(!String(decoding: transport.requests[0].content, as: UTF8.self).contains("scope"))
  }
}

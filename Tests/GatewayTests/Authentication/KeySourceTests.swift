import HTTP
import JOSE
import Platform
import TestSupport
import Testing

@testable import Gateway

/// When an issuer's keys are fetched, and when they count as others.
@Suite(.timeLimit(.minutes(2))) struct KeySourceTests {
  private let clock = ManualTime()
  private let first: PublicKey
  private let second: PublicKey

  init() throws {
    first = try PrivateKey.generate(for: .ES256).publicKey
    second = try PrivateKey.generate(for: .ES256).publicKey
  }

  private func source(_ provider: KeyProvider) -> KeySource {
    KeySource(url: "https://id.example/jwks", transport: provider, time: clock) { _ in }
  }

  private func lookUp(_ keyID: String, in source: KeySource) -> String {
    switch source.key(named: keyID, now: clock.now) {
    case .key(let key, let generation): "\(key.keyID ?? "nameless") of \(generation)"
    case .fetchFirst: "fetch first"
    case .unknown: "unknown"
    }
  }

  @Test(arguments: [true, false])
  func `who asked for an unknown key during a fetch does not fetch again after it`(succeeds: Bool)
    async throws
  {
    let failure = KeyProvider.Reply.failure(TransportError(.connect, sent: false, detail: "refused"))
    let provider = KeyProvider([succeeds ? .publishing(["k1": first]) : failure])
    let source = source(provider)
    provider.think()
    #expect(lookUp("invented", in: source) == "fetch first")
    async let leader: Void = source.fetchForUnknownKey()
    try await until { provider.count == 1 }
    // Two more come while the issuer thinks. The task of one joins; that of the other runs when all is over.
    #expect(lookUp("another", in: source) == "fetch first")
    #expect(lookUp("k1", in: source) == "fetch first")
    async let joining: Void = source.fetchForUnknownKey()
    await settle()
    provider.answer()
    await leader
    await joining
    await source.fetchForUnknownKey()
    #expect(provider.count == 1)
    // Whom the fetch brought the key is served, and the others are told.
    #expect(lookUp("k1", in: source) == (succeeds ? "k1 of 1" : "unknown"))
    #expect(lookUp("another", in: source) == "unknown")

    clock.advance(by: KeySource.shortestPause)
    #expect(lookUp("another", in: source) == "fetch first")
    await source.fetchForUnknownKey()
    await source.fetchForUnknownKey()
    #expect(provider.count == 2)
  }

  @Test func `a set that was fetched again and is the same counts as the same, and any other does not`() async
  {
    let provider = KeyProvider([
      .publishing(["k1": first]), .publishing(["k1": first]), .publishing(["k1": second]),
      .publishing(["k1": first]),
    ])
    let source = source(provider)
    await source.fetch()
    #expect(lookUp("k1", in: source) == "k1 of 1")
    await source.fetch()
    #expect(lookUp("k1", in: source) == "k1 of 1")
    // The same name for another key, and back: what was verified in between is not to be believed.
    await source.fetch()
    #expect(lookUp("k1", in: source) == "k1 of 2")
    await source.fetch()
    #expect(lookUp("k1", in: source) == "k1 of 3")
    #expect(provider.count == 4)
  }

  @Test func `a set that is the same is fresh from its last fetch on`() async throws {
    let provider = KeyProvider([.publishing(["k1": first])])
    let source = source(provider)
    await source.fetch()
    clock.advance(by: KeySource.ordinaryLife - .nanoseconds(1))
    await source.fetch()
    clock.advance(by: KeySource.ordinaryLife - .nanoseconds(1))
    #expect(lookUp("k1", in: source) == "k1 of 1")
    await settle()
    #expect(provider.count == 2)
    clock.advance(by: .nanoseconds(1))
    #expect(lookUp("k1", in: source) == "k1 of 1")
    try await until { provider.count == 3 }
  }

  @Test(arguments: [
    ("max-age=3600", 3600), ("public, Max-Age=120", 120), ("max-age=1", 60), ("max-age=99999999", 86_400),
    ("no-store", 60),
    ("max-age=x", 600), ("", 600),
  ])
  func `Cache-Control says how long keys are fresh, within bounds`(value: String, seconds: Int) {
    #expect(KeySource.life(["Cache-Control": value]) == .seconds(seconds))
  }
}

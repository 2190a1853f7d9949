// Tests of how an issuer's public keys are fetched, cached and renewed.

import HTTP
import JOSE
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Callers

/// When an issuer's keys are fetched, and when they count as changed.
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

  private func lookUp(_ keyID: String?, in source: KeySource, fetched: Bool = false) -> String {
    switch source.keys(named: keyID, algorithm: "ES256", fetched: fetched, now: clock.now) {
    case .keys(let keys, let generation): "\(keys[0].keyID ?? "nameless") of \(generation)"
    case .fetchFirst: "fetch first"
    case .unknown: "unknown"
    case .unavailable(let wait): "unavailable for \(wait.components.seconds) s"
    }
  }

  @Test func `a request that is given up stops waiting for keys, and the fetch goes on for the others`()
    async throws
  {
    let provider = KeyProvider([.publishing(["k1": first])])
    let source = source(provider)
    provider.think()
    let given = Task { await source.fetchForUnknownKey() }
    let patient = Task { await source.fetchForUnknownKey() }
    try await eventually { source.waiting == 2 }
    given.cancel()
    await given.value
    #expect(source.waiting == 1)
    provider.answer()
    await patient.value
    #expect(lookUp("k1", in: source) == "k1 of 1")
    #expect(provider.count == 1)
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
    try await eventually { provider.count == 1 }
    // Two more requests come before the issuer answers. One task joins the fetch; the other starts when it
    // has ended.
    #expect(lookUp("another", in: source) == "fetch first")
    #expect(lookUp("k1", in: source) == "fetch first")
    async let joining: Void = source.fetchForUnknownKey()
    await settle()
    provider.answer()
    await leader
    await joining
    await source.fetchForUnknownKey()
    #expect(provider.count == 1)
    // The request whose key was fetched is served, and the others are told so.
    #expect(lookUp("k1", in: source) == (succeeds ? "k1 of 1" : "unavailable for 30 s"))
    #expect(lookUp("another", in: source) == (succeeds ? "unknown" : "unavailable for 30 s"))

    clock.advance(by: KeySource.Terms.issuer.shortestPause)
    #expect(lookUp("another", in: source) == "fetch first")
    await source.fetchForUnknownKey()
    await source.fetchForUnknownKey()
    #expect(provider.count == 2)
  }

  @Test func `keys of App Check are dropped a day after the last success, and asked for each ten seconds`()
    async
  {
    let failure = KeyProvider.Reply.failure(TransportError(.connect, sent: false, detail: "refused"))
    let provider = KeyProvider([.publishing(["k1": first]), failure])
    let source = KeySource(
      url: "https://id.example/jwks", terms: .appCheck, transport: provider, time: clock
    ) { _ in }
    await source.fetch()
    #expect(lookUp("k2", in: source) == "fetch first")
    await source.fetchForUnknownKey()
    #expect(provider.count == 2)
    clock.advance(by: .seconds(86_400) - .nanoseconds(1))
    #expect(lookUp("k1", in: source) == "k1 of 1")
    clock.advance(by: .nanoseconds(1))
    #expect(lookUp("k1", in: source) == "fetch first")
    await source.fetchForUnknownKey()
    #expect(lookUp("k1", in: source).hasPrefix("unavailable"))
  }

  @Test func `an unknown key of App Check is asked for again after ten seconds`() async {
    let provider = KeyProvider([.publishing(["k1": first])])
    let source = KeySource(
      url: "https://id.example/jwks", terms: .appCheck, transport: provider, time: clock
    ) { _ in }
    await source.fetch()
    await source.fetchForUnknownKey()
    clock.advance(by: .seconds(10) - .nanoseconds(1))
    #expect(lookUp("k2", in: source) == "unknown")
    clock.advance(by: .nanoseconds(1))
    #expect(lookUp("k2", in: source) == "fetch first")
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
    // The name now means another key, and then the first again. Tokens verified in between must not stay
    // valid.
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
    try await eventually { provider.count == 3 }
  }

  @Test func `keys that grew too old while the machine was suspended are fetched again, and not used`()
    async throws
  {
    let provider = KeyProvider([.publishing(["k1": first]), Self.away])
    let source = source(provider)
    await source.fetch()
    clock.stepWallClock(by: 601)
    #expect(lookUp("k1", in: source) == "k1 of 1")
    try await eventually { provider.count == 2 && !source.status.isWell }
    clock.stepWallClock(by: 86_400)
    #expect(lookUp("k1", in: source) == "fetch first")
    #expect(source.status.keys == 0)
  }

  @Test func `while a fetch fails, a key that the set in use lacks is not called unknown`() async {
    let source = source(KeyProvider([.publishing(["k1": first]), Self.away]))
    await source.fetch()
    #expect(lookUp("k2", in: source, fetched: true) == "unknown")
    await source.fetch()
    for fetched in [true, false] {
      #expect(lookUp("k1", in: source, fetched: fetched) == "k1 of 1")
      #expect(lookUp("k2", in: source, fetched: fetched) == "unavailable for 20 s")
    }
  }

  @Test func `a token that names none of several keys causes no fetch`() async {
    let source = source(KeyProvider([.publishing(["k1": first, "k2": second])]))
    #expect(lookUp(nil, in: source) == "fetch first")
    await source.fetch()
    #expect(lookUp(nil, in: source) == "unknown")
    #expect(lookUp("k3", in: source) == "fetch first")
  }

  @Test func `an issuer that comes back after failures is reported once`() async {
    let recoveries = Mutex(0)
    let provider = KeyProvider([
      .publishing(["k1": first]), Self.away, Self.away, .publishing(["k1": first]),
      .publishing(["k1": second]),
    ])
    let source = KeySource(url: "https://id.example/jwks", transport: provider, time: clock) { event in
      if case .recovered = event { recoveries.withLock { $0 += 1 } }
    }
    for expected in [0, 0, 0, 1, 1] {
      await source.fetch()
      #expect(recoveries.withLock { $0 } == expected)
    }
  }

  @Test func `a set that grew too old serves again when the issuer publishes the same one`() async {
    let source = source(KeyProvider([.publishing(["k1": first]), Self.away, .publishing(["k1": first])]))
    await source.fetch()
    await source.fetch()
    clock.advance(by: KeySource.longestAge)
    #expect(lookUp("k1", in: source) == "fetch first")
    await source.fetch()
    #expect(lookUp("k1", in: source) == "k1 of 3")
  }

  @Test(arguments: [(KeySource.Terms.issuer, 86_400), (.appCheck, 21_600)])
  func
    `however long a reply may be kept, keys are fetched again after a day, and App Check's after six hours`(
      terms: KeySource.Terms, seconds: Int
    ) async throws
  {
    let provider = KeyProvider([.publishing(["k1": first], ["Cache-Control": "max-age=999999"])])
    let source = KeySource(
      url: "https://id.example/jwks", terms: terms, transport: provider, time: clock
    ) { _ in }
    await source.fetch()
    clock.advance(by: .seconds(seconds) - .nanoseconds(1))
    source.renewIfDue()
    await settle()
    #expect(provider.count == 1)
    clock.advance(by: .nanoseconds(1))
    source.renewIfDue()
    try await eventually { provider.count == 2 }
  }

  private static let away = KeyProvider.Reply.failure(
    TransportError(.connect, sent: false, detail: "refused"))
  private static let empty = KeyProvider.Reply.publishing([:])

  private static func saying(_ content: String, status: Int = 200) -> KeyProvider.Reply {
    .success(InboundResponse(status: status, fields: [:], content: Array(content.utf8)))
  }

  @Test(arguments: [empty, saying(#"{"keys":[{"kty":"EC","kid":"k1"},{"kty":"AKP","kid":"k1"}]}"#)])
  func `a set without a usable key withdraws all keys, and those that come after it serve`(
    reply: KeyProvider.Reply
  ) async {
    let source = source(KeyProvider([.publishing(["k1": first]), reply, .publishing(["k1": first])]))
    await source.fetch()
    #expect(lookUp("k1", in: source) == "k1 of 1")
    await source.fetch()
    #expect(lookUp("k1", in: source) == "fetch first")
    #expect(source.generation == 2 && source.status.keys == 0 && !source.status.isWell)
    await source.fetchForUnknownKey()
    #expect(lookUp("k1", in: source) == "k1 of 3")
  }

  @Test(arguments: [
    away, compressed("gzip"), saying("{}"), saying(#"{"keys":{}}"#), saying("", status: 500),
    saying("no JSON"),
  ])
  func `where the issuer gives no set its last one serves for a day, and no longer`(reply: KeyProvider.Reply)
    async throws
  {
    let provider = KeyProvider([.publishing(["k1": first]), reply])
    let source = source(provider)
    await source.fetch()
    await source.fetch()
    #expect(!source.status.isWell && source.status.keys == 1)
    clock.advance(by: KeySource.longestAge - .nanoseconds(1))
    #expect(lookUp("k1", in: source) == "k1 of 1")
    try await eventually { provider.count == 3 }
    try await eventually { lookUp("other", in: source) != "fetch first" }
    clock.advance(by: .nanoseconds(1))
    #expect(lookUp("k1", in: source) == "unavailable for 19 s")
    #expect(source.generation == 2, "what was verified before is verified anew")
  }

  private static func compressed(_ coding: String) -> KeyProvider.Reply {
    .success(InboundResponse(status: 200, fields: ["Content-Encoding": coding], content: [0x1F, 0x8B, 8]))
  }

  @Test(arguments: ["gzip", "br", "identity, deflate"])
  func `a set that comes compressed fails with the name of its coding`(coding: String) async throws {
    let source = source(KeyProvider([Self.compressed(coding)]))
    await source.fetch()
    let failure = try #require(source.status.failure).description
    #expect(failure.contains("Content-Encoding: \(coding.split(separator: " ").last ?? "")"))
  }

  @Test func `an issuer that comes back is heard within 40 s, whether tokens come or not`() async throws {
    let provider = KeyProvider([Self.away, Self.away, .publishing(["k1": first])])
    let source = source(provider)
    await source.fetch()
    #expect(lookUp("k1", in: source) == "unavailable for 20 s")
    for second in 1...40 {
      clock.advance(by: .seconds(1))
      source.renewIfDue()
      await settle()
      if second < 40 { #expect(provider.count == 1 + second / 20) }
    }
    try await eventually { source.status.isWell }
    #expect(lookUp("k1", in: source) == "k1 of 1")
  }

  @Test func `a set is renewed when it is due, whether tokens come or not`() async throws {
    let provider = KeyProvider([.publishing(["k1": first], ["Cache-Control": "max-age=60"]), Self.empty])
    let source = source(provider)
    await source.fetch()
    clock.advance(by: .seconds(60) - .nanoseconds(1))
    source.renewIfDue()
    await settle()
    #expect(provider.count == 1)
    clock.advance(by: .nanoseconds(1))
    source.renewIfDue()
    try await eventually { source.status.keys == 0 }
  }

  @Test func `the query of its URL, which may be a key, is in no name and no reason`() async {
    let source = KeySource(
      url: "https://id.example/jwks?api_key=canary-query", transport: KeyProvider([Self.away]), time: clock
    ) { event in
      #expect(!"\(event)".contains("canary"))
    }
    await source.fetch()
    #expect(source.name == "https://id.example/jwks")
  }

  @Test(arguments: [
    ("max-age=3600", 3600), ("public, Max-Age=120", 120), ("max-age=1", 60), ("max-age=99999999", 86_400),
    ("no-store", 60), ("private\u{600}, max-age=120", 120),
    ("max-age=x", 600), ("", 600),
  ])
  func `Cache-Control says how long keys are fresh, within bounds`(value: String, seconds: Int) {
    #expect(KeySource.life(["Cache-Control": value]) == .seconds(seconds))
  }
}

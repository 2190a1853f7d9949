// Tests of the keys of AI agents, which every store must pass.

import Gate
import StoreSupport
import TestSupport
import Testing

@testable import Store

@Suite struct AgentConversationContractTests {
  private static let conversation = StoreID(high: 7, low: 9)

  private static func made(at now: Instant) -> CallbackIntent {
    var intent = CallbackIntent.made("+14155550170", key: "\u{0}same", window: .zero, at: now)
    intent.conversation = AgentConversation(id: conversation, repeats: .seconds(900))
    return intent
  }

  @Test(arguments: StoreKind.available)
  func `a running request is answered by its own record, with the conversation`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let now = Instant.noon()
    let first = Self.made(at: now)
    #expect(try await store.begin(first, at: now) == .begun)
    guard case .replay(let record) = try await store.begin(Self.made(at: now), at: now.later(1)) else {
      Issue.record("the repetition was not answered by the record")
      return
    }
    #expect(record.id == first.id && record.status == .pending)
    #expect(record.conversation == Self.conversation)
    // The record answers even after its span, while the phone may still ring.
    #expect(try await store.standing(of: Self.made(at: now), at: now.later(1000)).key == .replay(record))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an accepted or unknown callback is answered until its span ends, and a failed one never`(
    _ kind: StoreKind
  )
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for (place, outcome) in [CallbackSettlement.Outcome.accepted, .unknown, .failed].enumerated() {
      let now = Instant.noon(Double(place) * 10_000)
      let intent = Self.made(at: now)
      #expect(try await store.begin(intent, at: now) == .begun)
      let settled = try #require(
        try await store.settle(
          intent.id,
          CallbackSettlement(outcome, keepsKey: true, keyRetention: .seconds(900), at: now.later(1))))
      let next = Self.made(at: now)
      let expected: KeyStanding = outcome == .failed ? .free : .replay(settled)
      #expect(try await store.standing(of: next, at: now.later(899)).key == expected)
      #expect(try await store.standing(of: next, at: now.later(900)).key == .free)
      #expect(try await store.begin(next, at: now.later(900)) == .begun)
      _ = try await store.settle(
        next.id, CallbackSettlement(.failed, keepsKey: false, at: now.later(901)))
    }
    await store.close()
  }
}

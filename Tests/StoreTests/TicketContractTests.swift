// Tests of the records of tickets that every store must pass.

import Gate
import Store
import Testing

@Suite struct TicketContractTests {
  private func intent(
    _ content: UInt8 = 1, subject: String = "ann", key: String? = nil, at now: Instant = .noon()
  ) -> CallbackIntent {
    CallbackIntent(
      id: CallbackID(at: now), callerID: "users", subject: subject, appID: "chat",
      matter: .ticket(Array(repeating: content, count: 32)),
      key: key.map { CallbackIntent.Key(text: $0, fingerprint: [content]) },
      terms: .init(dedupeWindow: .seconds(60), keyRetention: .seconds(3600), retention: .seconds(86_400)),
      deadline: now.later(20))
  }

  private static let opened = StoredTicket.Opened(
    id: "4711", channelURL: #"a "channel" {1,2}"#, isMessageSent: true)

  @Test(arguments: StoreKind.available)
  func `a ticket keeps what the desk made of it, also for a repetition`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = intent(key: "k")
    #expect(try await store.begin(first, at: .noon()) == .begun)
    let begun = try #require(try await store.callback(first.id, of: "users"))
    #expect(begun.ticket == StoredTicket())
    #expect(begun.contact.isEmpty)
    #expect(try await store.standing(of: first, at: .noon()).key == .inProgress(first.id))
    try await store.settle(
      first.id,
      CallbackSettlement(.accepted, keepsKey: true, ticket: StoredTicket(Self.opened), at: .noon(1)))
    #expect(try await store.callback(first.id, of: "users")?.ticket?.opened == Self.opened)
    guard case .replay(let record) = try await store.begin(intent(key: "k"), at: .noon(2)) else {
      Issue.record("no repetition")
      return
    }
    #expect(record.id == first.id)
    #expect(record.ticket?.opened == Self.opened)
    #expect(try await store.begin(intent(2, key: "k"), at: .noon(2)) == .mismatch)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the same content of the same user is a duplicate, and a callback is none`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = intent()
    #expect(try await store.begin(first, at: .noon()) == .begun)
    #expect(try await store.begin(intent(), at: .noon(1)) == .duplicate(first.id))
    #expect(try await store.begin(intent(2), at: .noon(1)) == .begun)
    #expect(try await store.begin(intent(subject: "bob"), at: .noon(1)) == .begun)
    let callback = CallbackIntent.made(caller: "users", subject: "ann")
    #expect(try await store.begin(callback, at: .noon(1)) == .begun)
    #expect(try await store.callback(callback.id, of: "users")?.ticket == nil)
    #expect(try await store.begin(intent(), at: .noon(61)) == .begun)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a ticket that certainly was not opened frees its place, and one without an outcome does not`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = intent()
    #expect(try await store.begin(first, at: .noon()) == .begun)
    try await store.settle(first.id, .failed())
    #expect(try await store.callback(first.id, of: "users")?.ticket == StoredTicket())
    let second = intent(at: .noon(2))
    #expect(try await store.begin(second, at: .noon(2)) == .begun)
    #expect(try await store.recoverCallbacks(at: .noon(40)).tickets == 1)
    let lost = try #require(try await store.callback(second.id, of: "users"))
    #expect(lost.status == .unknown)
    #expect(lost.ticket == StoredTicket())
    #expect(try await store.begin(intent(at: .noon(41)), at: .noon(41)) == .duplicate(second.id))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `recovery tells tickets from callbacks`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for request in [intent(1), intent(2), .made("+14155550101", deadline: 20)] {
      #expect(try await store.begin(request, at: .noon()) == .begun)
    }
    let recovered = try await store.recoverCallbacks(at: .noon(60))
    #expect(recovered == RecoveredRecords(callbacks: 1, tickets: 2))
    #expect(try await store.recoverCallbacks(at: .noon(61)).isEmpty)
    await store.close()
  }

  @Test func `what no release wrote is a ticket without an id`() {
    for text in ["", "null", "[]", "{}", #"{"id":1}"#, #"{"id":"1"}"#] {
      #expect(StoredTicket(stored: text) == StoredTicket())
    }
    #expect(StoredTicket(stored: StoredTicket(Self.opened).stored).opened == Self.opened)
  }
}

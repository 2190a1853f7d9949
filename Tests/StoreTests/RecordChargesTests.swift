// Tests that a record takes its allowances in the transaction that saves it, and gives them back in the one that removes it.

import Gate
import JOSE
import StoreSupport
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(5))) struct RecordChargesTests {
  private static let limit: Int64 = 3

  private func policy() throws -> Allowances {
    try Allowances([
      try Allowances.quota("daily", limit: Self.limit, key: .global),
      try Allowances.rate("rate", limit: 30, per: 3600, key: .global),
    ])
  }

  /// Charges of a record, decided as if nothing were used, so that only the store refuses.
  private func charges(_ allowances: Allowances) throws -> RecordCharges {
    let decision = allowances.policy.decide(allowances.facts(at: .noon()), states: PresumedStates())
    guard case .granted(_, let grant) = decision.settledWithRecord(at: .noon()) else {
      throw Unexpected()
    }
    guard let charges = grant.charges else { throw Unexpected() }
    return charges
  }

  private func intent(_ allowances: Allowances, _ number: Int, key: String? = nil) throws -> CallbackIntent {
    var intent = CallbackIntent.made("+1415555\(1000 + number)", key: key)
    intent.charges = try charges(allowances)
    return intent
  }

  private struct Unexpected: Error {}

  /// How much of the day's quota and of the rate is in use.
  private func used(_ store: any Store, _ allowances: Allowances) async throws -> [Int64] {
    let charges = allowances.charges(at: .noon())
    let states = try await store.states(of: charges.map(\.key))
    return [states[0]?.count ?? 0, 30 - charges[1].plan.count(of: states[1], at: .noon()).remaining]
  }

  @Test(arguments: StoreKind.available)
  func `a record is there with its counts, or neither is`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try policy()
    var last: CallbackIntent?
    for number in 0..<3 {
      let intent = try intent(allowances, number, key: "\(number)")
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      #expect(intent.charges?.receipts.count == 2 && intent.charges?.refusal == nil)
      #expect(
        intent.charges?.statuses.map(\.count.remaining) == [
          Self.limit - 1 - Int64(number), 29 - Int64(number),
        ])
      last = intent
    }
    let late = try intent(allowances, 7)
    #expect(try await store.begin(late, at: .noon(1)) == .exhausted)
    #expect(late.charges?.refusal?.denial.rule == "daily" && late.charges?.receipts.isEmpty == true)
    #expect(late.charges?.refusal?.denial.retryAfter == 43_199)
    #expect(try await store.callback(late.id, of: "ios-app") == nil)
    // A duplicate and a repeated key are found first, and take nothing.
    let first = try #require(last)
    #expect(try await store.begin(try intent(allowances, 2), at: .noon(1)) == .duplicate(first.id))
    #expect(try await store.begin(try intent(allowances, 9, key: "2"), at: .noon(1)) == .inProgress(first.id))
    #expect(try await used(store, allowances) == [3, 3])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a withdrawal and a failure give back once, and other outcomes nothing`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try policy()
    let intents = try (0..<3).map { try intent(allowances, $0) }
    for intent in intents { #expect(try await store.begin(intent, at: .noon()) == .begun) }
    func receipts(_ number: Int) -> [AllowanceReceipt] { intents[number].charges?.receipts ?? [] }
    for _ in 0..<2 { try await store.withdraw(intents[0].id, returning: receipts(0), at: .noon()) }
    #expect(try await used(store, allowances) == [2, 2])
    var failure = CallbackSettlement.failed(at: .noon())
    failure.returned = receipts(1).map(\.kept)
    for _ in 0..<2 { #expect(try await store.settle(intents[1].id, failure)?.status == .failed) }
    #expect(try await used(store, allowances) == [1, 1])
    try await store.settle(intents[2].id, .accepted(at: .noon()))
    // A settled callback cannot be withdrawn, so nothing is given back.
    try await store.withdraw(intents[2].id, returning: receipts(2), at: .noon())
    #expect(try await store.settle(intents[2].id, failure)?.status == .accepted)
    #expect(try await used(store, allowances) == [1, 1])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of many records at once exactly as many begin as there are counts, by two instances`(
    _ kind: StoreKind
  )
    async throws
  {
    let (fixture, first) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let second = fixture.open()
    let allowances = try Allowances([try Allowances.quota("daily", limit: 24, key: .global)])
    let intents = try (0..<48).map { try intent(allowances, $0) }
    let begun = try await withThrowingTaskGroup(of: Bool.self) { group in
      for (number, intent) in intents.enumerated() {
        group.addTask { try await (number % 2 == 0 ? first : second).begin(intent, at: .noon()) == .begun }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(begun == 24)
    #expect(intents.count { $0.charges?.refusal != nil } == 24)
    await first.close()
    await second.close()
  }

  @Test(arguments: StoreKind.available)
  func `a booking seals what it takes, and takes nothing where it is not booked`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try policy()
    func booking(_ number: Int, seals: Bool = true, perSlot: Int = 9) throws -> Booking {
      var booking = Booking(
        intent: try intent(allowances, number), at: .noon(60), slot: Instant.noon(60).seconds, content: [],
        limits: .init(perSlot: perSlot, perNumber: 9))
      booking.seal = { receipts in seals ? [UInt8(receipts.count)] : nil }
      return booking
    }
    #expect(try await store.book(try booking(0, seals: false), at: .noon()) == .unsealed)
    #expect(try await used(store, allowances) == [0, 0])
    let first = try booking(0)
    #expect(try await store.book(first, at: .noon()) == .booked)
    #expect(try await store.scheduledAppointment(first.intent.id)?.content == [2])
    #expect(try await store.book(try booking(1, perSlot: 1), at: .noon()) == .full)
    for number in 1...2 { #expect(try await store.book(try booking(number), at: .noon()) == .booked) }
    #expect(try await store.book(try booking(3), at: .noon()) == .exhausted)
    #expect(try await used(store, allowances) == [3, 3])
    await store.close()
  }

  /// Three bookings of an installation, which use up the day.
  private func booked(
    _ store: any Store, _ allowances: Allowances
  ) async throws -> [(booking: Booking, receipts: [AllowanceReceipt])] {
    try await store.putInstallation(1, user: "ann")
    var booked: [(Booking, [AllowanceReceipt])] = []
    for number in 0..<3 {
      var intent = CallbackIntent.made(
        "+1415555\(1000 + number)", caller: "users", subject: "ann", app: "shop")
      intent.installation = .numbered(1)
      intent.charges = try charges(allowances)
      var booking = Booking(
        intent: intent, at: .noon(60), slot: Instant.noon(60).seconds, content: [],
        limits: .init(perSlot: 9, perNumber: 9))
      booking.seal = { _ in [UInt8(number)] }
      #expect(try await store.book(booking, at: .noon()) == .booked)
      booked.append((booking, intent.charges?.receipts ?? []))
    }
    #expect(try await used(store, allowances) == [3, 3])
    return booked
  }

  @Test(arguments: StoreKind.available)
  func `what ends an appointment gives its allowances back, once`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try policy()
    let booked = try await booked(store, allowances)
    let endings: [AppointmentEnding] = [
      .cancelled, .expired(due: .noon(60)), .failed("closed", due: .noon(60)),
    ]
    for (number, ending) in endings.enumerated() {
      let (booking, receipts) = booked[number]
      // An ending for another time ends nothing and gives nothing back.
      let stale = AppointmentEnding.expired(due: .noon(1))
      _ = try await store.end(booking.id, stale, returning: receipts, at: .noon())
      for _ in 0..<2 { _ = try await store.end(booking.id, ending, returning: receipts, at: .noon()) }
      #expect(try await used(store, allowances) == [Int64(2 - number), Int64(2 - number)], "\(ending)")
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a revocation gives back what its appointments took, and a replacement by the same owner nothing`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try policy()
    let booked = try await booked(store, allowances)
    @Sendable func read(_ id: CallbackID, _ content: [UInt8]) -> [KeptReceipt]? {
      // The content of the last booking cannot be opened.
      content == [2] ? nil : booked.first { $0.booking.id == id }?.receipts.map(\.kept)
    }
    func change(generation: Int64, revokedAt: Instant? = nil) async throws -> [EndedAppointment] {
      let before = try #require(try await store.installation(.numbered(1)))
      let next = Installation(
        client: before.client, appID: before.appID, user: before.user, address: before.address,
        secret: SHA256Digest(of: [UInt8(generation)]), generation: generation, createdAt: .noon(),
        usedAt: .noon(), revokedAt: revokedAt)
      return try await store.change(
        InstallationScope(.numbered(1)), at: .noon(), receipts: read, onOutcome: { _ in },
        { _ in (InstallationChange(installation: next), ()) }
      ).ended
    }
    #expect(try await change(generation: 2).isEmpty)
    #expect(try await used(store, allowances) == [3, 3])
    let ended = try await change(generation: 2, revokedAt: .noon())
    #expect(ended.map { $0.returned?.count ?? 0 }.sorted() == [0, 2, 2])
    #expect(try await used(store, allowances) == [1, 1])
    #expect(try await change(generation: 2, revokedAt: .noon()).isEmpty)
    #expect(try await used(store, allowances) == [1, 1])
    await store.close()
  }
}

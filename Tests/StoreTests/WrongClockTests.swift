// Tests of what an instance with a wrong clock may do, and of the time that it uses.

import Gate
import Platform
import StoreSupport
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(5))) struct WrongClockTests {
  private let clock = ManualTime()

  private func health(ahead: Duration?) -> StoreHealth {
    let health = StoreHealth(clock: clock, hasClock: true)
    if let ahead { health.compared(clockAhead: ahead) }
    return health
  }

  /// Whether a call is refused because of the clock.
  private func isRefused(_ body: () async throws -> Void) async -> Bool {
    do {
      try await body()
      return false
    } catch {
      return (error as? StoreError)?.operation == "clock"
    }
  }

  @Test(arguments: [
    (nil, false), (0, false), (10_000, false), (-10_000, false), (10_001, true), (-10_001, true),
  ])
  func `a clock is known to be wrong if it was measured to differ by more than 10 s`(
    milliseconds: Int?, isWrong: Bool
  ) async {
    let health = health(ahead: milliseconds.map { .milliseconds($0) })
    #expect(await isRefused { try health.checkClock() } == isWrong)
  }

  @Test func `a clock that has jumped is wrong until it was measured again`() async {
    let health = health(ahead: .zero)
    clock.stepWallClock(by: 3600)
    #expect(await isRefused { try health.checkClock() })
    #expect(health.hasJumped)
    health.compared(clockAhead: .zero)
    #expect(await !isRefused { try health.checkClock() })
    #expect(!health.hasJumped)
  }

  @Test func `a difference that the network explains makes nothing happen before its time`() {
    for ahead: Duration in [.milliseconds(-50), .milliseconds(50), .seconds(-2), .seconds(2)] {
      #expect(StoreClock(clock, health(ahead: ahead)).unixTime == clock.unixTime)
    }
    #expect(StoreClock(clock, health(ahead: .milliseconds(-2001))).unixTime != clock.unixTime)
  }

  @Test func `times of rows are the database's`() {
    let health = health(ahead: .seconds(600))
    let time = StoreClock(clock, health)
    let right = Instant(clock.unixTime).advanced(by: .seconds(-600))
    #expect(Instant(time.unixTime) == right && Instant(time.credentialTime) == right)
    // A jump of the clock does not change the time of rows. Credentials are checked by the machine's clock
    // until the clocks are compared again, because it may be right now.
    clock.stepWallClock(by: 3600)
    #expect(Instant(time.unixTime) == right)
    #expect(Instant(time.credentialTime) == right.advanced(by: .seconds(4200)))
    health.compared(clockAhead: .zero)
    #expect(time.unixTime == clock.unixTime && time.credentialTime == clock.unixTime)
    // Before the first comparison, and if the database has no clock, the machine's clock counts.
    #expect(StoreClock(clock, StoreHealth(clock: clock, hasClock: true)).unixTime == clock.unixTime)
    #expect(StoreClock(clock, StoreHealth(clock: clock)).unixTime == clock.unixTime)
  }

  @Test func `a job's time is that of its turn, if it was read from the machine's clock or the database's`() {
    let health = health(ahead: .seconds(600))
    let now = Instant(clock.unixTime)
    let database = now.advanced(by: .seconds(-600))
    for read in [now, database] {
      for wait: Int64 in [-10, 0, 10] {
        #expect(health.turn().time(of: read.advanced(by: .seconds(wait))) == database)
      }
      #expect(health.turn(database: .noon()).time(of: now) == .noon())
    }
    // Times of a sandbox's clock, or of an earlier event.
    for other in [now.advanced(by: .seconds(11)), database.advanced(by: .milliseconds(-10_001)), .noon()] {
      #expect(health.turn().time(of: other) == other)
    }
  }

  @Test(arguments: StoreKind.available)
  func `a callback's record has the time that its response shows, however long it waited for its turn`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let asked = Instant(SystemClock().unixTime).advanced(by: .seconds(-3))
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: asked) == .begun)
    #expect(try await store.callback(intent.id, of: intent.callerID)?.createdAt == asked)
  }

  @Test(arguments: StoreKind.available)
  func `an instance with a wrong clock takes nothing that others count or that is good once`(
    _ kind: StoreKind
  )
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let (booking, claim) = (Booking.made(at: .noon()), StoredClaim.numbered(1))
    let charges = try Allowances([try Allowances.quota(limit: 3)]).charges(at: .noon())
    let ledger = AllowanceLedger(store: store)
    #expect(try await store.book(booking, at: .noon()) == .booked)
    _ = try await store.openClaim(claim, most: 8)
    let receipts = try #require(await ledger.take(charges, at: .noon()).outcome.receipts)

    store.health.compared(clockAhead: .seconds(600))
    guard case .unavailable = await ledger.take(charges, at: .noon()).outcome else {
      return #expect(Bool(false), "an allowance was counted by a wrong clock")
    }
    let id = InstallationID.numbered(1)
    #expect(await isRefused { _ = try await store.begin(.made(), at: .noon()) })
    #expect(await isRefused { _ = try await store.book(.made("+14155550167", at: .noon()), at: .noon()) })
    #expect(await isRefused { _ = try await store.move(booking, at: .noon()) })
    let answer = Rescheduling(
      id: booking.intent.id, serial: 1, from: booking.at, at: .noon(3900), confirmAt: nil,
      deadline: .noon(4100), mostSnoozes: nil)
    #expect(await isRefused { _ = try await store.reschedule(answer, at: .noon()) })
    #expect(await isRefused { _ = try await store.openClaim(.numbered(2), most: 8) })
    #expect(
      await isRefused { _ = try await store.redeemClaim(claim.id, by: claim.installation, at: .noon()) })
    #expect(
      await isRefused {
        _ = try await store.change(InstallationScope(id), at: .noon()) { _ in (InstallationChange(), ()) }
      })
    // Records that other instances began can be read, given back and ended.
    #expect(try await store.callbacks(CallbackQuery(status: .scheduled, limit: 9)).count == 1)
    #expect(try await store.claim(claim.id) == .live(claim))
    _ = try await store.change(InstallationScope(id, takes: false), at: .noon()) { _ in
      (InstallationChange(), ())
    }
    try await store.stop(Stop(.all, .access, since: 0, until: nil, reason: nil))
    #expect(try await store.withdrawClaim(claim.id))
    await ledger.giveBack(receipts, at: .noon())
    let state = try await store.states(of: [charges[0].key])[0]
    #expect(charges[0].plan.count(of: state, at: .noon()).remaining == 3)

    store.health.compared(clockAhead: .zero)
    #expect(await ledger.take(charges, at: .noon()).outcome.isTaken)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of two requests whose times are in another order than their turns both get a place`(_ kind: StoreKind)
    async throws
  {
    let (fixture, first) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let second = fixture.open()
    let allowances = try Allowances([
      try Allowances.rate("pair", limit: 1, per: 3600, burst: 2, key: .global)
    ])
    let now = Instant(SystemClock().unixTime)
    let charges = allowances.charges(at: now)
    let outcomes = [
      await AllowanceLedger(store: first).take(charges, at: now).outcome,
      // This time was read earlier, and the request waited.
      await AllowanceLedger(store: second).take(charges, at: now.advanced(by: .milliseconds(-500))).outcome,
      await AllowanceLedger(store: first).take(charges, at: now).outcome,
    ]
    #expect(outcomes.map(\.isTaken) == [true, true, false])
    for store in [first, second] { await store.close() }
  }
}

// Tests that every store must pass.

import Gate
import Store
import Testing

@Suite(.timeLimit(.minutes(5))) struct StoreContractTests {
  @Test(arguments: StoreKind.available)
  func `a rate is given out exactly`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try Allowances([.init(rate: 3, per: 60)])
    for _ in 0..<3 { #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken) }
    let refused = try await store.take(allowances.charges(at: .noon()), at: .noon(1))
    guard case .refused(let index, let states) = refused else { return #expect(Bool(false), "\(refused)") }
    #expect(index == 0)
    let plan = allowances.charges(at: .noon())[0].plan
    #expect(plan.take(from: states[0], at: .noon(1)) == .refused(retryAfter: 19))
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon(20)).isTaken)
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon(20)).isRefused)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of several charges all are taken or none`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try Allowances([
      .init(rate: 100, per: 60), try Allowances.quota(limit: 2, key: .subject),
    ])
    let now = Instant.noon()
    for _ in 0..<2 {
      #expect(try await store.take(allowances.charges(subject: "ann", at: now), at: now).isTaken)
    }
    for _ in 0..<5 {
      let outcome = try await store.take(allowances.charges(subject: "ann", at: now), at: now)
      guard case .refused(let index, _) = outcome else { return #expect(Bool(false), "\(outcome)") }
      #expect(index == 1)
    }
    // The refusals took nothing from the rate.
    let charge = allowances.charges(subject: "bob", at: now)[0]
    let state = try await store.states(of: [charge.key])[0]
    #expect(charge.plan.count(of: state, at: now).remaining == 98)
    #expect(try await store.take(allowances.charges(subject: "bob", at: now), at: now).isTaken)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an exhausted audit rule refuses nothing and keeps its state`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try Allowances([
      try Allowances.quota("seen", limit: 1, mode: .audit), .init(rate: 100, per: 60),
    ])
    let now = Instant.noon()
    let charges = allowances.charges(at: now)
    #expect(try await store.take(charges, at: now).receipts?.count == 2)
    #expect(try await store.take(charges, at: now).receipts?.map(\.key.rule) == ["rate"])
    let states = try await store.states(of: charges.map(\.key))
    #expect(states[0]?.count == 1)
    #expect(charges[1].plan.count(of: states[1], at: now).remaining == 98)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `what is given back can be taken again`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try Allowances([.init(rate: 2, per: 60), try Allowances.quota(limit: 2)])
    let now = Instant.noon()
    let charges = allowances.charges(at: now)
    let first = try #require(try await store.take(charges, at: now).receipts)
    #expect(try await store.take(charges, at: now).isTaken)
    #expect(try await store.take(charges, at: now).isRefused)
    try await store.giveBack(first, at: now)
    #expect(try await store.take(charges, at: now).isTaken)
    #expect(try await store.take(charges, at: now).isRefused)
    await store.close()
  }

  @Test(arguments: StoreKind.available, [false, true])
  func `what was used of a quota counts when its period or zone is changed, also after its old end`(
    _ kind: StoreKind, _ isZone: Bool
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let before = try Quota(limit: 1, period: .day, zone: Zone(named: "Pacific/Kiritimati"))
    let after =
      isZone
      ? try Quota(limit: 1, period: .day, zone: Zone(named: "Pacific/Pago_Pago"))
      : try Quota(limit: 1, period: .month, zone: before.zone)
    func charges(_ quota: Quota, _ now: Instant) throws -> [AllowanceCharge] {
      try Allowances([
        try Rule(name: "quota", kind: .quota(quota, key: .caller, onStoreFailure: .deny))
      ]).charges(at: now)
    }
    // 23:30 in Kiritimati, which is 14 hours ahead of UTC.
    let used = Instant.noon(-2.5 * 3600)
    #expect(try await store.take(try charges(before, used), at: used).isTaken)
    // A refusal writes nothing.
    #expect(try await store.take(try charges(after, used), at: used).isRefused)
    // Midnight has passed there, by more than the rounding of ends.
    let later = used.later(2 * 3600)
    try await store.purge(at: later)
    #expect(try await store.take(try charges(after, later), at: later).isRefused)
    let month = used.later(45 * 86_400)
    #expect(try await store.purge(at: month) == 1)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `parties and rules have counts of their own`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let now = Instant.noon()
    let one = try Allowances([try Allowances.quota("a", limit: 1)])
    let other = try Allowances([try Allowances.quota("b", limit: 1)])
    for allowances in [one, other] {
      for caller in ["x", "y", "caller:x", "é", "x'); DROP TABLE callgate_allowance; --", "{1,2}", ""] {
        let charges = allowances.charges(caller, at: now)
        #expect(try await store.take(charges, at: now).isTaken, "\(caller)")
        #expect(try await store.take(charges, at: now).isRefused, "\(caller)")
      }
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `eight tasks of a thousand never get more than there is`(_ kind: StoreKind) async throws {
    let (fixture, first) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let second = fixture.open()
    let allowances = try Allowances([
      try Allowances.quota("daily", limit: 2500), .init(rate: 5000, per: 3600),
    ])
    let now = Instant.noon()
    let charges = allowances.charges(at: now)
    let taken = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        // Two instances of the same store.
        let store = task % 2 == 0 ? first : second
        group.addTask {
          var taken = 0
          for _ in 0..<1000 where try await store.take(charges, at: now).isTaken { taken += 1 }
          return taken
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(taken == 2500)
    let states = try await first.states(of: charges.map(\.key))
    #expect(states[0]?.count == 2500)
    #expect(charges[1].plan.count(of: states[1], at: now).remaining == 2500)
    await first.close()
    await second.close()
  }

  @Test(arguments: StoreKind.available)
  func `only expired rows are deleted`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let short = try Allowances([.init(rate: 1, per: 10)])
    let long = try Allowances([try Allowances.quota(limit: 1)])
    for caller in 0..<50 {
      #expect(try await store.take(short.charges("\(caller)", at: .noon()), at: .noon()).isTaken)
    }
    #expect(try await store.take(long.charges(at: .noon()), at: .noon()).isTaken)
    #expect(try await store.purge(at: .noon(5)) == 0)
    #expect(try await store.purge(at: .noon(3600)) == 50)
    #expect(try await store.take(long.charges(at: .noon(3600)), at: .noon(3600)).isRefused)
    #expect(try await store.take(short.charges("7", at: .noon(3600)), at: .noon(3600)).isTaken)
    #expect(try await store.purge(at: .noon(3 * 86_400)) == 1)
    // A day's count is kept until its week and its month are over, in every zone.
    #expect(try await store.purge(at: .noon(11 * 86_400)) == 0)
    #expect(try await store.purge(at: .noon(13 * 86_400)) == 1)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an update is shown what is kept and keeps what it says`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let keys = (0..<3).map { AllowanceKey(rule: "r", party: .caller("\($0)")) }
    let extreme = AllowanceState(mark: .max, count: .min)
    try await store.update(keys, at: .noon()) { states, _ in
      #expect(states == [nil, nil, nil])
      return AllowanceUpdate(
        writes: [.put(extreme, expiry: .max), .keep, .put(.init(mark: -1, count: 0), expiry: 1)], result: ())
    }
    #expect(try await store.states(of: keys) == [extreme, nil, AllowanceState(mark: -1, count: 0)])
    let seen = try await store.update([keys[2], keys[0]], at: .noon()) { states, _ in
      AllowanceUpdate(writes: [.remove, .keep], result: states)
    }
    #expect(seen == [AllowanceState(mark: -1, count: 0), extreme])
    #expect(try await store.states(of: keys) == [extreme, nil, nil])
    // An update without writes writes nothing.
    try await store.update(keys, at: .noon()) { _, _ in AllowanceUpdate(writes: [], result: ()) }
    #expect(try await store.states(of: []) == [])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `stops are kept until exactly they are ended`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.stops().isEmpty)
    try await store.stop(Stop(.all, .all, since: 1))
    try await store.stop(Stop(.caller("it's"), .access, since: 2))
    try await store.stop(Stop(.app("shop"), .callback, since: 3))
    // A second stop keeps the first one's time.
    try await store.stop(Stop(.all, .access, since: 9))
    let other = fixture.open()
    #expect(
      try await other.stops().list == [
        Stop(.all, .all, since: 1), Stop(.app("shop"), .callback, since: 3),
        Stop(.caller("it's"), .access, since: 2),
      ])
    try await store.resume(.all, .access)
    try await store.resume(.app("shop"), .access)
    try await store.resume(.caller("it's"), .all)
    #expect(
      try await other.stops().list
        == Stop(.all, .all, since: 1).afterResuming(.access) + [Stop(.app("shop"), .callback, since: 3)])
    await store.close()
    await other.close()
  }

  @Test(arguments: StoreKind.available)
  func `a stop has the operator who asked for it last`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let (ann, bob) = (Operator.Identity("Ann \"B.\"", by: .token), Operator.Identity("bob", by: .jwt))
    try await store.stop(Stop(.all, .all, since: 1, until: 100, by: ann))
    let other = fixture.open()
    #expect(try await other.stops().list == [Stop(.all, .all, since: 1, until: 100, by: ann)])
    // A stop by a release that stores no operators does not remove the stored operator.
    try await store.stop(Stop(.all, .all, since: 2, until: 90))
    #expect(try await other.stops().list.map(\.by) == [ann])
    try await store.stop(Stop(.all, .all, since: 3, until: 90, by: bob))
    #expect(try await other.stops().list == [Stop(.all, .all, since: 1, until: 100, by: bob)])
    // The first has ended, so nothing of it is left.
    try await store.stop(Stop(.all, .all, since: 200))
    #expect(try await other.stops().list == [Stop(.all, .all, since: 200)])
    await store.close()
    await other.close()
  }

  @Test(arguments: StoreKind.available)
  func `stops have a reason and an end, and are forgotten after it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let text = #"it's 9 o'clock; "é" {1,2} \ 🦊"#
    try await store.stop(Stop(.all, .all, since: 100, until: 200, reason: text))
    try await store.stop(Stop(.app("shop"), .access, since: 100, until: 300))
    try await store.stop(Stop(.caller("x"), .access, since: 100))
    let other = fixture.open()
    #expect(
      try await other.stops().list == [
        Stop(.all, .all, since: 100, until: 200, reason: text),
        Stop(.app("shop"), .access, since: 100, until: 300), Stop(.caller("x"), .access, since: 100),
      ])
    // A second stop never shortens the first, and keeps its reason unless it has its own.
    try await other.stop(Stop(.all, .access, since: 110, until: 150))
    try await other.stop(Stop(.all, .callback, since: 110, until: 250, reason: "later"))
    try await other.stop(Stop(.app("shop"), .access, since: 110, reason: "for good"))
    try await other.stop(Stop(.caller("x"), .access, since: 110, until: 400))
    #expect(
      try await store.stops().list == [
        Stop(.all, .access, since: 100, until: 200, reason: text),
        Stop(.all, .callback, since: 100, until: 250, reason: "later"),
        Stop(.all, .one(.enrol), since: 100, until: 200, reason: text),
        Stop(.all, .one(.ticket), since: 100, until: 200, reason: text),
        Stop(.app("shop"), .access, since: 100, reason: "for good"),
        Stop(.caller("x"), .access, since: 100),
      ])
    // After a stop has ended, the next one is new.
    try await store.stop(Stop(.all, .access, since: 200, until: 220))
    #expect(try await other.stops().list.first == Stop(.all, .access, since: 200, until: 220))
    // Instances whose clocks are behind still see it for a minute.
    try await store.purge(at: Instant(seconds: 259))
    #expect(try await store.stops().list.count == 6)
    try await store.purge(at: Instant(seconds: 279))
    #expect(try await store.stops().list.count == 4)
    try await store.purge(at: Instant(seconds: 280))
    #expect(try await store.stops().list.count == 3)
    try await store.purge(at: Instant(seconds: 100_000))
    #expect(try await other.stops().list.map(\.target) == [.app("shop"), .caller("x")])
    await store.close()
    await other.close()
  }

  @Test(arguments: StoreKind.available)
  func `migrating again changes nothing`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try Allowances([try Allowances.quota(limit: 1)])
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    #expect(try await store.inspect() == StoreSchema.latest)
    try await store.migrate()
    try await store.ping()
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isRefused)
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `a look at a store in use changes nothing of it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try Allowances([try Allowances.quota(limit: 2)])
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    let stop = Stop(.caller("callgate doctor"), .access, since: 5)
    try await store.stop(stop)
    let beside = fixture.open()
    #expect(try await beside.inspect() == StoreSchema.latest)
    await beside.close()
    #expect(try await store.stops().list == [stop])
    #expect(try await store.states(of: allowances.charges(at: .noon()).map(\.key))[0]?.count == 1)
    try await store.ping()
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `a store that was closed fails, and one opened again knows everything`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let allowances = try Allowances([try Allowances.quota(limit: 1)])
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    try await store.stop(Stop(.all, .access, since: 5))
    await store.close()
    await #expect(throws: StoreError.self) { try await store.ping() }
    let again = fixture.open()
    #expect(try await again.take(allowances.charges(at: .noon()), at: .noon()).isRefused)
    #expect(try await again.stops().list == [Stop(.all, .access, since: 5)])
    await again.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `a store without its schema says so`(_ kind: StoreKind) async throws {
    let fixture = try StoreFixture(kind)
    defer { fixture.end() }
    let store = fixture.open()
    let error = await #expect(throws: StoreError.self) { try await store.ping() }
    #expect(error?.kind == .incompatible)
    #expect(error?.message.contains("callgate migrate") == true)
    try await store.migrate()
    try await store.ping()
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `many may migrate at the same time`(_ kind: StoreKind) async throws {
    let fixture = try StoreFixture(kind)
    defer { fixture.end() }
    let stores = (0..<4).map { _ in fixture.open() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for store in stores { group.addTask { try await store.migrate() } }
      try await group.waitForAll()
    }
    // All instances hash names with the same key, so they see each other's states.
    let allowances = try Allowances([try Allowances.quota(limit: 1)])
    #expect(try await stores[0].take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    for store in stores {
      #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isRefused)
      await store.close()
    }
  }
}

extension Rule {
  /// A rate by caller.
  init(rate limit: Int64, per seconds: Double) {
    do {
      self = try Allowances.rate(limit: limit, per: seconds)
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

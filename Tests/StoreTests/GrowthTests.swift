// Tests that a store with many rows answers as fast as one with few, and counts them all.

import Foundation
import Gate
import JOSE
import Sealing
import TestSupport
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

@Suite struct GrowthTests {
  private static func filled(_ kind: StoreKind, _ rows: ManyRows) async throws -> (StoreFixture, any Store) {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    if kind == .sqlite { try rows.fill(fixture.path) }
    if kind == .postgres { try rows.fill(PostgresPlanTests.connect(fixture.databaseName)) }
    return (fixture, store)
  }

  @Test(arguments: StoreKind.lasting)
  func `counts in portions are exact, also where many appointments are due together`(_ kind: StoreKind)
    async throws
  {
    let rows = ManyRows(count: 12_000, together: 9000, revoked: 10)
    let (fixture, store) = try await Self.filled(kind, rows)
    defer { fixture.end() }
    let counts = try await store.appointmentCounts(dueBefore: ManyRows.firstDue.advanced(by: .seconds(1)))
    // The portion of 10,000 ends among the 3,001 that are due one second later.
    #expect(counts == AppointmentCounts(scheduled: 12_000, pending: 0, overdue: 8999))
    let installations = try await store.installationCounts(at: .noon())
    #expect(installations[.active] == 10_800 && installations[.revoked] == 1200)
    await store.close()
  }

  @Test(arguments: [(0, 10), (99_999, 10), (100_000, 20), (1_000_000, 110)])
  func `a hundred thousand rows more are counted ten seconds later`(rows: Int, seconds: Int) {
    #expect(RowCounts.pause(after: rows) == .seconds(seconds))
  }

  @Test func `claims, numbers and verdicts that wait are committed with one flush, callbacks among them`()
    async throws
  {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    _ = try await store.openClaim(.numbered(99), most: 99)
    disk.hold()
    let before = disk.begun
    async let first = store.openClaim(.numbered(0), most: 99)
    try await eventually { disk.begun == before + 1 }
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 1...8 {
        group.addTask { try await store.openClaim(.numbered(number), most: 99).isEmpty }
      }
      group.addTask {
        try await store.redeemClaim(StoredClaim.numbered(99).id, by: .numbered(1), at: .noon())
      }
      group.addTask { try await !store.withdrawClaim(StoredClaim.numbered(77).id) }
      group.addTask { try await store.begin(.made(), at: .noon()) == .begun }
      group.addTask {
        let number = ProvenNumber(id: StoreID(high: 1, low: 1), owner: StoreID(high: 9, low: 1))
        try await store.remember(number, at: .noon(), until: .noon(9))
        return try await store.proven(number) == .noon()
      }
      group.addTask {
        let verdict = ScreeningVerdict(
          id: StoreID(high: 3, low: 1), settings: 1, refusal: nil, ends: .noon(9))
        try await store.save(verdict)
        return try await store.verdict(verdict.id) == verdict
      }
      try await eventually { store.sessions.waiting == 13 }
      disk.letGo()
      for try await isRight in group { #expect(isRight) }
    }
    #expect(try await first.isEmpty)
    #expect(disk.begun == before + 2)
    for number in 0...8 {
      let claim = StoredClaim.numbered(number)
      #expect(try await store.claim(claim.id) == .live(claim))
    }
    guard case .over? = try await store.claim(StoredClaim.numbered(99).id) else {
      return #expect(Bool(false))
    }
    await store.close()
  }

  @Test func `a claim that the store refuses or cannot read fails alone`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    _ = try await store.openClaim(.numbered(1), most: 99)
    // Of installation 2, as a newer release may have written it.
    _ = try await store.sessions.call(.writes) { session throws(StoreError) in
      try session.change(
        """
        INSERT INTO callgate_claim (id, installation, app, created, expires, receipts, state)
        VALUES (x'00', ?, 'shop', 1, 2, x'', 'live')
        """, [.bytes(StoredClaim.numbered(2, of: 2).installation.id.bytes)])
    }
    disk.hold()
    let begun = disk.begun
    async let first = store.openClaim(.numbered(0), most: 99)
    try await eventually { disk.begun == begun + 1 }
    let kinds = try await withThrowingTaskGroup(of: (Int, StoreError.Kind?).self) { group in
      for number in 1...8 {
        group.addTask {
          let claim = StoredClaim.numbered(number, of: number == 2 ? 2 : 1)
          return (
            number, await StoreTests.kind { _ = try await store.openClaim(claim, most: number == 2 ? 1 : 99) }
          )
        }
      }
      try await eventually { store.sessions.waiting == 8 }
      disk.letGo()
      return try await group.reduce(into: [Int: StoreError.Kind]()) { if let kind = $1.1 { $0[$1.0] = kind } }
    }
    #expect(kinds == [1: .rejected, 2: .damaged])
    for number in 3...8 {
      let claim = StoredClaim.numbered(number)
      #expect(try await store.claim(claim.id) == .live(claim))
    }
    #expect(try await first.isEmpty)
    await store.close()
  }

  @Test func `an upgrade may take longer than requests wait`() async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let disk = TestDisk()
    let store = SQLiteStore(path: place.path + "/state.sqlite3", vfs: disk.vfs, patience: .milliseconds(100))
    disk.hold()
    async let upgrade: Void = store.migrate()
    try await eventually { disk.begun == 1 }
    // It waits behind the upgrade, for as long as requests do.
    await #expect(throws: StoreError.self) { try await store.ping() }
    disk.letGo()
    try await upgrade
    try await retry { try await store.ping() }
    await store.close()
  }

  // MARK: A million rows

  /// How many rows of each kind: `script/test --all growth` sets the variable to 1,000,000.
  private static let most = getenv("CALLGATE_GROWTH").flatMap { Int(String(cString: $0)) }

  @Test(.enabled(if: most != nil), .serialized, arguments: StoreKind.lasting)
  func `with a million rows of each kind nothing regular takes longer`(_ kind: StoreKind) async throws {
    let count = try #require(Self.most)
    let (fixture, store) = try await Self.filled(kind, ManyRows(count: count))
    defer { fixture.end() }
    if kind == .postgres {
      let connection = try PostgresPlanTests.connect(fixture.databaseName)
      // Other tables are empty, and read whole for that.
      for fault in try PostgresPlanTests.faults(connection)
      where fault.contains(#/ on callgate_(callback|installation|allowance)[ :]/#) {
        Issue.record("\(fault)")
      }
    } else {
      let connection = try SQLiteConnection(path: fixture.path)
      for sql in try SQLitePlanTests.all() {
        for scan in try SQLitePlanTests.scans(sql, connection) where !SmallTables.isOne(of: scan) {
          Issue.record("\(scan): \(sql)")
        }
      }
    }
    let key = StoreKeys(current: StoreKey(Secret([UInt8](repeating: 7, count: 32))))
    let now = Instant.noon(60)
    let (low, high) = (now.advanced(by: .seconds(-3600)), now)
    let slots = ManyRows.firstDue.seconds...ManyRows.firstDue.seconds + 100
    // Each returns how much it has found.
    let works: [(name: String, found: Int, work: @Sendable () async throws -> Int)] = [
      (
        "key at the start", 0,
        {
          _ = try await store.updateKeys(at: now) { KeyRuling($0, holding: key) }
          return 0
        }
      ),
      ("earlier releases", 0, { try await store.appointmentsWithoutOrigin(most: 256).count }),
      ("due", 0, { try await store.dueAppointments(at: now, most: 256).count }),
      ("recovery", 0, { try await store.recoverCallbacks(at: now, besides: []).callbacks }),
      ("purge", 0, { try await store.purge(at: now) }),
      (
        "purge of installations", 0,
        { try await store.purgeInstallations(at: now, unusedSince: ["shop": low]) }
      ),
      ("claims", 0, { try await store.lapseClaims(at: now, most: 256).count }),
      ("taken slots", min(101, count / 100 + 1), { try await store.takenPlaces(in: slots).count }),
      (
        "notices", 0,
        { try await store.dueNotices(on: "fcm", questions: low...high, news: low...high, most: 9).count }
      ),
      ("list", 100, { try await store.callbacks(CallbackQuery(limit: 100)).count }),
      (
        "installations", 100,
        {
          try await store.installations(InstallationQuery(.active, limit: 100, at: now)).entries.count
        }
      ),
    ]
    for (name, found, work) in works {
      var times: [Duration] = []
      for _ in 0..<5 {
        let begun = ContinuousClock.now
        #expect(try await work() == found, "\(name)")
        times.append(ContinuousClock.now - begun)
      }
      let median = times.sorted()[2]
      print("growth: \(kind.rawValue): \(name): \(median)")
      #expect(median < .milliseconds(50), "\(name)")
    }
    let begun = ContinuousClock.now
    let counts = try await store.appointmentCounts(dueBefore: now)
    let installations = try await store.installationCounts(at: now)
    #expect(counts.scheduled == count && installations[.active] == count - count / 100)
    let time = ContinuousClock.now - begun
    print("growth: \(kind.rawValue): all counts, in portions: \(time)")
    await store.close()
  }
}

// Tests of claims that every store must pass.

import Gate
import JOSE
import Store
import Testing

@Suite struct ClaimContractTests {
  private static func ids(_ claims: [StoredClaim]) -> Set<SHA256Digest> { Set(claims.map(\.id)) }

  @Test(arguments: StoreKind.available)
  func `a claim is kept as it is until its installation redeems it, once`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let claim = StoredClaim.numbered(1)
    let other = StoredClaim.numbered(2, receipts: [])
    #expect(try await store.claim(claim.id) == nil)
    #expect(try await !store.redeemClaim(claim.id, by: claim.installation, at: .noon()))
    #expect(try await store.openClaim(claim, most: 8).isEmpty)
    #expect(try await store.openClaim(other, most: 8).isEmpty)
    #expect(try await store.claim(claim.id) == .live(claim))
    #expect(try await store.claim(other.id) == .live(other))
    // Neither another installation nor a late attempt can use the claim.
    #expect(try await !store.redeemClaim(claim.id, by: .numbered(2), at: .noon()))
    #expect(try await !store.redeemClaim(claim.id, by: claim.installation, at: claim.expires))
    #expect(try await store.claim(claim.id) == .live(claim))
    let last = claim.expires.advanced(by: .nanoseconds(-1))
    #expect(try await store.redeemClaim(claim.id, by: claim.installation, at: last))
    #expect(try await !store.redeemClaim(claim.id, by: claim.installation, at: last))
    #expect(try await !store.withdrawClaim(claim.id))
    #expect(try await store.claim(claim.id) == .over(claim.over))
    #expect(try await store.lapseClaims(at: .noon(60), most: 9) == [other])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a claim is withdrawn once, and never redeemed then`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let claim = StoredClaim.numbered(1)
    #expect(try await !store.withdrawClaim(claim.id))
    _ = try await store.openClaim(claim, most: 8)
    #expect(try await store.withdrawClaim(claim.id))
    #expect(try await !store.withdrawClaim(claim.id))
    #expect(try await !store.redeemClaim(claim.id, by: claim.installation, at: .noon()))
    #expect(try await store.claim(claim.id) == .over(claim.over))
    #expect(try await store.lapseClaims(at: .noon(60), most: 9).isEmpty)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the oldest live claims give way to a new one`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for number in 1...3 {
      #expect(try await store.openClaim(.numbered(number, created: Double(number)), most: 3).isEmpty)
    }
    // Claims of other installations do not count, and neither do claims already used.
    #expect(try await store.openClaim(.numbered(9, of: 2), most: 1).isEmpty)
    #expect(try await store.redeemClaim(StoredClaim.numbered(2).id, by: .numbered(1), at: .noon(4)))
    #expect(try await store.openClaim(.numbered(4, created: 4), most: 3).isEmpty)
    let first = StoredClaim.numbered(1, created: 1)
    #expect(try await store.openClaim(.numbered(5, created: 5), most: 3) == [first])
    #expect(try await store.claim(first.id) == .over(first.over))
    #expect(try await !store.redeemClaim(first.id, by: .numbered(1), at: .noon(6)))
    // From now on fewer are allowed. The new claim stays although the clock went back.
    let new = StoredClaim.numbered(6, created: -100)
    #expect(try await Self.ids(store.openClaim(new, most: 1)).count == 3)
    #expect(try await store.claim(new.id) == .live(new))
    #expect(
      try await Self.ids(store.lapseClaims(at: .noon(99), most: 9)) == [
        new.id, StoredClaim.numbered(9).id,
      ])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `expired claims lapse once, in portions`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for number in 1...5 {
      _ = try await store.openClaim(.numbered(number, of: number, created: Double(number)), most: 8)
    }
    #expect(try await store.lapseClaims(at: .noon(60.5), most: 9).isEmpty)
    let first = try await store.lapseClaims(at: .noon(64), most: 3)
    #expect(first == (1...3).map { .numbered($0, of: $0, created: Double($0)) })
    #expect(try await store.lapseClaims(at: .noon(64), most: 3) == [.numbered(4, of: 4, created: 4)])
    #expect(try await store.lapseClaims(at: .noon(64), most: 3).isEmpty)
    #expect(try await !store.redeemClaim(StoredClaim.numbered(1).id, by: .numbered(1), at: .noon()))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the newest 64 ended claims of an installation are kept`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    _ = try await store.openClaim(.numbered(999, of: 2), most: 8)
    for number in 1...70 {
      _ = try await store.openClaim(.numbered(number, created: Double(number)), most: 2)
    }
    // Each new claim deletes the oldest ended claims. The claim that gives way to it already counts as ended.
    for (number, isKept) in [(1, false), (4, false), (5, true), (68, true), (69, true), (70, true)] {
      #expect(try await (store.claim(StoredClaim.numbered(number).id) != nil) == isKept, "\(number)")
    }
    #expect(try await store.claim(StoredClaim.numbered(999).id) == .live(.numbered(999, of: 2)))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `claims are forgotten after a day`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for number in 1...3 { _ = try await store.openClaim(.numbered(number, created: Double(number)), most: 8) }
    #expect(try await store.withdrawClaim(StoredClaim.numbered(1).id))
    try await store.purge(at: .noon(86_400))
    #expect(try await store.claim(StoredClaim.numbered(1).id) != nil)
    // A live claim is forgotten, too.
    #expect(try await store.purge(at: .noon(86_402)) == 2)
    #expect(try await store.claim(StoredClaim.numbered(1).id) == nil)
    #expect(try await store.claim(StoredClaim.numbered(2).id) == nil)
    #expect(try await Self.ids(store.lapseClaims(at: .noon(99), most: 9)) == [StoredClaim.numbered(3).id])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an id is taken once, and receipts have a bound`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let most = [UInt8](repeating: 0xA7, count: StoredClaim.mostReceiptBytes)
    let claim = StoredClaim.numbered(1, receipts: most)
    _ = try await store.openClaim(claim, most: 8)
    #expect(try await store.claim(claim.id) == .live(claim))
    let error = await #expect(throws: StoreError.self) {
      try await store.openClaim(.numbered(2, receipts: most + [1]), most: 8)
    }
    #expect(error?.kind == .rejected)
    await #expect(throws: StoreError.self) { try await store.openClaim(.numbered(1), most: 1) }
    #expect(try await store.claim(claim.id) == .live(claim))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of 1,000 redemptions at once exactly one succeeds`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let beside = fixture.open()
    let claim = StoredClaim.numbered(1)
    _ = try await store.openClaim(claim, most: 8)
    let redeemed = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<1000 {
        group.addTask {
          try await (number % 2 == 0 ? store : beside).redeemClaim(
            claim.id, by: claim.installation, at: .noon(1))
        }
      }
      return try await group.reduce(into: 0) { if $1 { $0 += 1 } }
    }
    #expect(redeemed == 1)
    if kind != .memory { await beside.close() }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `every claim ends in one way, and no installation has more than its share`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let beside = fixture.open()
    let ended = try await withThrowingTaskGroup(of: [SHA256Digest].self) { group in
      for number in 0..<90 {
        let one = number % 2 == 0 ? store : beside
        let claim = StoredClaim.numbered(number, of: number % 3, created: Double(number) / 100)
        group.addTask {
          var ended = try await one.openClaim(claim, most: 4).map(\.id)
          if number % 5 == 0, try await one.redeemClaim(claim.id, by: claim.installation, at: .noon(1)) {
            ended.append(claim.id)
          }
          if number % 7 == 0, try await one.withdrawClaim(claim.id) { ended.append(claim.id) }
          return ended
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let left = try await store.lapseClaims(at: .noon(99), most: 999)
    #expect((ended + left.map(\.id)).count == 90 && Set(ended + left.map(\.id)).count == 90)
    for (_, claims) in Dictionary(grouping: left, by: \.installation) { #expect(claims.count <= 4) }
    if kind != .memory { await beside.close() }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `two that lapse claims at once never get the same one`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let beside = fixture.open()
    for number in 0..<60 { _ = try await store.openClaim(.numbered(number, of: number), most: 8) }
    let lapsed = try await withThrowingTaskGroup(of: [StoredClaim].self) { group in
      for number in 0..<20 {
        group.addTask {
          try await (number % 2 == 0 ? store : beside).lapseClaims(at: .noon(60), most: 7)
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let rest = try await store.lapseClaims(at: .noon(60), most: 999)
    #expect((lapsed + rest).count == 60 && Self.ids(lapsed + rest).count == 60)
    if kind != .memory { await beside.close() }
    await store.close()
  }
}

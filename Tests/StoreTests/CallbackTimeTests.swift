// Tests, for every store, of callbacks that are never settled, and of deleting old records.

import Gate
import Store
import Testing

@Suite struct CallbackTimeTests {
  @Test(arguments: StoreKind.available)
  func `a pending record becomes unknown a grace after its deadline, and not before`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made(key: "k", deadline: 20)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await store.recoverCallbacks(at: .noon(30).later(0, nanoseconds: -1)).callbacks == 0)
    #expect(try await store.callback(intent.id, of: "ios-app")?.status == .pending)
    #expect(try await store.recoverCallbacks(at: .noon(30)).callbacks == 1)
    let record = try #require(try await store.callback(intent.id, of: "ios-app"))
    #expect(record.status == .unknown)
    #expect(record.code == "outcome_unknown")
    #expect(record.settledAt == .noon(30))
    #expect(try await store.recoverCallbacks(at: .noon(31)).callbacks == 0)
    // Repetitions get the record, and the number stays taken.
    #expect(try await store.begin(.made(key: "k"), at: .noon(32)) == .replay(record))
    #expect(try await store.begin(.made(), at: .noon(32)) == .duplicate(intent.id))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a pending record that is in hand is not recovered, whatever the clock says`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let held = CallbackIntent.made(key: "k", deadline: 20)
    let lost = CallbackIntent.made("+14155550166", deadline: 20)
    #expect(try await store.begin(held, at: .noon()) == .begun)
    #expect(try await store.begin(lost, at: .noon()) == .begun)
    #expect(try await store.recoverCallbacks(at: .noon(5000), besides: [held.id]).callbacks == 1)
    #expect(try await store.callback(held.id, of: "ios-app")?.status == .pending)
    #expect(try await store.callback(lost.id, of: "ios-app")?.status == .unknown)
    #expect(try await store.settle(held.id, .accepted(at: .noon(1)))?.wasRecovered == false)
    #expect(try await store.recoverCallbacks(at: .noon(5000), besides: []).callbacks == 0)
    // A callback that was in flight during one recovery and is not during the next is recovered then.
    let next = CallbackIntent.made("+14155550167", deadline: 20)
    #expect(try await store.begin(next, at: .noon()) == .begun)
    #expect(try await store.recoverCallbacks(at: .noon(5000), besides: [next.id]).callbacks == 0)
    #expect(try await store.recoverCallbacks(at: .noon(5000), besides: []).callbacks == 1)
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `an instance that is alive settles its own, whatever the clock of another says`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    let intent = CallbackIntent.made(deadline: 20)
    #expect(try await store.recoverCallbacks(at: .noon()).callbacks == 0)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await other.recoverCallbacks(at: .noon(5000)).callbacks == 0)
    #expect(try await store.callback(intent.id, of: "ios-app")?.status == .pending)
    await store.close()
    await other.close()
  }

  @Test(arguments: StoreKind.available)
  func `the process that began a record corrects a recovery, and others see its outcome`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let accepted = CallbackIntent.made(key: "a", deadline: 20)
    let failed = CallbackIntent.made("+14155550166", key: "f", deadline: 20)
    let withdrawn = CallbackIntent.made("+14155550167", key: "w", deadline: 20)
    for intent in [accepted, failed, withdrawn] {
      #expect(try await store.begin(intent, at: .noon()) == .begun)
    }
    #expect(try await store.recoverCallbacks(at: .noon(30)).callbacks == 3)
    let settled = try #require(try await store.settle(accepted.id, .accepted(at: .noon(31))))
    #expect(settled.status == .accepted && settled.wasRecovered && settled.settledAt == .noon(31))
    #expect(try await store.settle(failed.id, .failed(at: .noon(31)))?.wasRecovered == true)
    try await store.withdraw(withdrawn.id)
    // Repetitions get the true answer.
    guard case .replay(let record) = try await store.begin(.made(key: "a"), at: .noon(32)) else {
      Issue.record("no replay")
      return
    }
    #expect(record.status == .accepted && !record.wasRecovered)
    // A callback that was certainly refused frees its key and number, and one that was never sent leaves no
    // record.
    #expect(try await store.begin(.made("+14155550166", key: "f"), at: .noon(32)) == .begun)
    #expect(try await store.begin(.made("+14155550167", key: "w"), at: .noon(32)) == .begun)
    #expect(try await store.callback(withdrawn.id, of: "ios-app") == nil)
    // Settling again changes nothing.
    #expect(try await store.settle(accepted.id, .failed(at: .noon(33)))?.status == .accepted)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an unknown outcome that is settled twice is not a correction`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made(key: "k")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    let settlement = CallbackSettlement(
      .unknown, code: "outcome_unknown", keepsKey: true, at: .noon(1))
    for _ in 0..<2 { #expect(try await store.settle(intent.id, settlement)?.wasRecovered == false) }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `what is settled is never recovered`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    let settled = try await store.settle(intent.id, .accepted())
    #expect(try await store.recoverCallbacks(at: .noon(500)).callbacks == 0)
    #expect(try await store.callback(intent.id, of: "ios-app") == settled)
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `what a closed store left is recovered at once, and a sibling keeps its own`(_ kind: StoreKind)
    async throws
  {
    let (fixture, leaving) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let staying = fixture.open()
    let left = CallbackIntent.made(key: "left")
    let kept = CallbackIntent.made("+14155550166", key: "kept")
    #expect(try await leaving.begin(left, at: .noon()) == .begun)
    #expect(try await staying.begin(kept, at: .noon()) == .begun)
    #expect(try await staying.recoverCallbacks(at: .noon(1)).callbacks == 0)
    await leaving.close()
    // The same store, opened again, is another instance.
    let again = fixture.open()
    #expect(try await again.recoverCallbacks(at: .noon(1)).callbacks == 1)
    #expect(try await again.callback(left.id, of: "ios-app")?.status == .unknown)
    #expect(try await again.callback(kept.id, of: "ios-app")?.status == .pending)
    #expect(try await staying.settle(kept.id, .accepted())?.status == .accepted)
    await staying.close()
    #expect(try await again.recoverCallbacks(at: .noon(2)).callbacks == 0)
    await again.close()
  }

  @Test(arguments: StoreKind.available)
  func `a key is known for its time and free after it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k", window: .zero, keyRetention: .seconds(100))
    #expect(try await store.begin(first, at: .noon()) == .begun)
    let record = try #require(try await store.settle(first.id, .accepted()))
    let last = Instant.noon(100).later(0, nanoseconds: -1)
    let again = CallbackIntent.made(key: "k", asks: "b", window: .zero, at: .noon(100))
    #expect(try await store.standing(of: again, at: last).key == .mismatch)
    #expect(try await store.purge(at: last) == 0)
    #expect(try await store.begin(again, at: last) == .mismatch)
    #expect(try await store.standing(of: again, at: .noon(100)).key == .free)
    #expect(try await store.begin(again, at: .noon(100)) == .begun)
    // Settling the old callback does not free the new one's key.
    #expect(try await store.settle(first.id, .failed()) == record)
    #expect(try await store.purge(at: .noon(101)) == 0)
    #expect(
      try await store.begin(.made(key: "k", asks: "b", window: .zero), at: .noon(101))
        == .inProgress(again.id))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a key whose time is shorter than the request is known while that runs`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(key: "k", window: .zero, keyRetention: .seconds(1), deadline: 20)
    #expect(try await store.begin(first, at: .noon()) == .begun)
    #expect(try await store.begin(.made(key: "k", window: .zero), at: .noon(29)) == .inProgress(first.id))
    // The callback has not been recovered yet, so no other may begin, however late it is.
    #expect(try await store.purge(at: .noon(5000)) == 0)
    #expect(try await store.begin(.made(key: "k", window: .zero), at: .noon(5000)) == .inProgress(first.id))
    #expect(try await store.recoverCallbacks(at: .noon(5000)).callbacks == 1)
    #expect(try await store.begin(.made(key: "k", window: .zero), at: .noon(5000)) == .begun)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `dedupe entries, keys and records are deleted when they expire, and not before`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let first = CallbackIntent.made(
      key: "k", window: .seconds(60), keyRetention: .seconds(100), retention: .seconds(200))
    #expect(try await store.begin(first, at: .noon()) == .begun)
    let record = try await store.settle(first.id, .accepted())
    for time in [60.0, 100, 200] {
      let now = Instant.noon(time)
      #expect(try await store.purge(at: now.later(0, nanoseconds: -1)) == 0, "\(time)")
      #expect(try await store.callback(first.id, of: "ios-app") == record)
      #expect(try await store.purge(at: now) == 1, "\(time)")
      #expect(try await store.purge(at: now) == 0, "\(time)")
    }
    #expect(try await store.callback(first.id, of: "ios-app") == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a record stays as long as its key and its place need it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let keyed = CallbackIntent.made(key: "k", keyRetention: .seconds(100), retention: .seconds(1))
    let placed = CallbackIntent.made("+14155550166", window: .seconds(100), retention: .seconds(1))
    for intent in [keyed, placed] {
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      try await store.settle(intent.id, .accepted())
    }
    _ = try await store.purge(at: .noon(99))
    guard case .replay(let record) = try await store.begin(.made(key: "k"), at: .noon(99)) else {
      return #expect(Bool(false))
    }
    #expect(record.id == keyed.id)
    #expect(try await store.callback(placed.id, of: "ios-app") != nil)
    // Two expired keys or dedupe entries, and two records.
    #expect(try await store.purge(at: .noon(100)) == 4)
    #expect(try await store.callback(keyed.id, of: "ios-app") == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `nothing of a pending record is forgotten before it is recovered`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made(
      key: "k", window: .zero, keyRetention: .seconds(10), retention: .seconds(10))
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    for _ in 0..<2 { #expect(try await store.purge(at: .noon(9000)) == 0) }
    #expect(try await store.callback(intent.id, of: "ios-app")?.status == .pending)
    #expect(try await store.recoverCallbacks(at: .noon(9000)).callbacks == 1)
    #expect(try await store.purge(at: .noon(9000)) == 2)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `thousands are forgotten in portions`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4100 {
        // At most 256 at once, so that none times out on a slow disk.
        if number >= 256 { try await group.next() }
        group.addTask {
          let intent = CallbackIntent.made("+1415555\(1000 + number)", key: "\(number)")
          #expect(try await store.begin(intent, at: .noon()) == .begun)
          try await store.settle(intent.id, .accepted())
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.purge(at: .noon(86_400)) == 3 * 4100)
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `a store that was opened again knows keys, numbers and records`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = CallbackIntent.made(key: "k")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    let record = try #require(try await store.settle(intent.id, .accepted()))
    await store.close()
    await #expect(throws: StoreError.self) { try await store.begin(.made(), at: .noon(2)) }
    let again = fixture.open()
    #expect(try await again.callback(intent.id, of: "ios-app") == record)
    #expect(
      try await again.begin(.made(key: "k"), at: .noon(2))
        == .replay(record))
    #expect(try await again.begin(.made(), at: .noon(2)) == .duplicate(intent.id))
    await again.close()
  }
}

// Tests of the SQLite store on a disk that loses power, fails, fills up or hangs.

import Foundation
import Gate
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore
@testable import Store

/// What remains on a disk that loses power, fails, is full or hangs, and what callers are told.
@Suite struct SQLitePowerCutTests {
  /// Status of a callback after a power cut; nil if its record is lost.
  private func status(
    _ intent: CallbackIntent, after path: String, _ disk: TestDisk
  ) async throws -> StoredCallback.Status? {
    let store = SQLiteStore(path: try disk.cut(path))
    let found = try await store.callback(intent.id, of: "ios-app")?.status
    await store.close()
    return found
  }

  /// The error of a call that must fail.
  private func failure(_ body: () async throws -> Void) async -> StoreError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? StoreError
    }
  }

  /// Moves the log into the database, on the store's own connection.
  private func checkpoint(_ store: SQLiteStore, _ kind: String) async throws {
    try await store.sessions.call(.reads) { session throws(StoreError) in
      try session.use { open throws(StoreError) in
        try open.connection.execute("PRAGMA wal_checkpoint(\(kind))")
      }
    }
  }

  /// Writes `count` allowances in one transaction.
  private func fill(_ store: SQLiteStore, round: Int, _ count: Int = 500) async throws {
    let keys = (0..<count).map {
      AllowanceKey(rule: "daily", party: .subject("user-\($0 * 977 + round * 31)"))
    }
    try await store.update(keys, at: .noon()) { states, _ in
      AllowanceUpdate(
        writes: states.map { _ in .put(AllowanceState(mark: 1, count: 1), expiry: .max / 2) }, result: ())
    }
  }

  // MARK: Power cuts

  @Test
  func `records begun or settled survive a power cut, even if the log was moved or restarted`()
    async throws
  {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    for number in 10..<40 {
      let intent = CallbackIntent.made("+141555501\(number)", key: "\(number)")
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      #expect(try await status(intent, after: path, disk) == .pending)
      try await store.settle(intent.id, .accepted())
      #expect(try await status(intent, after: path, disk) == .accepted)
      // After a complete move, SQLite restarts the log with the next transaction.
      if number % 7 == 0 { try await checkpoint(store, number % 2 == 0 ? "PASSIVE" : "TRUNCATE") }
      #expect(try await status(intent, after: path, disk) == .accepted)
    }
    await store.close()
  }

  @Test func `the log is moved into the database again and again, and a power cut finds everything`()
    async throws
  {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let page = 4096 + 24
    for round in 0..<60 { try await fill(store, round: round) }
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    // Each transaction above changes at most a thousand pages.
    #expect(disk.mostLog > SQLiteConnection.logPages * page, "nothing is tested")
    #expect(disk.mostLog < (SQLiteConnection.logPages + 2000) * page)
    #expect(try await status(intent, after: path, disk) == .pending)
    let after = SQLiteStore(path: try disk.cut(path))
    let keys = (0..<60).map { AllowanceKey(rule: "daily", party: .subject("user-\($0 * 31)")) }
    #expect(try await after.states(of: keys).someAndAll { $0?.count == 1 })
    await after.close()
    await store.close()
  }

  @Test func `a checkpoint that failed is made again, with all its pages`() async throws {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    for round in 0..<2 { try await fill(store, round: round) }
    disk.failNext(.database)
    #expect(await failure { try await checkpoint(store, "PASSIVE") } != nil)
    #expect(try await status(intent, after: path, disk) == .pending)
    // The log restarts once the database contains all of it.
    try await retry { try await checkpoint(store, "TRUNCATE") }
    #expect(try await status(intent, after: path, disk) == .pending)
    try await store.settle(intent.id, .accepted())
    #expect(try await status(intent, after: path, disk) == .accepted)
    await store.close()
    #expect(try await status(intent, after: path, disk) == .accepted)
  }

  // MARK: Flushes that fail

  @Test func `a machine that is too busy to try again in time gets its second try`() async throws {
    let clock = ManualTime()
    var tries = 0
    try await retry(clock: clock) {
      tries += 1
      // The task resumes long after its first try, which came before the back-off had ended.
      clock.advance(by: .seconds(97))
      if tries == 1 { throw StoreError(.unavailable, "step", "disk I/O error") }
    }
    #expect(tries == 2)
  }

  @Test func `a count waits for no disk, and a record that is there after a power cut has its count`()
    async throws
  {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let charges = try Allowances([try Allowances.quota(limit: 100)]).charges(at: .noon())
    func count() async throws -> Int64 {
      let cut = SQLiteStore(path: try disk.cut(path))
      let state = try await cut.states(of: charges.map(\.key))[0]
      await cut.close()
      return state?.count ?? 0
    }
    for number in 1...3 { #expect(try await store.take(charges, at: .noon(Double(number))).isTaken) }
    #expect(try await count() == 0)
    let intent = CallbackIntent.made("+14155550102", key: "k")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await status(intent, after: path, disk) == .pending)
    #expect(try await count() == 3)
    // Counts since then are on the disk once the store has closed.
    #expect(try await store.take(charges, at: .noon()).isTaken)
    #expect(try await count() == 3)
    await store.close()
    #expect(try await count() == 4)
  }

  @Test func `what could not be flushed is in doubt, and can be taken back`() async throws {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let intent = CallbackIntent.made("+14155550101", key: "k")
    disk.failNext()
    let error = await failure { _ = try await store.begin(intent, at: .noon()) }
    #expect(error?.kind == .unavailable && error?.isInDoubt == true)
    try await retry { try await store.withdraw(intent.id) }
    #expect(try await store.callback(intent.id, of: "ios-app") == nil)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await status(intent, after: path, disk) == .pending)
    await store.close()
  }

  @Test func `a stop that could not be flushed is refused`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.failNext()
    #expect(await kind { try await store.stop(Stop(.all, .all, since: 7)) } == .unavailable)
    try await retry { try await store.stop(Stop(.all, .all, since: 7)) }
    #expect(try await store.stops().list == [Stop(.all, .all, since: 7)])
    await store.close()
  }

  @Test func `nothing is appended to what a killed process could not flush`() async throws {
    let (place, path, disk, first) = try await TestDisk.made()
    defer { place.end() }
    #expect(try await first.begin(.made("+14155550100"), at: .noon()) == .begun)
    // The process is killed just as it learns that the flush failed, before it releases the file.
    let copy = Mutex("")
    disk.failNext()
    let lost = CallbackIntent.made("+14155550101")
    try await first.sessions.call(.reads) { session throws(StoreError) in
      do throws(StoreError) {
        try session.use { open throws(StoreError) in
          let statements = try open.prepared()
          try open.begin.run()
          var working = WorkingSet(
            [UpdateJob(work: .callback(.begin(lost, at: .noon(), { _ in })), finish: { _ in })],
            ids: statements.ids)
          try statements.callbacks.read(&working)
          working.run(instance: 7, at: TurnTime(machine: .noon(), store: .noon()))
          try statements.callbacks.write(working.book)
          do throws(StoreError) { try open.commit.run() } catch {
            do { try copy.withLock { $0 = try disk.kill(path) } } catch {}
            throw error
          }
        }
      } catch {}
    }
    let killed = copy.withLock { $0 }
    try #require(!killed.isEmpty)
    let second = SQLiteStore(path: killed, vfs: disk.vfs)
    // The next process can read the record, so the callback counts as begun.
    #expect(try await second.callback(lost.id, of: "ios-app")?.status == .pending)
    let next = CallbackIntent.made("+14155550102")
    #expect(try await second.begin(next, at: .noon()) == .begun)
    #expect(try await status(next, after: killed, disk) == .pending)
    await second.close()
    await first.close()
  }

  // MARK: A full disk

  @Test func `a full disk is reported as full, keeps its data, and can be read`() async throws {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let intent = CallbackIntent.made("+14155550100")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    disk.setFull(true)
    let error = await failure { try await fill(store, round: 0) }
    #expect(error?.kind == .full && error?.isInDoubt == false)
    #expect(try await store.callback(intent.id, of: "ios-app")?.status == .pending)
    #expect(try await store.stops().list.isEmpty)
    #expect(try await status(intent, after: path, disk) == .pending)
    disk.setFull(false)
    try await fill(store, round: 0)
    await store.close()
  }

  @Test func `a flush that finds no room is in doubt`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.failNext(.log, ENOSPC)
    let error = await failure { _ = try await store.begin(.made(), at: .noon()) }
    #expect(error?.kind == .full && error?.isInDoubt == true, "\(String(describing: error))")
    await store.close()
  }

  // MARK: A disk that hangs

  @Test func `callbacks that come during a flush share the next one`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.hold()
    let before = disk.begun
    let first = Task { try await store.begin(.made("+14155550100"), at: .noon()) }
    try await eventually { disk.begun > before }
    let others = (10..<60).map { number in
      Task { try await store.begin(.made("+141555501\(number)"), at: .noon()) }
    }
    try await eventually { store.sessions.waiting == others.count }
    #expect(disk.begun == before + 1)
    disk.letGo()
    for task in [first] + others { #expect(try await task.value == .begun) }
    #expect(disk.begun == before + 2)
    await store.close()
  }

  @Test func `closing waits until the disk has everything`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.hold()
    let before = disk.begun
    let beginning = Task { try await store.begin(.made(), at: .noon()) }
    try await eventually { disk.begun > before }
    let closing = Task {
      await store.close()
      return disk.ended
    }
    try await eventually { await kind { try await store.ping() } == .unavailable }
    disk.letGo()
    #expect(try await beginning.value == .begun)
    #expect(await closing.value > before)
  }

  @Test func `a disk that hangs is reported in time, refuses new work at once, and does not delay the end`()
    async throws
  {
    let (place, _, disk, store) = try await TestDisk.made(patience: .seconds(2))
    defer { place.end() }
    disk.hold()
    let intent = CallbackIntent.made("+14155550100")
    let late = await failure { _ = try await store.begin(intent, at: .noon()) }
    #expect(late?.kind == .unavailable && late?.isInDoubt == true)
    // The store now knows that the disk hangs: every call fails at once, and nothing is changed.
    let clock = ContinuousClock()
    let began = clock.now
    let early = await failure { _ = try await store.begin(.made("+14155550101"), at: .noon()) }
    #expect(early?.kind == .unavailable && early?.isInDoubt == false)
    #expect(await kind { try await store.ping() } == .unavailable)
    #expect(await kind { _ = try await store.stops() } == .unavailable)
    #expect(await kind { try await store.stop(Stop(.all, .all, since: 7)) } == .unavailable)
    #expect(await kind { try await store.withdraw(intent.id) } == .unavailable)
    #expect(clock.now - began < .milliseconds(400))
    disk.letGo()
    // The record in doubt is in the file, so it is withdrawn.
    try await retry { try await store.ping() }
    #expect(try await store.callback(intent.id, of: "ios-app")?.status == .pending)
    try await store.withdraw(intent.id)
    #expect(try await store.stops().list.isEmpty)
    #expect(try await store.begin(.made("+14155550101"), at: .noon()) == .begun)

    disk.hold()
    let before = disk.begun
    #expect(
      await failure { _ = try await store.begin(.made("+14155550102"), at: .noon()) }?.isInDoubt == true)
    await store.close()
    #expect(disk.ended == before)
    disk.letGo()
    try await eventually { disk.ended > before }
  }

  @Test func `calls behind a hanging disk fail with the first, and are not in doubt`() async throws {
    let (place, _, disk, store) = try await TestDisk.made(patience: .seconds(2))
    defer { place.end() }
    disk.hold()
    let before = disk.begun
    let first = Task { await failure { _ = try await store.begin(.made("+14155550100"), at: .noon()) } }
    try await eventually { disk.begun > before }
    let second = Task { await failure { _ = try await store.begin(.made("+14155550101"), at: .noon()) } }
    #expect(await first.value?.isInDoubt == true)
    #expect(await second.value?.isInDoubt == false)
    disk.letGo()
    try await retry { try await store.ping() }
    #expect(try await store.standing(of: .made("+14155550101"), at: .noon()).duplicate == nil)
    await store.close()
  }

  @Test func `after one slow flush the disk does not count as hanging`() async throws {
    let (place, path, disk, store) = try await TestDisk.made(patience: .seconds(2))
    defer { place.end() }
    disk.hold()
    #expect(await failure { try await store.stop(Stop(.all, .all, since: 7)) }?.isInDoubt == true)
    disk.letGo()
    try await retry { try await store.ping() }
    // The stop was saved after its caller was told of the failure, and is taken back.
    #expect(try await store.stops().isEmpty)
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await status(intent, after: path, disk) == .pending)
    await store.close()
  }
}

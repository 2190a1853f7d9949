import Foundation
import Gate
import Synchronization
import Testing

@testable import Store

/// What waits for the disk and what does not.
@Suite struct SQLiteFlushTests {
  @Test func `a beginning waits for the disk, and an outcome only for the file`() async throws {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let first = CallbackIntent.made("+14155550101", key: "first")
    #expect(try await store.begin(first, at: .noon()) == .begun)

    disk.hold()
    let before = disk.begun
    let hasBegun = Mutex(false)
    let beginning = Task {
      defer { hasBegun.withLock { $0 = true } }
      return try await store.begin(.made("+14155550102"), at: .noon())
    }
    try await until { disk.begun > before }
    // The disk is busy with it. Outcomes, and whoever looks, go on meanwhile.
    #expect(try await store.settle(first.id, .accepted())?.status == .accepted)
    #expect(try await store.callback(first.id, of: "ios-app")?.status == .accepted)
    // Others see it, too: it survives this process.
    let other = SQLiteStore(path: path)
    #expect(try await other.callback(first.id, of: "ios-app")?.status == .accepted)
    await other.close()
    #expect(hasBegun.withLock { !$0 })
    disk.letGo()
    #expect(try await beginning.value == .begun)
    await store.close()
  }

  @Test func `whoever comes during a flush shares the next one`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.hold()
    let before = disk.begun
    let first = Task { try await store.begin(.made("+14155550100"), at: .noon()) }
    try await until { disk.begun > before }
    let others = (10..<60).map { number in
      Task { try await store.begin(.made("+141555501\(number)"), at: .noon()) }
    }
    // The file has them all while the first one waits for the disk.
    for number in 10..<60 {
      let same = CallbackIntent.made("+141555501\(number)")
      try await until { try await store.standing(of: same, at: .noon()).duplicate != nil }
    }
    #expect(disk.begun == before + 1)
    disk.letGo()
    for task in [first] + others { #expect(try await task.value == .begun) }
    #expect(disk.begun == before + 2)
    await store.close()
  }

  @Test func `an outcome reaches the disk by itself soon`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    let before = disk.ended
    try await store.settle(intent.id, .accepted())
    try await until { disk.ended > before }
    await store.close()
  }

  @Test func `closing waits until the disk has everything`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.hold()
    let before = disk.begun
    let beginning = Task { try await store.begin(.made(), at: .noon()) }
    try await until { disk.begun > before }
    let closing = Task {
      await store.close()
      return disk.ended
    }
    // It is closed to others, and would have returned by now.
    try await until { await kind { try await store.ping() } == .unavailable }
    disk.letGo()
    #expect(try await beginning.value == .begun)
    #expect(await closing.value > before)
  }

  @Test func `what could not be flushed is in doubt, and nothing is built upon it`() async throws {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    let intent = CallbackIntent.made("+14155550101", key: "k")
    disk.failNext()
    do {
      let beginning = try await store.begin(intent, at: .noon())
      #expect(Bool(false), "\(beginning)")
    } catch {
      #expect(error.kind == .unavailable && error.isInDoubt)
    }
    // The next use moves everything into the database, as a log of which a part may be missing is not to be relied on.
    try await store.ping()
    #expect(try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int == 0)
    try await store.withdraw(intent.id)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    await store.close()
  }

  @Test func `a stop that could not be flushed is refused`() async throws {
    let (place, _, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.failNext()
    #expect(await kind { try await store.stop(Stop(.all, .all, since: 7)) } == .unavailable)
    try await eventually { try await store.stop(Stop(.all, .all, since: 7)) }
    #expect(try await store.stops().list == [Stop(.all, .all, since: 7)])
    await store.close()
  }

  @Test func `the log is moved into the database again and again`() async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    let store = SQLiteStore(path: path, flush: { _ in 0 })
    try await store.migrate()
    let page = 4096 + 24
    var longest = 0
    for round in 0..<60 {
      let keys = (0..<500).map {
        AllowanceKey(rule: "daily", party: .subject("user-\($0 * 977 + round * 31)"))
      }
      try await store.update(keys) { states in
        AllowanceUpdate(
          writes: states.map { _ in .put(AllowanceState(mark: 1, count: 1), expiry: .max / 2) }, result: ())
      }
      let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
      longest = max(longest, size ?? 0)
    }
    // A transaction of the above changes a thousand pages at most.
    #expect(longest > SQLiteCheckpointer.portion * page, "nothing is tested")
    #expect(longest < (SQLiteCheckpointer.most + 2000) * page)
    await store.close()
  }
}

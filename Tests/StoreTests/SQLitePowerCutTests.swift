import Foundation
import Gate
import Glibc
import Synchronization
import Testing

@testable import Store

/// What a disk has that loses its power, fails or hangs, and what callers were told.
@Suite struct SQLitePowerCutTests {
  /// What is found of a callback after a power cut.
  private func status(
    _ intent: CallbackIntent, after path: String, _ disk: TestDisk
  ) async throws -> StoredCallback.Status? {
    let store = SQLiteStore(path: try disk.cut(path))
    let found = try await store.callback(intent.id, of: "ios-app")?.status
    await store.close()
    return found
  }

  /// The failure of something that has to fail.
  private func failure(_ body: () async throws -> Void) async -> StoreError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? StoreError
    }
  }

  @Test func `what was begun is there after a power cut, also where the log was moved or begun anew`()
    async throws
  {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    var intents: [CallbackIntent] = []
    for number in 10..<40 {
      let intent = CallbackIntent.made("+141555501\(number)", key: "\(number)")
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      intents.append(intent)
      #expect(try await status(intent, after: path, disk) == .pending)
      let before = disk.ended
      try await store.settle(intent.id, .accepted())
      // Moved to the end: SQLite begins the log anew with the next transaction.
      if number % 7 == 0 { #expect(try SQLiteConnection(path: path).checkpoint(.passive)) }
      if number % 5 == 0 {
        try await until { disk.ended > before }
        #expect(try await status(intent, after: path, disk) == .accepted)
      }
    }
    for intent in intents.dropLast() {
      #expect(try await status(intent, after: path, disk) == .accepted)
    }
    await store.close()
  }

  @Test
  func
    `nothing is told begun behind a hole in the log, also where the connection went before the flush failed`()
    async throws
  {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    #expect(try await store.begin(.made("+14155550100"), at: .noon()) == .begun)
    disk.hold()
    disk.failNext()
    let before = disk.begun
    let lost = CallbackIntent.made("+14155550101")
    let beginning = Task { await failure { _ = try await store.begin(lost, at: .noon()) } }
    try await until { disk.begun > before }
    // Something else fails meanwhile, so the file is let go of.
    unlink(path + "-instances")
    mkdir(path + "-instances", 0o700)
    #expect(await kind { try await store.recoverCallbacks(at: .noon()) } == .unavailable)
    rmdir(path + "-instances")
    try await eventually { try await store.ping() }
    disk.letGo()
    #expect(await beginning.value?.isInDoubt == true)
    let next = CallbackIntent.made("+14155550102")
    #expect(try await store.begin(next, at: .noon()) == .begun)
    #expect(try await status(next, after: path, disk) == .pending)
    await store.close()
  }

  @Test func `a hole that an earlier process left is closed before anything is told begun`() async throws {
    let (place, path, disk, first) = try await TestDisk.made()
    defer { place.end() }
    #expect(try await first.begin(.made("+14155550100"), at: .noon()) == .begun)
    disk.failNext()
    #expect(
      await failure { _ = try await first.begin(.made("+14155550101"), at: .noon()) }?.isInDoubt == true)
    // It ends here, or hangs.
    let second = SQLiteStore(path: path, flush: disk.flush)
    let next = CallbackIntent.made("+14155550102")
    #expect(try await second.begin(next, at: .noon()) == .begun)
    #expect(try await status(next, after: path, disk) == .pending)
    await second.close()
    await first.close()
  }

  /// A job that says what it was told; nil until then.
  private final class Told: Sendable {
    let answer = Mutex<StoreError??>(nil)
    var job: UpdateJob {
      UpdateJob(work: .callback(.withdraw(CallbackID(at: .noon()), { _ in }))) { error in
        self.answer.withLock { $0 = .some(error) }
      }
    }
    var isInDoubt: Bool? { answer.withLock { $0 }.map { $0?.isInDoubt ?? false } }
  }

  @Test func `no job is told of a flush but the one that took its log`() async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    for file in [path, path + "-wal"] { try Data("some".utf8).write(to: URL(fileURLWithPath: file)) }
    let disk = TestDisk()
    let log = try SQLiteLog(beside: path, flush: disk.flush)
    let flusher = SQLiteFlusher(patience: .seconds(60))
    disk.hold()
    disk.failNext()
    // Nobody waits for the first, whose flush fails; the second was shown what that should have kept, and changes nothing.
    flusher.finish([], wrote: log)
    try await until { disk.begun == 1 }
    let reader = Told()
    flusher.finish([reader.job], wrote: nil)
    disk.letGo()
    try await until { reader.isInDoubt != nil }
    #expect(reader.isInDoubt == true)
    // Who comes after it, too, whether or not he changes something.
    for wrote in [nil, log] {
      let late = Told()
      flusher.finish([late.job], wrote: wrote)
      try await until { late.isInDoubt != nil }
      #expect(late.isInDoubt == true)
    }
    try flusher.loss.mend { () throws(StoreError) in }
    for wrote in [nil, log] {
      let sound = Told()
      flusher.finish([sound.job], wrote: wrote)
      try await until { sound.isInDoubt != nil }
      #expect(sound.isInDoubt == false)
    }
    #expect(disk.begun == 2)
  }

  @Test func `a stop waits for the flush under way, so that neither takes the other's failure`() async throws
  {
    let (place, path, disk, store) = try await TestDisk.made()
    defer { place.end() }
    disk.hold()
    disk.failNext()
    let before = disk.begun
    let beginning = Task { await failure { _ = try await store.begin(.made(), at: .noon()) } }
    try await until { disk.begun > before }
    let stopping = Task { await failure { try await store.stop(Stop(.all, .all, since: 7)) } }
    let other = SQLiteStore(path: path)
    try await until { try await !other.stops().list.isEmpty }
    await other.close()
    #expect(disk.begun == before + 1)
    disk.letGo()
    #expect(await beginning.value?.isInDoubt == true)
    #expect(await stopping.value?.isInDoubt == true)
    #expect(disk.most == 1)
    await store.close()
  }

  @Test func `what nobody waits for reaches the disk by itself`() async throws {
    let (place, path, disk, first) = try await TestDisk.made()
    defer { place.end() }
    let intent = CallbackIntent.made()
    #expect(try await first.begin(intent, at: .noon()) == .begun)
    await first.close()
    let second = SQLiteStore(path: path, flush: disk.flush)
    #expect(try await second.recoverCallbacks(at: .noon(1)) == 1)
    try await until { try await status(intent, after: path, disk) == .unknown }
    await second.close()
  }

  // MARK: A disk that hangs

  @Test func `a disk that hangs is told of in time, and is not waited for at the end`() async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let disk = TestDisk()
    let store = SQLiteStore(
      path: place.path + "/state.sqlite3", flush: disk.flush, patience: .milliseconds(1500))
    try await store.migrate()
    try await store.ping()
    disk.hold()
    let settled = CallbackIntent.made("+14155550100")
    let late = await failure { _ = try await store.begin(settled, at: .noon()) }
    #expect(late?.kind == .unavailable && late?.isInDoubt == true)
    // It is known now: whoever relies on the disk is refused before anything is changed, and readiness fails.
    let early = await failure { _ = try await store.begin(.made("+14155550101"), at: .noon()) }
    #expect(early?.kind == .unavailable && early?.isInDoubt == false)
    #expect(await kind { try await store.ping() } == .unavailable)
    #expect(await kind { _ = try await store.stops() } == .unavailable)
    #expect(await kind { try await store.stop(Stop(.all, .all, since: 7)) } == .unavailable)
    // Outcomes do not need it.
    #expect(try await store.settle(settled.id, .accepted())?.status == .accepted)
    disk.letGo()
    try await eventually { try await store.ping() }
    #expect(try await store.stops().list.isEmpty)
    #expect(try await store.begin(.made("+14155550101"), at: .noon()) == .begun)

    disk.hold()
    let before = disk.begun
    let beginning = Task { await failure { _ = try await store.begin(.made("+14155550102"), at: .noon()) } }
    try await until { disk.begun > before }
    await store.close()
    #expect(await beginning.value?.isInDoubt == true)
    #expect(disk.ended == before)
    disk.letGo()
    try await until { disk.ended > before }
  }

  // MARK: Checkpoints that fail

  @Test func `what a disk has lost of the database is written anew from the log`() async throws {
    let (place, path, _, store) = try await TestDisk.made()
    defer { place.end() }
    let url = URL(fileURLWithPath: path)
    let old = try Data(contentsOf: url)
    let intent = CallbackIntent.made(key: "k")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    // Moved, and counted as moved, without a flush: somebody reads what was before the last transaction.
    var reader: SQLiteConnection? = try SQLiteConnection(path: path)
    try reader?.execute("BEGIN")
    try reader?.execute("SELECT count(*) FROM callgate_callback")
    try await store.settle(intent.id, .accepted())
    try SQLiteConnection(path: path).checkpoint(.passive)
    try reader?.execute("COMMIT")
    #expect(try Data(contentsOf: url) != old, "nothing is tested")
    // The disk does not keep it, and a checkpoint is told so.
    let file = try FileHandle(forWritingTo: url)
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: old)
    try await store.sessions.call { session throws(StoreError) in session.checkpointer.loss.happened() }
    // Whoever else has the file open keeps it from being read anew.
    let refusal = await failure { try await store.ping() }
    #expect(refusal?.kind == .unavailable && refusal?.operation == "write the database anew")
    try reader?.execute("SELECT 1")
    reader = nil
    try await eventually { try await store.ping() }
    #expect(try await store.callback(intent.id, of: "ios-app")?.status == .accepted)
    await store.close()
    #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    let after = SQLiteStore(path: path)
    guard case .replay = try await after.begin(.made(key: "k"), at: .noon(2)) else {
      return #expect(Bool(false))
    }
    await after.close()
  }

  /// The one device fails in writing, which is tried again; the other takes everything and fails after it.
  @Test(arguments: [("/dev/full", false), ("/dev/null", true)])
  func `a checkpoint that may have lost something is remembered, and nothing is moved any more`(
    device: String, isLost: Bool
  ) throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    let connection = try SQLiteConnection(path: path)
    try connection.execute("CREATE TABLE some (a)")
    let checkpointer = SQLiteCheckpointer(path: path)
    try checkpointer.checkpoint(.passive, on: connection)
    #expect(!checkpointer.loss.isOpen)
    try connection.execute("INSERT INTO some VALUES (randomblob(20000))")
    // The database is another file from now on.
    let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      Int32($0)
    }
    let link = { (number: Int32) in
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
    }
    let number = try #require(numbers.first { link($0) == path })
    let other = open(device, O_RDWR | O_CLOEXEC)
    #expect(dup2(other, number) == number)
    close(other)
    #expect(throws: StoreError.self) { try checkpointer.checkpoint(.passive, on: connection) }
    #expect(checkpointer.loss.isOpen == isLost)
    guard isLost else { return }
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    checkpointer.logHas(SQLiteCheckpointer.portion + 1, on: connection)
    checkpointer.drain()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    // Not while somebody else has it.
    #expect(throws: StoreError.self) { try checkpointer.mend() }
    #expect(checkpointer.loss.isOpen)
  }

  @Test func `a loss is made up for as far as it was known at the beginning`() throws {
    let loss = SQLiteLoss()
    #expect(!loss.isOpen)
    loss.happened()
    try loss.mend { () throws(StoreError) in loss.happened() }
    #expect(loss.isOpen)
    #expect(throws: StoreError.self) {
      try loss.mend { () throws(StoreError) in throw StoreError(.full, "test", "full") }
    }
    #expect(loss.isOpen)
    try loss.mend { () throws(StoreError) in }
    #expect(!loss.isOpen)
  }
}

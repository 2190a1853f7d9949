// Tests of the SQLite store: file permissions, crashes, damaged files and newer schemas.

import Foundation
import Gate
import Glibc
import Platform
import TestSupport
import Testing

@testable import SQLiteStore
@testable import Store

@Suite struct SQLiteStoreTests {
  /// A directory and the path of a store in it.
  private func place() throws -> (place: TemporaryPlace, path: String) {
    let place = try TemporaryPlace()
    return (place, place.path + "/state.sqlite3")
  }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func `only its owner may read it or its journal`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    for file in [path, path + "-wal", path + "-shm"] { #expect(mode(file) == 0o600, "\(file)") }
    await store.close()
    // A file that others can open is closed to them.
    chmod(path, 0o664)
    let again = SQLiteStore(path: path)
    try await again.ping()
    #expect(mode(path) == 0o600)
    await again.close()
  }

  @Test func `a process killed at once loses nothing that was committed`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let store = SQLiteStore(path: path)
      try await store.migrate()
      let allowances = try Allowances([try Allowances.quota(limit: 5000)])
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            for _ in 0..<250 { _ = try? await store.take(allowances.charges(at: .noon()), at: .noon()) }
          }
        }
      }
      try await store.stop(Stop(.all, .all, since: 7))
      kill(getpid(), SIGKILL)
    }
    let store = SQLiteStore(path: path)
    let allowances = try Allowances([try Allowances.quota(limit: 5000)])
    #expect(try await store.states(of: allowances.charges(at: .noon()).map(\.key))[0]?.count == 1000)
    #expect(try await store.stops().list == [Stop(.all, .all, since: 7)])
    await store.close()
  }

  @Test func `what is there after a crash is what was there before it`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let allowances = try Allowances([try Allowances.quota(limit: 100)])
    for number in 1...20 {
      #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
      // The files as a power cut would leave them, without the shared memory.
      let copy = place.path + "/copy\(number)"
      for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: copy + end) }
      let after = SQLiteStore(path: copy)
      #expect(
        try await after.states(of: allowances.charges(at: .noon()).map(\.key))[0]?.count == Int64(number))
      await after.close()
    }
    await store.close()
  }

  @Test func `a file that is none fails closed and is left as it is`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let text = Data(String(repeating: "not a database. ", count: 512).utf8)
    try text.write(to: URL(fileURLWithPath: path))
    let store = SQLiteStore(path: path)
    let damage = await #expect(throws: StoreError.self) { try await store.migrate() }
    #expect(damage?.kind == .damaged)
    #expect(damage?.message.contains(path) == true, "\(damage?.message ?? "")")
    #expect(await kind { try await store.ping() } == .damaged)
    await store.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == text)
  }

  @Test func `a folder, a device and a missing folder in its place are mistakes, and stay as they are`()
    async throws
  {
    let (place, path) = try place()
    defer { place.end() }
    #expect(mkdir(path, 0o755) == 0 && chmod(path, 0o755) == 0)
    for (wrong, words) in [
      (path, "\(path) is a folder: give the path of a file"),
      ("/dev/null", "/dev/null is no regular file: give the path of a file"),
      (place.path + "/no/x", "the folder of \(place.path)/no/x does not exist: make it, or correct the path"),
    ] {
      let store = SQLiteStore(path: wrong)
      let error = await #expect(throws: StoreError.self) { try await store.migrate() }
      #expect(error?.kind == .misconfigured && error?.message == words, "\(String(describing: error))")
      await store.close()
    }
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o755)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["state.sqlite3"])
  }

  @Test func `a file that was damaged says so`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let allowances = try Allowances([try Allowances.quota(limit: 1)])
    for caller in 0..<500 {
      _ = try await store.take(allowances.charges("\(caller)", at: .noon()), at: .noon())
    }
    await store.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    // Every page but the first, which has the schema.
    for place in stride(from: 4096, to: bytes.count, by: 1) { bytes[place] = 0xA5 }
    try bytes.write(to: URL(fileURLWithPath: path))
    let again = SQLiteStore(path: path)
    #expect(await kind { _ = try await again.take(allowances.charges(at: .noon()), at: .noon()) } == .damaged)
    await again.close()
  }

  @Test func `another program's database is left alone`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let connection = try SQLiteConnection(path: path)
    try connection.execute("CREATE TABLE theirs (a)")
    let store = SQLiteStore(path: path)
    #expect(await kind { try await store.migrate() } == .damaged)
    await store.close()
  }

  @Test func `a newer release's file is not touched`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    await store.close()
    let connection = try SQLiteConnection(path: path)
    try connection.execute("INSERT INTO callgate_schema (version, applied) VALUES (99, 0)")
    let again = SQLiteStore(path: path)
    #expect(await kind { try await again.migrate() } == .incompatible)
    #expect(await kind { try await again.ping() } == .incompatible)
    await again.close()
  }

  @Test(arguments: ["state.sqlite3", "100%3f?# x.sqlite3"])
  func `a look at a file moves, makes and removes nothing`(_ name: String) async throws {
    let (place, _) = try place()
    defer { place.end() }
    let path = "\(place.path)/\(name)"
    func contents() throws -> [String: Data] {
      try FileManager.default.contentsOfDirectory(atPath: place.path).reduce(into: [:]) { files, file in
        // The shared memory records readers, so it may differ.
        let isMemory = file.hasSuffix("-shm")
        files[file] = isMemory ? Data() : try Data(contentsOf: URL(fileURLWithPath: "\(place.path)/\(file)"))
      }
    }
    func look() async throws -> Int {
      let store = SQLiteStore(path: path)
      let version = try await store.inspect()
      await store.close()
      return version
    }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    try await store.stop(Stop(.all, .all, since: 5))
    let open = try contents()
    #expect(open["\(name)-wal"]?.isEmpty == false)
    #expect(try await look() == StoreSchema.latest)
    #expect(try contents() == open)
    await store.close()
    let closed = try contents()
    #expect(closed["\(name)-wal"] == nil)
    #expect(try await look() == StoreSchema.latest)
    #expect(try contents() == closed)
  }

  @Test func `a look at what a killed process left changes neither the file nor its log`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let copy = place.path + "/copy.sqlite3"
    for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: copy + end) }
    func contents() throws -> [Data] {
      try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: copy + $0)) }
    }
    let before = try contents()
    #expect(before.allSatisfy { !$0.isEmpty })
    let killed = SQLiteStore(path: copy)
    #expect(try await killed.inspect() == StoreSchema.latest)
    await killed.close()
    #expect(try contents() == before)
    let files = try FileManager.default.contentsOfDirectory(atPath: place.path).filter {
      $0.hasPrefix("copy")
    }
    #expect(Set(files).subtracting(["copy.sqlite3-shm"]) == ["copy.sqlite3", "copy.sqlite3-wal"])
    await store.close()
  }

  @Test(.enabled(if: geteuid() == 0, "only root can act as a stranger"))
  func `a look finds what this user may not write`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    // Creates the instances file.
    try await store.recoverCallbacks(at: .noon())
    #expect(Self.asStranger { try SQLiteFile.requireWritable(path) } == .refused)
    chmod(path, 0o666)
    chmod(place.path, 0o755)
    // Only the owner can still write the log and the folder.
    #expect(Self.asStranger { try SQLiteFile.requireWritable(path) } == .refused)
    for file in [path + "-wal", path + "-shm"] { chmod(file, 0o666) }
    #expect(Self.asStranger { try SQLiteFile.requireWritable(path) } == .refused)
    chmod(place.path, 0o777)
    #expect(Self.asStranger { try SQLiteFile.requireWritable(path) } == .refused)
    chmod(path + "-instances", 0o666)
    #expect(Self.asStranger { try SQLiteFile.requireWritable(path) } == nil)
    await store.close()
    let folder = SQLiteStore(path: place.path)
    #expect(await kind { _ = try await folder.inspect() } == .misconfigured)
    await folder.close()
  }

  @Test(.enabled(if: geteuid() == 0, "only root can act as a stranger"))
  func `a database of root, or in a folder of root, is refused by its name`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    await store.close()
    let cases: [(mode_t, mode_t, String)] = [(0o644, 0o777, path), (0o666, 0o755, place.path)]
    for (file, folder, named) in cases {
      chmod(path, file)
      chmod(place.path, folder)
      let error = Self.errorOfStranger { _ = try SQLiteConnection(path: path) }
      #expect(error?.kind == .refused)
      let words = error.map { "\($0)" } ?? "no error"
      #expect(words.contains(" \(named)"), "\(words)")
    }
    chmod(place.path, 0o777)
    #expect(Self.asStranger { _ = try SQLiteConnection(path: path) } == nil)
  }

  /// Runs something with the rights of a user who owns nothing, on this thread alone (setfsuid(2)).
  private static func asStranger(_ body: () throws -> Void) -> StoreError.Kind? {
    errorOfStranger(body)?.kind
  }

  private static func errorOfStranger(_ body: () throws -> Void) -> StoreError? {
    let setfsuid = unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (uid_t) -> Int32).self)
    _ = setfsuid(65534)
    defer { _ = setfsuid(0) }
    do {
      try body()
      return nil
    } catch {
      return error as? StoreError
    }
  }

  @Test func `a look reports a newer release's file`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    await store.close()
    let connection = try SQLiteConnection(path: path)
    try connection.execute("INSERT INTO callgate_schema (version, applied) VALUES (99, 0)")
    let again = SQLiteStore(path: path)
    #expect(await kind { _ = try await again.inspect() } == .incompatible)
    await again.close()
  }

  @Test func `a directory that comes later is found without a restart`() async throws {
    let (place, _) = try place()
    defer { place.end() }
    let path = place.path + "/volume/state.sqlite3"
    let store = SQLiteStore(path: path)
    #expect(await kind { try await store.migrate() } == .misconfigured)
    try FileManager.default.createDirectory(
      atPath: place.path + "/volume", withIntermediateDirectories: false)
    try await store.migrate()
    try await store.ping()
    await store.close()
  }

  @Test func `a volume smaller than the usual log is not filled by the log`() async throws {
    let (place, _) = try place()
    defer { place.end() }
    let volume = place.path + "/volume"
    mkdir(volume, 0o700)
    guard (try? ChildProcess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", volume])) != nil else {
      // Needs the right to mount, which not every builder has.
      return FileHandle.standardError.write(
        Data("StoreTests: no right to mount: a small volume is not tested\n".utf8))
    }
    defer { _ = try? ChildProcess.run(["umount", "-l", volume]) }
    let store = SQLiteStore(path: volume + "/state.sqlite3")
    try await store.migrate()
    // Each writes at least a page: together, more than fits on the volume.
    for _ in 0..<2000 { try await store.ping() }
    let log = try #require(try SQLiteFile.status(volume + "/state.sqlite3-wal"))
    #expect(log.st_size < 3 << 20)
    await store.close()
    let again = SQLiteStore(path: volume + "/state.sqlite3")
    try await again.migrate()
    try await again.ping()
    await again.close()
  }

  @Test(arguments: ["removed", "replaced", "moved away and back"])
  func `a file that does not stay is not used until the server restarts`(_ what: String) async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let intent = CallbackIntent.made(key: "k1")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    switch what {
    case "removed": try #require(unlink(path) == 0)
    case "replaced":
      let other = SQLiteStore(path: path + ".restored")
      try await other.migrate()
      await other.close()
      try #require(rename(path + ".restored", path) == 0)
    default: try #require(rename(path, path + ".away") == 0)
    }
    for _ in 0..<2 {
      #expect(await kind { try await store.ping() } == .unavailable)
      #expect(await kind { _ = try await store.begin(.made("+14155550166"), at: .noon()) } == .unavailable)
      #expect(await kind { _ = try await store.callback(intent.id, of: "ios-app") } == .unavailable)
      if what == "moved away and back" { rename(path + ".away", path) }
    }
    // No new file was made in its place.
    if what == "removed" { #expect(access(path, F_OK) != 0) }
    await store.close()
    // The log belongs to the file that is gone.
    if what != "moved away and back" { for end in ["-wal", "-shm"] { unlink(path + end) } }
    let again = SQLiteStore(path: path)
    try await again.migrate()
    try await again.ping()
    #expect(try await (again.callback(intent.id, of: "ios-app") != nil) == (what == "moved away and back"))
    await again.close()
  }

  @Test func `a full disk fails closed and works again when there is room`() async throws {
    let (place, _) = try place()
    defer { place.end() }
    let volume = place.path + "/volume"
    mkdir(volume, 0o700)
    guard (try? ChildProcess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", volume])) != nil else {
      // Needs the right to mount, which not every builder has.
      return FileHandle.standardError.write(
        Data("StoreTests: no right to mount: a full disk is not tested\n".utf8))
    }
    defer { _ = try? ChildProcess.run(["umount", "-l", volume]) }
    let store = SQLiteStore(path: volume + "/state.sqlite3")
    try await store.migrate()
    let allowances = try Allowances([try Allowances.quota(limit: 3)])
    let filler = volume + "/filler"
    // A process that another test starts must not inherit the open file, which would use the space until that
    // process ends.
    let descriptor = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    let page = [UInt8](repeating: 0, count: 4096)
    while write(descriptor, page, page.count) > 0 {}
    var failure: StoreError?
    var taken = 0
    // Upgrades leave free pages in the file, which are filled first.
    for caller in 0..<20_000 where failure == nil {
      do throws(StoreError) {
        if try await store.take(allowances.charges("\(caller)", at: .noon()), at: .noon()).isTaken {
          taken += 1
        }
      } catch {
        failure = error
      }
    }
    #expect(failure?.kind == .full, "\(taken) \(String(describing: failure))")
    // A store that can be read but not written is unhealthy, and a write of one row notices it.
    _ = try await store.stops()
    #expect(store.health.failure?.kind == .full)
    try await retry {
      // A write may still find room in the log.
      let found = await kind { try await store.ping() }
      guard found == .full else { throw StoreError(.rejected, "test", "\(String(describing: found))") }
    }
    #expect(store.health.failure?.kind == .full)
    #expect(store.health.errors[.full, default: 0] > 1)
    close(descriptor)
    unlink(filler)
    try await retry { try await store.ping() }
    #expect(store.health.failure == nil)
    #expect(try await store.take(allowances.charges("x", at: .noon()), at: .noon()).isTaken)
    await store.close()
    // Read-only from here on.
    try ChildProcess.run(["mount", "-o", "remount,ro", volume])
    let late = SQLiteStore(path: volume + "/state.sqlite3")
    let refusal = await kind { _ = try await late.take(allowances.charges("y", at: .noon()), at: .noon()) }
    #expect(refusal == .readOnly || refusal == .unavailable, "\(String(describing: refusal))")
    #expect(late.health.failure?.kind == refusal)
    await late.close()
  }

  @Test(arguments: [
    (3_006_023, false), (3_007_000, true), (3_040_001, true), (3_044_005, true), (3_044_006, false),
    (3_045_001, true),
    (3_050_006, true), (3_050_007, false), (3_051_000, true), (3_051_002, true), (3_051_003, false),
    (3_053_000, false),
  ])
  func `versions that may lose transactions beside another process are known`(
    _ number: Int, _ isAffected: Bool
  ) {
    #expect(SQLiteVersion(number: number).hasWALResetBug == isAffected)
    #expect(SQLiteVersion(number: 3_051_002).description == "3.51.2")
    #expect(SQLiteVersion.current.number >= 3_037_000)
  }

  @Test func `no name or number stands in the file`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let keys = [
      AllowanceKey(rule: "per-number", party: .phone(try E164("+14155550123"))),
      AllowanceKey(rule: "per-number", party: .subject("ann@example.com")),
    ]
    try await store.update(keys, at: .noon()) { states, _ in
      AllowanceUpdate(writes: states.map { _ in .put(.init(mark: 1, count: 1), expiry: .max) }, result: ())
    }
    await store.close()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    for secret in ["4155550123", "ann@example", "per-number"] {
      #expect(bytes.range(of: Data(secret.utf8)) == nil)
    }
  }
}

/// The kind of error that a call fails with; nil if it succeeds.
func kind(_ body: () async throws -> Void) async -> StoreError.Kind? {
  do {
    try await body()
    return nil
  } catch {
    return (error as? StoreError)?.kind
  }
}

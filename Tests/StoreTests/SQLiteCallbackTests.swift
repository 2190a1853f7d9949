// Tests of callback records in SQLite, including those of processes that were killed.

import Foundation
import Gate
import Glibc
import JOSE
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore
@testable import Store

@Suite struct SQLiteCallbackTests {
  private func place() throws -> (place: TemporaryPlace, path: String) {
    let place = try TemporaryPlace()
    return (place, place.path + "/state.sqlite3")
  }

  @Test func `a killed process's callbacks are unknown at the start of the next`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let first = SQLiteStore(path: path)
    try await first.migrate()
    let kept = CallbackIntent.made("+14155550199", key: "kept")
    #expect(try await first.begin(kept, at: .noon()) == .begun)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let store = SQLiteStore(path: path)
      for number in 0..<50 {
        _ = try await store.begin(.made("+141555501\(10 + number)", key: "\(number)"), at: .noon())
      }
      let settled = CallbackIntent.made("+14155550198", key: "settled")
      _ = try await store.begin(settled, at: .noon())
      try await store.settle(settled.id, .accepted())
      kill(getpid(), SIGKILL)
    }
    let next = SQLiteStore(path: path)
    try await next.migrate()
    #expect(try await next.recoverCallbacks(at: .noon(1)).callbacks == 50)
    for number in 0..<50 {
      let again = CallbackIntent.made("+141555501\(10 + number)", key: "\(number)")
      guard case .replay(let record) = try await next.begin(again, at: .noon(2)) else {
        return #expect(Bool(false), "\(number)")
      }
      #expect(record.status == .unknown && record.code == "outcome_unknown")
    }
    guard case .replay(let record) = try await next.begin(.made(key: "settled"), at: .noon(2)) else {
      // The number differs from that of the record: the key alone decides.
      return #expect(Bool(false))
    }
    #expect(record.status == .accepted)
    // The first process is alive.
    #expect(try await next.callback(kept.id, of: "ios-app")?.status == .pending)
    #expect(try await first.settle(kept.id, .accepted())?.status == .accepted)
    await next.close()
    await first.close()
  }

  @Test func `a repetition gets what an earlier release wrote down as the whole answer`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let first = SQLiteStore(path: path)
    try await first.migrate()
    let intent = CallbackIntent.made(key: "k")
    #expect(try await first.begin(intent, at: .noon()) == .begun)
    try await first.settle(intent.id, .failed(fields: []))
    await first.close()
    do {
      let connection = try SQLiteConnection(path: path)
      let answer =
        #"{"status":422,"code":"invalid_request","fields":[{"name":"a","description":"x"},{"name":"b"}]}"#
      try SQLiteStatement(connection, "UPDATE callgate_callback_key SET answer_status = 422, answer = ?")
        .run([.bytes(Array(answer.utf8))])
    }
    let next = SQLiteStore(path: path)
    guard case .replay(let record) = try await next.begin(.made(key: "k"), at: .noon(2)) else {
      return #expect(Bool(false))
    }
    #expect(record.id == intent.id && record.refusedFields == ["a", "b"])
    await next.close()
  }

  @Test(arguments: [
    ("", []), ("[]", []), (#"["a"]"#, ["a"]), ("{}", []), (#"{"fields":{}}"#, []),
    (#"{"id":"1","status":"accepted"}"#, []),
    (#"{"fields":[{"name":"a"},{"description":"no name"},7]}"#, ["a"]), ("no JSON", []),
  ])
  func `names of refused fields are read from each release's form`(stored: String, names: [String]) {
    #expect(RefusedFields.read(Array(stored.utf8)) == names)
  }

  @Test func `only its owner may read the file of instances, and one that was removed is made again`()
    async throws
  {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let intent = CallbackIntent.made()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    let file = path + "-instances"
    var status = stat()
    #expect(stat(file, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(status.st_size == 0)
    // The instance notices the missing file during its next upkeep, and others see it as alive again.
    unlink(file)
    #expect(try await store.recoverCallbacks(at: .noon(1)).callbacks == 0)
    let other = SQLiteStore(path: path)
    #expect(try await other.recoverCallbacks(at: .noon(1)).callbacks == 0)
    await store.close()
    #expect(try await other.recoverCallbacks(at: .noon(2)).callbacks == 1)
    await other.close()
  }

  @Test func `a link to the file leads to the same instances`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    #expect(try await store.begin(.made(), at: .noon()) == .begun)
    let link = place.path + "/link.sqlite3"
    #expect(symlink(path, link) == 0)
    let other = SQLiteStore(path: link)
    #expect(try await other.recoverCallbacks(at: .noon(1)).callbacks == 0)
    await store.close()
    #expect(try await other.recoverCallbacks(at: .noon(1)).callbacks == 1)
    await other.close()
  }

  @Test func `a place for instances that cannot be had lets nothing begin`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    mkdir(path + "-instances", 0o700)
    #expect(await kind { _ = try await store.begin(.made(), at: .noon()) } == .unavailable)
    rmdir(path + "-instances")
    try await retry { try await store.ping() }
    #expect(try await store.begin(.made(), at: .noon()) == .begun)
    await store.close()
  }

  @Test func `neither number nor key nor what was asked for stands in the file`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    let intent = CallbackIntent.made("+14155550165", key: "the-client's-key", asks: "the-fingerprint")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    for pending in [true, false] {
      if !pending { try await store.settle(intent.id, .accepted()) }
      for file in [path, path + "-wal"] {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        for secret in ["4155550165", "client's-key", "the-fingerprint"] {
          #expect(bytes.range(of: Data(secret.utf8)) == nil)
        }
      }
    }
    await store.close()
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data("+*********65".utf8)) != nil)
  }

  @Test func `a file of the version before is brought up to date with what is in it`() async throws {
    let (place, path) = try place()
    defer { place.end() }
    let allowances = try Allowances([try Allowances.quota(limit: 5)])
    let charges = allowances.charges(at: .noon())
    do {
      let connection = try SQLiteConnection(path: path)
      try connection.execute(
        "CREATE TABLE callgate_schema (version INTEGER PRIMARY KEY NOT NULL, applied INTEGER NOT NULL) STRICT"
      )
      for statement in Migration.all[0].sqlite { try connection.execute(statement) }
      try connection.execute("INSERT INTO callgate_schema (version, applied) VALUES (1, 7)")
      let key = StoreID(high: 1, low: 2)
      try connection.execute("INSERT INTO callgate_meta (name, value) VALUES ('hash_key', '\(key.hex)')")
      guard case .taken(let state) = charges[0].plan.take(from: nil, at: .noon()) else { return }
      try SQLiteStatement(
        connection, "INSERT INTO callgate_allowance (id, mark, used, expires) VALUES (?, ?, 4, ?)"
      ).run([
        .bytes(StoreIDMaker(key: key).id(of: charges[0].key).bytes), .integer(state.mark), .integer(.max / 2),
      ])
      try connection.execute(
        """
        INSERT INTO callgate_stop (scope, id, action, since) VALUES
          ('app', 'shop', 'access', 3), ('all', '', 'access', 2), ('all', '', 'callback', 2)
        """)
    }
    let store = SQLiteStore(path: path)
    let error = await #expect(throws: StoreError.self) { try await store.ping() }
    #expect(error?.kind == .incompatible)
    let latest = Migration.latest
    #expect(
      error?.message == "version 1 is older than this release's \(latest): run `callgate migrate`")
    try await store.migrate()
    try await store.ping()
    #expect(try await store.take(charges, at: .noon()).isTaken)
    #expect(try await store.take(charges, at: .noon()).isRefused)
    // A stop of all actions that its release knew is now a stop of all actions.
    #expect(
      try await store.stops().list == [Stop(.all, .all, since: 2), Stop(.app("shop"), .access, since: 3)])
    #expect(try await store.begin(.made(key: "k"), at: .noon()) == .begun)
    await store.close()
  }

  /// - Parameter times: how often the other process seals the value again right after it was read.
  @Test(arguments: [(times: 1, count: 1, kept: [2, 3] as [UInt8]), (times: 9, count: 0, kept: [4])])
  func `a value that another process has sealed again meanwhile is read again, and not replaced unread`(
    times: Int, count: Int, kept: [UInt8]
  ) async throws {
    let (place, path) = try place()
    defer { place.end() }
    let store = SQLiteStore(path: path)
    try await store.migrate()
    #expect(try await store.begin(.made("+14155550199"), at: .noon()) == .begun)
    let key = try #require(StoreKeyID([UInt8](repeating: 7, count: StoreKeyID.byteCount)))
    let seal = "UPDATE callgate_callback SET content_key = x'\(Hex.encode(key.bytes))', content = "
    let other = try SQLiteConnection(path: path)
    try other.execute(seal + "x'01'")
    let readings = Mutex(0)
    let replaced = try await store.reseal(key) { [path = path as String] value in
      let reading = readings.withLock { readings in
        readings += 1
        return readings
      }
      if reading <= times {
        do { try SQLiteConnection(path: path).execute(seal + "x'0\(reading + 1)'") } catch {
          Issue.record(error)
        }
      }
      return value.sealed + [3]
    }
    #expect(replaced == count)
    var content: [UInt8] = []
    try SQLiteStatement(other, "SELECT content FROM callgate_callback").run { content = $0.blob(0) }
    #expect(content == kept)
    await store.close()
  }
}

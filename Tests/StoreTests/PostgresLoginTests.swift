// Tests of a database password that changes while the server runs.

import DatabaseURL
import Foundation
import Gate
import Platform
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresLoginTests {
  /// A store whose role has just got another password, and a count of the reads of its address since then.
  private struct Rotated {
    let store: PostgresStore
    let reads: Counter
    let login: PostgresLogin
    let clock: ManualTime
    /// The address with the password that the role has now.
    let current: PostgresAddress
  }

  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
  }

  private func rotated(rereads: Bool) async throws -> Rotated {
    let server = try PostgresServer.shared.get()
    let name = try #require(try server.database().text.split(separator: "/").last.map(String.init))
    _ = try server.query(name, "CREATE ROLE \(name) LOGIN SUPERUSER PASSWORD 'before'")
    func address(_ password: String) throws -> PostgresAddress {
      try PostgresAddress("postgres://\(name):\(password)@127.0.0.1:\(server.port)/\(name)")
    }
    let (before, after) = (try address("before"), try address("after"))
    let reads = Counter()
    let login = PostgresLogin(before) {
      reads.add()
      return rereads ? after : before
    }
    let clock = ManualTime(UnixTime(seconds: SystemClock().unixTime.seconds))
    let store = PostgresStore(login, connections: 1, clock: clock)
    try await store.migrate()
    _ = try server.query(name, "ALTER ROLE \(name) PASSWORD 'after'")
    _ = try server.query(
      name, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '\(name)'")
    return Rotated(store: store, reads: reads, login: login, clock: clock, current: after)
  }

  @Test func `a password that was changed in its file is used as soon as the database refuses the old one`()
    async throws
  {
    let rotated = try await rotated(rereads: true)
    try await rotated.store.ping()
    #expect(rotated.reads.value == 1)
    #expect(rotated.store.health.failure == nil)
    await rotated.store.close()
  }

  @Test func `a password that is missing is a refused login, like a wrong one`() async throws {
    let server = try PostgresServer.shared.get()
    let name = try #require(try server.database().text.split(separator: "/").last.map(String.init))
    let address = try PostgresAddress("postgres://callgate@127.0.0.1:\(server.port)/\(name)")
    let store = PostgresStore(address)
    #expect(await kind { try await store.migrate() } == .refused)
    await store.close()
  }

  @Test func `a file with the refused password is not read more often than the server connects`() async throws
  {
    let rotated = try await rotated(rereads: false)
    for _ in 0..<20 { #expect(await kind { try await rotated.store.ping() } == .refused) }
    #expect(rotated.reads.value == 1)
    rotated.clock.advance(by: .seconds(2))
    #expect(await kind { try await rotated.store.ping() } == .refused)
    #expect(rotated.reads.value == 2)
    // A reload brings the new password.
    rotated.login.use(rotated.current)
    rotated.clock.advance(by: .seconds(2))
    try await rotated.store.ping()
    await rotated.store.close()
  }
}

@Suite struct PostgresDatabaseTests {
  @Test func `a home that is another user's says nothing about a client's certificate`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(!PostgresRoute.hasClosedCertificate(home: folder))
    // Root may enter every folder, so a loop of links stands for one that is closed.
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/.postgresql", withDestinationPath: ".postgresql")
    #expect(PostgresRoute.hasClosedCertificate(home: folder))
    try FileManager.default.removeItem(atPath: folder + "/.postgresql")
    #expect(FileManager.default.createFile(atPath: folder + "/.postgresql", contents: nil))
    #expect(!PostgresRoute.hasClosedCertificate(home: folder))
  }

  @Test(arguments: [
    ("postgres://u:other@h/d", true), ("postgres://v:q@h/d", true), ("postgres://u:p@h:5432/d", true),
    ("postgres://u:p@h/d?sslmode=require", true), ("postgres://u:p@h/e", false),
    ("postgres://u:p@i/d", false),
    ("postgres://u:p@h:5433/d", false), ("postgres://u:p@h,i/d", false), ("postgres://u:p@h", false),
    ("postgres://d:p@h", true),
  ])
  func `another login is taken at once, another database never`(_ text: String, _ isTaken: Bool) throws {
    let login = PostgresLogin(try PostgresAddress("postgres://u:p@h/d"))
    login.use(try PostgresAddress(text))
    #expect(login.address.text == (isTaken ? text : "postgres://u:p@h/d"))
  }
}

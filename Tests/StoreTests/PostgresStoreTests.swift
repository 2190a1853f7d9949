// Tests of the PostgreSQL store with a real server that hangs, crashes and comes back.

import DatabaseURL
import Foundation
import Gate
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresStoreTests {
  @Test func `instances never exceed a limit together, and use it up to the last`() async throws {
    let address = try PostgresServer.shared.get().database()
    let allowances = try Allowances([
      try Allowances.quota("daily", limit: 2000),
      try Allowances.rate("rate", limit: 3000, per: 3600, burst: 2500),
    ])
    let now = Instant.noon()
    let charges = allowances.charges(at: now)
    let stores = (0..<3).map { _ in PostgresStore(address) }
    try await stores[0].migrate()
    let granted = await withTaskGroup(of: Int.self) { group in
      for task in 0..<48 {
        let ledger = AllowanceLedger(store: stores[task % 3])
        group.addTask {
          var granted = 0
          for _ in 0..<75 where await ledger.take(charges, at: now).outcome.isTaken { granted += 1 }
          return granted
        }
      }
      return await group.reduce(0, +)
    }
    #expect(granted == 2000)
    let states = try await stores[0].states(of: charges.map(\.key))
    #expect(states[0]?.count == 2000)
    for store in stores { await store.close() }
  }

  @Test func `a server that went away fails quickly, and one that came back is used`() async throws {
    let server = try PostgresServer()
    let store = PostgresStore(try server.database())
    try await store.migrate()
    let allowances = try Allowances([try Allowances.quota(limit: 100)])
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    try server.stop()
    let clock = ContinuousClock()
    for _ in 0..<20 {
      let started = clock.now
      #expect(
        await kind { _ = try await store.take(allowances.charges(at: .noon()), at: .noon()) } == .unavailable)
      #expect(await kind { _ = try await store.stops() } == .unavailable)
      // Neither call waits for a session for its limit of five seconds.
      #expect(clock.now - started < .seconds(5))
    }
    try server.start()
    try await retry { try await store.ping() }
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    // The server may lose a count of its own, which it commits without waiting for the disk.
    let count = try await store.states(of: allowances.charges(at: .noon()).map(\.key))[0]?.count
    #expect(count == 1 || count == 2)
    await store.close()
  }

  @Test func `a hanging server is given up in time, and used again when it continues`() async throws {
    let server = try PostgresServer()
    let store = PostgresStore(try server.database())
    try await store.migrate()
    let allowances = try Allowances([try Allowances.quota(limit: 100_000)])
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    try server.freeze(true)
    let clock = ContinuousClock()
    let started = clock.now
    await withTaskGroup(of: StoreError.Kind?.self) { group in
      for _ in 0..<50 {
        group.addTask {
          await kind { _ = try await store.take(allowances.charges(at: .noon()), at: .noon()) }
        }
      }
      for await kind in group { #expect(kind == .unavailable) }
    }
    #expect(clock.now - started < .seconds(8))
    try server.freeze(false)
    try await retry { try await store.ping() }
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    await store.close()
  }

  @Test func `a crash of the server keeps the count of each record, and of no more than the limit`()
    async throws
  {
    let server = try PostgresServer(options: ["fsync = on", "wal_writer_delay = 10s"])
    let address = try server.database()
    let store = PostgresStore(address)
    try await store.migrate()
    let charges = try Allowances([try Allowances.quota(limit: 600)]).charges(at: .noon())
    let isDone = Flag()
    let begun = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var begun = 0
          while !isDone.isSet {
            do {
              // A count without a record, which a crash may lose.
              guard try await store.take(charges, at: .noon()).isTaken else { return begun }
              // Like a callback: first its count, then its record.
              guard try await store.take(charges, at: .noon()).isTaken else { return begun }
              _ = try await store.begin(.made(window: .zero), at: .noon())
              begun += 1
            } catch {
              try await Task.sleep(for: .milliseconds(5))
            }
          }
          return begun
        }
      }
      group.addTask {
        for _ in 0..<3 {
          try await Task.sleep(for: .milliseconds(100))
          try server.stop()
          try server.start()
        }
        // Long enough for the other tasks. Only prevents an endless wait.
        do { try await Task.sleep(for: .seconds(60)) } catch { return 0 }
        isDone.set()
        return 0
      }
      var begun = 0
      var left = 8
      while let count = try await group.next() {
        begun += count
        left -= 1
        if left == 0 { group.cancelAll() }
        if left < 0 { break }
      }
      return begun
    }
    try server.stop()
    try server.start()
    let count = try await PostgresStore(address).states(of: charges.map(\.key))[0]?.count ?? 0
    // A commit whose answer was lost counts and grants nothing.
    #expect(begun > 100)
    #expect(begun <= count && count <= 600, "\(begun) \(count)")
    await store.close()
  }

  @Test func `connections that were ended are replaced without an error`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let store = PostgresStore(address, connections: 1)
    try await store.migrate()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    for _ in 0..<3 {
      _ = try server.query(
        "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
      try await store.ping()
    }
    await store.close()
  }

  @Test func `a refused password is not shown`() async throws {
    let server = try PostgresServer.shared.get()
    let store = PostgresStore(
      try PostgresAddress("postgres://callgate:hunter2@127.0.0.1:\(server.port)/postgres"))
    let error = await #expect(throws: StoreError.self) { try await store.migrate() }
    // Waiting does not help here, and the server's error code says so.
    #expect(error?.kind == .refused)
    #expect(error.map { "\($0)".contains("hunter2") } == false)
    #expect(error?.message.contains("password authentication failed") == true)
    #expect(error?.message.contains("LOCATION") == false)
    #expect(error?.message.hasSuffix("(28P01)") == true)
    // The server is not asked again at once, because it may count failed logins.
    #expect(await kind { try await store.ping() } == .refused)
    await store.close()
    let none = PostgresStore(try server.address("none"))
    #expect(await kind { try await none.ping() } == .refused)
    await none.close()
  }

  @Test func `TLS is used as the address says`() async throws {
    let server = try PostgresServer()
    let plain = PostgresStore(try server.address("postgres", parameters: "?sslmode=require"))
    #expect(await kind { try await plain.migrate() } == .unavailable)
    await plain.close()
    // With a certificate for another name.
    let data = server.directory + "/data"
    try server.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-days", "1",
      "-subj", "/CN=db.example", "-keyout", data + "/server.key", "-out", data + "/server.crt",
    ])
    try server.stop()
    try server.run(["sh", "-c", "echo 'ssl = on' >> \(data)/postgresql.conf"])
    try server.start()
    let secure = PostgresStore(try server.address("postgres", parameters: "?sslmode=require"))
    try await secure.migrate()
    #expect(
      try server.query(
        "postgres",
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'callgate' AND ssl"
      ) != "0\n")
    await secure.close()
    let root = "&sslrootcert=\(data)/server.crt"
    let trusted = PostgresStore(try server.address("postgres", parameters: "?sslmode=verify-ca\(root)"))
    try await trusted.ping()
    await trusted.close()
    let strict = PostgresStore(try server.address("postgres", parameters: "?sslmode=verify-full\(root)"))
    #expect(await kind { try await strict.ping() } == .unavailable)
    await strict.close()
  }

  @Test func `a newer release's schema is refused`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let store = PostgresStore(address)
    try await store.migrate()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    _ = try server.query(name, "INSERT INTO callgate_schema (version, applied) VALUES (99, 0)")
    let again = PostgresStore(address)
    #expect(await kind { try await again.migrate() } == .incompatible)
    #expect(await kind { try await again.ping() } == .incompatible)
    #expect(await kind { _ = try await again.inspect() } == .incompatible)
    await again.close()
    await store.close()
  }

  @Test func `a newer release's schema leaves the connections of running instances to them`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let store = PostgresStore(address, connections: 1)
    try await store.migrate()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    try await store.ping()
    _ = try server.query(name, "INSERT INTO callgate_schema (version, applied) VALUES (99, 0)")
    let allowances = try Allowances([try Allowances.quota(limit: 100)])
    for _ in 0..<3 {
      try await store.ping()
      #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
      #expect(try await store.stops().isEmpty)
      #expect(store.health.failure == nil)
    }
    // A new connection checks the schema.
    _ = try server.query(
      "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
    #expect(await kind { try await store.ping() } == .incompatible)
    #expect(store.health.failure?.kind == .incompatible)
    await store.close()
  }

  @Test func `after a newer release's schema one broken connection leaves the others their work`()
    async throws
  {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let store = PostgresStore(address, connections: 3)
    try await store.migrate()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    let connections = "pg_stat_activity WHERE datname = '\(name)' AND application_name = 'callgate'"
    #expect(try server.query("postgres", "SELECT count(*) FROM \(connections)") == "3\n")
    try await eventually { store.sessions.idle == 3 }
    try await store.ping()
    _ = try server.query(name, "INSERT INTO callgate_schema (version, applied) VALUES (99, 0)")
    // The connection that was used last is the next to be used.
    _ = try server.query(
      "postgres",
      """
      SELECT pg_terminate_backend(pid) FROM
      (SELECT pid FROM \(connections) ORDER BY query_start DESC LIMIT 1) AS last
      """)
    try await eventually {
      try server.query("postgres", "SELECT count(*) FROM \(connections)") == "2\n"
    }
    let charges = try Allowances([try Allowances.quota(limit: 100)]).charges(at: .noon())
    try await eventually { store.sessions.idle == 3 }
    #expect(await kind { _ = try await store.take(charges, at: .noon()) } == .incompatible)
    try await eventually { store.sessions.idle == 3 }
    try await store.ping()
    #expect(store.health.failure == nil)
    for _ in 0..<20 {
      // A connection returns its result before it is idle.
      try await eventually { store.sessions.idle == 3 }
      #expect(try await store.take(charges, at: .noon()).isTaken)
    }
    #expect(store.health.failure == nil)
    await store.close()
  }

  @Test func `a look proves that a role can write, and leaves nothing`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let store = PostgresStore(address)
    #expect(try await store.inspect() == 0)
    try await store.migrate()
    #expect(try await store.inspect() == StoreSchema.latest)
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    #expect(try server.query(name, "SELECT count(*) FROM callgate_instance") == "0\n")
    await store.close()
    _ = try server.query("postgres", "ALTER DATABASE \(name) SET default_transaction_read_only = on")
    let reading = PostgresStore(address)
    #expect(await kind { _ = try await reading.inspect() } == .readOnly)
    await reading.close()
  }

  @Test func `refusals leave nothing behind and write nothing`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let store = PostgresStore(address)
    try await store.migrate()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    let allowances = try Allowances([
      try Allowances.quota("one", limit: 1), try Allowances.quota("two", limit: 5, key: .subject),
    ])
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    for number in 0..<20 {
      #expect(
        try await store.take(allowances.charges(subject: "\(number)", at: .noon()), at: .noon()).isRefused)
    }
    #expect(try server.query(name, "SELECT count(*) FROM callgate_allowance") == "2\n")
    await store.close()
  }
}

/// Something that happens once.
private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}

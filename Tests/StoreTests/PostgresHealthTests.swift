// Tests of how the store finds a working PostgreSQL server and judges its health.

import DatabaseURL
import Foundation
import Gate
import Glibc
import Platform
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

/// How a store reaches a real server, and what its health says about it.
@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresHealthTests {
  private let server = PostgresServer.shared

  private func database() throws -> (PostgresServer, PostgresAddress, String) {
    let server = try server.get()
    let address = try server.database()
    return (server, address, try #require(address.text.split(separator: "/").last.map(String.init)))
  }

  @Test func `a server that is read only is unavailable until a write succeeds`() async throws {
    let (server, address, name) = try database()
    let store = PostgresStore(address)
    try await store.migrate()
    try await store.ping()
    #expect(store.health.failure == nil)
    _ = try server.query("postgres", "ALTER DATABASE \(name) SET default_transaction_read_only = on")
    _ = try server.query(
      "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
    let callback = await kind { _ = try await store.begin(.made(), at: .noon()) }
    #expect(callback == .readOnly)
    #expect(store.health.failure?.kind == .readOnly)
    // The store can still be read.
    try await retry { _ = try await store.stops() }
    #expect(store.health.failure?.kind == .readOnly)
    #expect(await kind { try await store.ping() } == .readOnly)
    #expect(await kind { try await store.recoverCallbacks(at: .noon()) } == .readOnly)
    _ = try server.query("postgres", "ALTER DATABASE \(name) RESET default_transaction_read_only")
    try await retry { try await store.ping() }
    #expect(store.health.failure == nil)
    await store.close()
  }

  @Test func `a commit is on the disk when it returns, whatever the role's setting`() async throws {
    let (server, address, name) = try database()
    for (setting, used) in [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")] {
      _ = try server.query("postgres", "ALTER DATABASE \(name) SET synchronous_commit = \(setting)")
      let connection = try PostgresRoute().connect(to: address, within: .seconds(3))
      let rows = try connection.run([.plain("SHOW synchronous_commit")], within: .seconds(3))
      #expect(rows[0].rows == [PostgresRow([used])])
    }
  }

  @Test func `settings that lose what was committed are found`() async throws {
    // The servers of these tests run without fsync.
    let (_, address, _) = try database()
    let connection = try PostgresRoute().connect(to: address, within: .seconds(3))
    #expect(connection.unsafeSettings == ["fsync = off"])
    let server = try PostgresServer(options: ["fsync = on", "full_page_writes = off"])
    let other = try PostgresRoute().connect(to: try server.database(), within: .seconds(3))
    #expect(other.unsafeSettings == ["full_page_writes = off"])
  }

  @Test func `a first server that never answers is passed over, and not tried first again`() async throws {
    let (server, _, name) = try database()
    let silent = try SilentServer()
    let address = try PostgresAddress(
      "postgres://callgate:secret@127.0.0.1:\(silent.port),127.0.0.1:\(server.port)/\(name)?connect_timeout=2"
    )
    let store = PostgresStore(address, connections: 1)
    try await store.migrate()
    // On a busy machine the other server may need a second attempt.
    #expect(silent.accepted >= 1)
    for _ in 0..<3 {
      _ = try server.query(
        "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
      try await store.ping()
    }
    #expect(silent.accepted == 0)
    await store.close()
  }

  @Test func `of three that never answer and one that does, that one is found`() async throws {
    let (server, _, name) = try database()
    let silent = try (0..<3).map { _ in try SilentServer() }
    let hosts = silent.map { "127.0.0.1:\($0.port)" } + ["127.0.0.1:\(server.port)"]
    let address = try PostgresAddress("postgres://callgate:secret@\(hosts.joined(separator: ","))/\(name)")
    let route = PostgresRoute()
    #expect(throws: PostgresFailure.self) { try route.connect(to: address, within: .seconds(3)) }
    #expect(silent.map(\.accepted) == [1, 1, 1])
    _ = try route.connect(to: address, within: .seconds(3))
  }

  @Test func `all addresses of a name are tried`() async throws {
    let (server, _, name) = try database()
    let silent = try SilentServer(address: 0x7F00_0002, port: server.port)
    let route = PostgresRoute { host in
      [0x02, 0x01].map { PostgresHost(name: host.name, address: "127.0.0.\($0)", port: host.port) }
    }
    let address = try PostgresAddress("postgres://callgate:secret@db.example:\(server.port)/\(name)")
    let connection = try route.connect(to: address, within: .seconds(3))
    #expect(try connection.run([.plain("SELECT 1")], within: .seconds(3))[0].rows == [PostgresRow(["1"])])
    withExtendedLifetime(silent) {}
  }

  @Test func `of several servers the one is used that can be written`() async throws {
    let server = try server.get()
    let standby = try PostgresServer(options: ["default_transaction_read_only = on"])
    let hosts = "127.0.0.1:\(standby.port),127.0.0.1:\(server.port)"
    let address = try PostgresAddress("postgres://callgate:secret@\(hosts)/postgres")
    let connection = try PostgresRoute().connect(to: address, within: .seconds(3))
    let rows = try connection.run([.plain("SHOW port")], within: .seconds(3))
    #expect(rows[0].rows == [PostgresRow(["\(server.port)"])])
  }

  @Test func `of one name's several addresses the one is used that can be written`() async throws {
    let server = try server.get()
    let standby = try PostgresServer(options: ["default_transaction_read_only = on"])
    func route(_ ports: [Int]) -> PostgresRoute {
      PostgresRoute { host in
        ports.map { PostgresHost(name: host.name, address: "127.0.0.1", port: "\($0)") }
      }
    }
    let address = try PostgresAddress("postgres://callgate:secret@db.example/postgres")
    for ports in [[standby.port, server.port], [server.port, standby.port]] {
      let connection = try route(ports).connect(to: address, within: .seconds(3))
      let rows = try connection.run([.plain("SHOW port")], within: .seconds(3))
      #expect(rows[0].rows == [PostgresRow(["\(server.port)"])])
    }
    // A standby alone is accepted for reading, and an address may accept any server.
    _ = try route([standby.port]).connect(to: address, within: .seconds(3))
    let any = try PostgresAddress(
      "postgres://callgate:secret@db.example/postgres?target_session_attrs=any")
    let connection = try route([standby.port, server.port]).connect(to: any, within: .seconds(3))
    #expect(
      try connection.run([.plain("SHOW port")], within: .seconds(3))[0].rows == [
        PostgresRow(["\(standby.port)"])
      ])
  }

  @Test func `where no server can be written the first is used, and can be read`() async throws {
    let (server, address, name) = try database()
    let made = PostgresStore(address)
    try await made.migrate()
    try await made.stop(Stop(.all, .all, since: 5))
    await made.close()
    _ = try server.query("postgres", "ALTER DATABASE \(name) SET default_transaction_read_only = on")
    // Two addresses for one name, like `localhost`.
    let route = PostgresRoute { host in
      [1, 2].map { PostgresHost(name: host.name, address: "127.0.0.\($0)", port: host.port) }
    }
    let named = try PostgresAddress("postgres://callgate:secret@db.example:\(server.port)/\(name)")
    let connection = try route.connect(to: named, within: .seconds(3))
    #expect(connection.isReadOnly)
    let hosts = "127.0.0.1:\(server.port),127.0.0.1:\(server.port)"
    let store = PostgresStore(
      try PostgresAddress("postgres://callgate:secret@\(hosts)/\(name)"), connections: 1)
    #expect(try await store.stops().list == [Stop(.all, .all, since: 5)])
    #expect(await kind { try await store.ping() } == .readOnly)
    try await retry { _ = try await store.stops() }
    #expect(store.health.failure?.kind == .readOnly)
    _ = try server.query("postgres", "ALTER DATABASE \(name) RESET default_transaction_read_only")
    try await retry { try await store.ping() }
    await store.close()
  }

  @Test func `missing results do not cause an endless loop`() async throws {
    let (_, address, _) = try database()
    // An endless loop would end the other process by its alarm.
    await #expect(processExitsWith: .success) { [text = address.text as String] in
      alarm(30)
      let connection = try PostgresRoute().connect(to: try PostgresAddress(text), within: .seconds(10))
      #expect(throws: PostgresFailure.self) {
        try connection.collect(until: SystemClock().now + .seconds(10))
      }
    }
  }

  @Test func `a password that is refused is not tried at the next server`() async throws {
    let (server, _, name) = try database()
    let silent = try SilentServer()
    let hosts = "127.0.0.1:\(server.port),127.0.0.1:\(silent.port)"
    let address = try PostgresAddress("postgres://callgate:wrong@\(hosts)/\(name)")
    let failure = #expect(throws: PostgresFailure.self) {
      try PostgresRoute().connect(to: address, within: .seconds(3))
    }
    #expect(failure?.state == "28P01")
    #expect(silent.accepted == 0)
  }

  @Test func `a name without an address is reported, and the next server used`() async throws {
    let (server, _, name) = try database()
    let route = PostgresRoute { host throws(PostgresFailure) in
      guard host.name == "127.0.0.1" else {
        throw PostgresFailure(operation: PostgresFailure.connecting, message: "no such name")
      }
      return [host]
    }
    let both = try PostgresAddress("postgres://callgate:secret@none.example,127.0.0.1:\(server.port)/\(name)")
    _ = try route.connect(to: both, within: .seconds(3))
    let none = try PostgresAddress("postgres://callgate:secret@none.example/\(name)")
    let failure = #expect(throws: PostgresFailure.self) { try route.connect(to: none, within: .seconds(3)) }
    #expect(failure?.message == "no such name")
    #expect(failure?.storeError.kind == .unavailable)
  }

  @Test func `the clocks are compared`() async throws {
    let (_, address, _) = try database()
    for shift in [Duration.zero, .seconds(5), .seconds(-3600)] {
      let store = PostgresStore(address, connections: 1, clock: ShiftedClock(shift: shift))
      try await store.migrate()
      #expect(store.health.clockAhead == nil)
      try await store.ping()
      let ahead = try #require(store.health.clockAhead)
      #expect(abs((ahead - shift).nanosecondsClamped) < 500_000_000, "\(ahead)")
      await store.close()
    }
  }

  @Test(arguments: ["LATIN1", "EUC_JP"])
  func `a database that cannot save every name is refused before its first use`(encoding: String) async throws
  {
    let server = try server.get()
    let name = "of_\(encoding.lowercased())"
    _ = try server.query(
      "postgres", "CREATE DATABASE \(name) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
    let store = PostgresStore(try server.address(name), connections: 1)
    let uses: [() async throws -> Void] = [
      { _ = try await store.migrate() }, { _ = try await store.inspect() },
    ]
    for use in uses {
      let refused = await #expect(throws: StoreError.self) { try await use() }
      #expect(refused?.kind == .misconfigured)
      #expect(refused?.message.contains("encoding is \(encoding)") == true)
    }
    await store.close()
  }

  @Test func `connections that fail together count as one outage`() throws {
    let route = PostgresRoute()
    let error = StoreError(.unavailable, "connect", "away")
    let now = MonotonicTime(nanoseconds: 0)
    for _ in 0..<5 { route.failed(error, at: now) }
    #expect(throws: StoreError.self) { try route.check(at: now) }
    // The longest wait after one failure.
    #expect(throws: Never.self) { try route.check(at: now + .milliseconds(100)) }
  }

  @Test func `a role that must not create tables serves what their owner made`() async throws {
    let (server, address, name) = try database()
    _ = try server.query("postgres", "DROP ROLE IF EXISTS app; CREATE ROLE app LOGIN PASSWORD 'secret'")
    let served = try PostgresAddress("postgres://app:secret@127.0.0.1:\(server.port)/\(name)")
    let early = PostgresStore(served)
    let failure = await #expect(throws: StoreError.self) { try await early.migrate() }
    #expect(failure?.kind == .refused)
    #expect(failure?.message.contains("run `callgate migrate` as the role that owns") == true)
    #expect(failure?.message.contains("GRANT USAGE, CREATE ON SCHEMA public") == true)
    #expect(failure?.message.contains("\n") == false)
    let inspected = await #expect(throws: StoreError.self) { try await early.inspect() }
    #expect(inspected?.kind == .refused)
    #expect(inspected?.message.contains("GRANT USAGE, CREATE ON SCHEMA public") == true)
    await early.close()
    let owner = PostgresStore(address)
    try await owner.migrate()
    #expect(try await owner.inspect() == Migration.latest)
    await owner.close()
    let stranger = PostgresStore(served)
    let looks: [() async throws -> Void] = [
      { _ = try await stranger.inspect() }, { _ = try await stranger.migrate() },
    ]
    for look in looks {
      let refused = await #expect(throws: StoreError.self) { try await look() }
      #expect(refused?.kind == .refused)
      #expect(refused?.message.contains("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES") == true)
    }
    await stranger.close()
    _ = try server.query(
      name, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app")
    let store = PostgresStore(served)
    try await store.migrate()
    try await store.ping()
    let allowances = try Allowances([try Allowances.quota(limit: 100)])
    #expect(try await store.take(allowances.charges(at: .noon()), at: .noon()).isTaken)
    let intent = CallbackIntent.made(key: "k")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await store.settle(intent.id, .accepted())?.status == .accepted)
    try await store.stop(Stop(.all, .all, since: 5))
    try await store.resume(.all, .all)
    try await store.recoverCallbacks(at: .noon())
    try await store.purge(at: .noon())
    await store.close()
  }

  @Test func `an upgrade is for the role that owns the tables, and no grant is advised`() async throws {
    let (server, address, name) = try database()
    let owner = PostgresStore(address)
    try await owner.migrate()
    await owner.close()
    _ = try server.query(
      "postgres", "DROP ROLE IF EXISTS upgrader; CREATE ROLE upgrader LOGIN PASSWORD 'secret'")
    let made = Migration.all.last?.postgres.compactMap { MigrationStatement($0).createdTable } ?? []
    _ = try server.query(
      name,
      """
      GRANT USAGE, CREATE ON SCHEMA public TO upgrader; GRANT ALL ON ALL TABLES IN SCHEMA public TO upgrader;
      DELETE FROM callgate_schema WHERE version = \(Migration.latest); DROP TABLE \(made.joined(separator: ", "))
      """)
    let store = PostgresStore(
      try PostgresAddress("postgres://upgrader:secret@127.0.0.1:\(server.port)/\(name)"))
    let looks: [() async throws -> Void] = [
      { _ = try await store.inspect() }, { _ = try await store.migrate() },
    ]
    for look in looks {
      let refused = await #expect(throws: StoreError.self) { try await look() }
      #expect(refused?.kind == .refused)
      #expect(refused?.message.contains("as the role that owns the tables") == true)
      #expect(refused?.message.contains("GRANT") == false)
    }
    await store.close()
  }

  @Test func `requests fail at once while the server hangs, and are served when it goes on`() async throws {
    let server = try PostgresServer()
    let store = PostgresStore(try server.database())
    try await store.migrate()
    let allowances = try Allowances([try Allowances.quota(limit: 100_000)])
    let ledger = AllowanceLedger(store: store)
    let charges = allowances.charges(at: .noon())
    try server.freeze(true)
    let clock = ContinuousClock()
    #expect(await kind { _ = try await store.stops() } == .unavailable)
    let started = clock.now
    for _ in 0..<100 {
      // A request under a rule that allows when its store fails, or that only audits.
      #expect(await kind { _ = try await ledger.states(of: charges) } == .unavailable)
      guard case .unavailable = await ledger.take(charges, at: .noon()).outcome else {
        Issue.record("taken from a store that hangs")
        break
      }
    }
    // If each request waited, each would take six seconds.
    #expect(clock.now - started < .seconds(60))
    try server.freeze(false)
    try await retry { try await store.ping() }
    // All connections are used again, not only the one that noticed.
    await withTaskGroup(of: StoreError.Kind?.self) { group in
      for _ in 0..<50 {
        group.addTask { await kind { _ = try await store.states(of: charges.map(\.key)) } }
      }
      for await kind in group { #expect(kind == nil) }
    }
    #expect(store.health.failure == nil)
    await store.close()
  }
}

@Suite struct PostgresHostTests {
  private func hosts(_ text: String) throws -> [PostgresHost]? { try PostgresAddress(text).hosts }

  @Test func `servers are read as libpq reads them`() throws {
    #expect(
      try hosts("postgres://u:p@a:1,b:2,[::1]/d") == [
        PostgresHost(name: "a", port: "1"), PostgresHost(name: "b", port: "2"), PostgresHost(name: "::1"),
      ])
    #expect(
      try hosts("postgres://a,b/d?port=7") == [
        PostgresHost(name: "a", port: "7"), PostgresHost(name: "b", port: "7"),
      ])
    #expect(try hosts("postgres:///d?host=/run/postgresql") == [PostgresHost(name: "/run/postgresql")])
    #expect(
      try hosts("postgres://db.example/d?hostaddr=10.0.0.1") == [
        PostgresHost(name: "db.example", address: "10.0.0.1")
      ])
    // Nil: libpq reads the hosts from the environment, or reports what is wrong.
    #expect(try hosts("postgres:///d") == nil)
    #expect(try hosts("postgres:///d?service=main") == nil)
    #expect(try hosts("postgres://a,b/d?hostaddr=10.0.0.1") == nil)
  }

  @Test func `each server gets its own connection parameters`() throws {
    func parameters(_ text: String) throws -> [String: String] {
      let address = try PostgresAddress(text)
      return Dictionary(uniqueKeysWithValues: address.parameters(for: address.hosts?.last))
    }
    let several = try parameters("postgres://u:p@a:1,b:2/d?sslmode=verify-full&keepalives_idle=9")
    #expect(several["host"] == "b" && several["port"] == "2" && several["user"] == "u")
    #expect(several["sslmode"] == "verify-full" && several["keepalives_idle"] == "9")
    #expect(several["target_session_attrs"] == nil && several["client_encoding"] == "UTF8")
    #expect(try parameters("postgres://a,b/d?target_session_attrs=any")["target_session_attrs"] == "any")
  }

  @Test(arguments: [
    ("", nil), ("?connect_timeout=0", nil), ("?connect_timeout=1", 2), ("?connect_timeout=7", 7),
  ])
  func `the time for each server is the address'`(_ query: String, _ seconds: Int?) throws {
    #expect(try PostgresAddress("postgres://a/d\(query)").timeout == seconds.map { .seconds($0) })
  }

  @Test func `a name is resolved to its addresses`() throws {
    let found = try PostgresHost(name: "localhost", port: "5432").resolved()
    #expect(found.contains { $0.address == "127.0.0.1" || $0.address == "::1" })
    #expect(found.someAndAll { $0.name == "localhost" && $0.port == "5432" })
    let folder = PostgresHost(name: "/run/postgresql")
    #expect(try folder.resolved() == [folder])
    #expect(throws: PostgresFailure.self) { try PostgresHost(name: "none.invalid").resolved() }
  }
}

private struct ShiftedClock: TimeSource {
  let shift: Duration
  private let system = SystemClock()

  init(shift: Duration) { self.shift = shift }

  var now: MonotonicTime { system.now }
  var unixTime: UnixTime {
    let time = system.unixTime
    return UnixTime(seconds: time.seconds + shift.components.seconds, nanoseconds: time.nanoseconds)
  }
  func sleep(until point: MonotonicTime) async throws { try await system.sleep(until: point) }
}

/// Accepts connections and never answers, like a frozen server.
private final class SilentServer: Sendable {
  let port: Int
  private let listener: Int32

  init(address: UInt32 = 0x7F00_0001, port: Int = 0) throws {
    let descriptor = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = in_port_t(UInt16(port).bigEndian)
    name.sin_addr.s_addr = address.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw PostgresServer.Failure(description: "no listener: \(errno)") }
    listener = descriptor
    self.port = Int(UInt16(bigEndian: name.sin_port))
  }

  deinit { close(listener) }

  /// Number of connections accepted so far.
  var accepted: Int {
    var count = 0
    while true {
      let descriptor = accept(listener, nil, nil)
      guard descriptor >= 0 else { return count }
      close(descriptor)
      count += 1
    }
  }
}

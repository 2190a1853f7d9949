// Tests of callback records in PostgreSQL, including those of instances that have died.

import DatabaseURL
import Foundation
import Gate
import Glibc
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

@Suite(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
struct PostgresCallbackTests {
  /// A new database: its server, its name, and a function that opens a store on it.
  private func migrated() async throws -> (server: PostgresServer, name: String, open: () -> PostgresStore) {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    let store = PostgresStore(address)
    try await store.migrate()
    await store.close()
    return (server, name, { PostgresStore(address) })
  }

  @Test func `an instance that stops reporting is gone, and its callbacks are unknown`() async throws {
    let (server, name, open) = try await migrated()
    let (lost, watching) = (open(), open())
    let intent = CallbackIntent.made(key: "k")
    #expect(try await lost.begin(intent, at: .noon()) == .begun)
    #expect(try await watching.recoverCallbacks(at: .noon(1)).callbacks == 0)
    // As if only the second instance had reported in the last eleven seconds.
    _ = try server.query(
      name,
      """
      UPDATE callgate_instance SET since = since - interval '11 s';
      UPDATE callgate_instance SET alive_until = alive_until - interval '11 s'
        WHERE id = (SELECT instance FROM callgate_callback)
      """)
    #expect(try await watching.recoverCallbacks(at: .noon(2)).callbacks == 1)
    #expect(try await watching.callback(intent.id, of: "ios-app")?.status == .unknown)
    // The first instance comes back and knows the outcome.
    #expect(try await lost.recoverCallbacks(at: .noon(3)).callbacks == 0)
    #expect(try await lost.settle(intent.id, .accepted())?.wasRecovered == true)
    #expect(try await watching.callback(intent.id, of: "ios-app")?.status == .accepted)
    await lost.close()
    await watching.close()
  }

  @Test func `an outage of the server ends no process's records`() async throws {
    let (server, name, open) = try await migrated()
    let (one, other) = (open(), open())
    let intent = CallbackIntent.made(key: "k")
    #expect(try await one.begin(intent, at: .noon()) == .begun)
    #expect(try await other.recoverCallbacks(at: .noon(1)).callbacks == 0)
    // As if no instance had been able to report for a minute.
    _ = try server.query(
      name,
      "UPDATE callgate_instance SET since = since - interval '1 h', alive_until = now() - interval '50 s'")
    #expect(try await other.recoverCallbacks(at: .noon(2)).callbacks == 0)
    #expect(try await one.recoverCallbacks(at: .noon(2)).callbacks == 0)
    #expect(try await one.settle(intent.id, .accepted())?.status == .accepted)
    await one.close()
    await other.close()
  }

  @Test func `a process that just started gives those before it their time to be heard`() async throws {
    let (server, name, open) = try await migrated()
    let lost = open()
    #expect(try await lost.begin(.made(), at: .noon()) == .begun)
    _ = try server.query(name, "UPDATE callgate_instance SET alive_until = now() - interval '1 s'")
    let fresh = open()
    #expect(try await fresh.recoverCallbacks(at: .noon(1)).callbacks == 0)
    _ = try server.query(
      name,
      """
      UPDATE callgate_instance SET since = now() - interval '10 s' WHERE id NOT IN (SELECT instance FROM callgate_callback)
      """)
    #expect(try await fresh.recoverCallbacks(at: .noon(2)).callbacks == 1)
    await lost.close()
    await fresh.close()
  }

  @Test func `an instance whose row was lost makes a new one`() async throws {
    let (server, name, open) = try await migrated()
    let store = open()
    #expect(try await store.recoverCallbacks(at: .noon()).callbacks == 0)
    _ = try server.query(name, "DELETE FROM callgate_instance")
    #expect(try await store.recoverCallbacks(at: .noon()).callbacks == 0)
    #expect(try server.query(name, "SELECT count(*) FROM callgate_instance") == "1\n")
    await store.close()
    // An instance deletes its row when it closes.
    #expect(try server.query(name, "SELECT count(*) FROM callgate_instance") == "0\n")
  }

  @Test func `rows of instances are forgotten an hour after they were last heard of`() async throws {
    let (server, name, open) = try await migrated()
    let store = open()
    _ = try server.query(
      name,
      """
      INSERT INTO callgate_instance SELECT n, now() - interval '9 h', now() - n * interval '1 min'
      FROM generate_series(59, 61) AS n
      """)
    try await store.purge(at: .noon())
    #expect(try server.query(name, "SELECT count(*) FROM callgate_instance WHERE id = 61") == "0\n")
    #expect(try server.query(name, "SELECT count(*) FROM callgate_instance WHERE id = 59") == "1\n")
    await store.close()
  }

  @Test func `a table that has grown is looked into by its indexes, analyzed or not`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    let store = PostgresStore(address, connections: 1)
    try await store.migrate()
    func work(_ numbers: Range<Int>) async throws {
      for number in numbers {
        let intent = CallbackIntent.made("+1415555\(1000 + number)", key: "\(number)")
        #expect(try await store.standing(of: intent, at: .noon()).key == .free)
        #expect(try await store.begin(intent, at: .noon()) == .begun)
        #expect(try await store.settle(intent.id, .accepted())?.status == .accepted)
      }
    }
    // This comes before any statement is planned, because changing a table discards its plans.
    _ = try server.query(
      name,
      """
      ALTER TABLE callgate_callback SET (autovacuum_enabled = off);
      ALTER TABLE callgate_callback_key SET (autovacuum_enabled = off);
      ALTER TABLE callgate_callback_place SET (autovacuum_enabled = off);
      """)
    // The statements are planned while the tables are almost empty.
    try await work(0..<20)
    _ = try server.query(
      name,
      """
      INSERT INTO callgate_callback (id, caller, contact, created, status, instance, abandoned, expires)
        SELECT gen_random_uuid(), 'c', '+*', 0, 'accepted', 0, 0, 9e18 FROM generate_series(1, 30000);
      INSERT INTO callgate_callback_key (id, callback, expires)
        SELECT gen_random_uuid(), gen_random_uuid(), 9e18 FROM generate_series(1, 30000);
      INSERT INTO callgate_callback_place (id, callback, expires)
        SELECT gen_random_uuid(), gen_random_uuid(), 9e18 FROM generate_series(1, 30000);
      """)
    func rowsRead() throws -> (all: Int, found: Int) {
      let text = try server.query(
        name,
        """
        SELECT coalesce(sum(seq_tup_read), 0), coalesce(sum(idx_scan), 0) FROM pg_stat_user_tables
        WHERE relname LIKE 'callgate_callback%'
        """)
      let columns = text.split(whereSeparator: { $0 == "|" || $0.isNewline }).compactMap { Int($0) }
      return (columns[0], columns[1])
    }
    let before = try rowsRead()
    try await work(100..<160)
    // The server's statistics lag, but both numbers change together.
    try await retry {
      try await store.ping()
      if try rowsRead().found < before.found + 60 { throw PostgresServer.Failure(description: "not yet") }
    }
    #expect(try rowsRead().all - before.all < 30_000)
    await store.close()
  }

  @Test func `neither number nor key nor what was asked for stands in the database`() async throws {
    let (server, name, open) = try await migrated()
    let store = open()
    let intent = CallbackIntent.made("+14155550165", key: "the-clients-key", asks: "the-fingerprint")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.settle(intent.id, .accepted())
    let text = try ["", "_key", "_place"].map {
      try server.query(name, "SELECT kept::text FROM callgate_callback\($0) AS kept")
    }.joined()
    #expect(text.contains("+*********65"))
    for secret in ["4155550165", "the-clients-key", "the-fingerprint"] {
      #expect(!text.contains(secret))
      let hex = secret.utf8.map { String($0, radix: 16) }.joined()
      #expect(!text.contains(hex))
    }
    await store.close()
  }

  @Test func `a database of the version before is brought up to date with what is in it`() async throws {
    let server = try PostgresServer.shared.get()
    let address = try server.database()
    let name = try #require(address.text.split(separator: "/").last.map(String.init))
    let key = StoreID(high: 1, low: 2)
    let allowances = try Allowances([try Allowances.quota(limit: 5)])
    let charges = allowances.charges(at: .noon())
    guard case .taken(let state) = charges[0].plan.take(from: nil, at: .noon()) else {
      return #expect(Bool(false))
    }
    let id = StoreIDMaker(key: key).id(of: charges[0].key)
    _ = try server.query(
      name,
      (["CREATE TABLE callgate_schema (version bigint PRIMARY KEY, applied bigint NOT NULL)"]
        + Migration.all[0].postgres + [
          "INSERT INTO callgate_schema (version, applied) VALUES (1, 7)",
          "INSERT INTO callgate_meta (name, value) VALUES ('hash_key', '\(key.hex)')",
          "INSERT INTO callgate_allowance VALUES ('\(id.hex)', \(state.mark), 4, 9000000000)",
          """
          INSERT INTO callgate_stop (scope, id, action, since) VALUES
            ('app', 'shop', 'access', 3), ('all', '', 'access', 2), ('all', '', 'callback', 2)
          """,
        ]).joined(separator: ";"))
    let store = PostgresStore(address)
    let error = await #expect(throws: StoreError.self) { try await store.ping() }
    #expect(error?.kind == .incompatible)
    try await store.migrate()
    #expect(try await store.take(charges, at: .noon()).isTaken)
    #expect(try await store.take(charges, at: .noon()).isRefused)
    // A stop of all actions that its release knew is now a stop of all actions.
    #expect(
      try await store.stops().list == [Stop(.all, .all, since: 2), Stop(.app("shop"), .access, since: 3)])
    #expect(try await store.begin(.made(key: "k"), at: .noon()) == .begun)
    await store.close()
  }

  @Test func `what a database cannot hold fails alone`() async throws {
    let server = try PostgresServer.shared.get()
    let name = "picky"
    _ = try server.query("postgres", "CREATE DATABASE \(name)")
    let store = PostgresStore(try server.address(name), connections: 1)
    try await store.migrate()
    _ = try server.query(name, "ALTER TABLE callgate_callback ADD CHECK (app <> '🦊')")
    let said = await withTaskGroup(of: (Bool, StoreError.Kind?).self) { group in
      for number in 0..<100 {
        group.addTask {
          let isBad = number % 10 == 0
          let intent = CallbackIntent.made("+141555501\(10 + number)", app: isBad ? "🦊" : "é")
          return (
            isBad,
            await kind {
              let said = try await store.begin(intent, at: .noon())
              #expect(said == .begun)
            }
          )
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for (isBad, kind) in said { #expect(kind == (isBad ? .rejected : nil)) }
    await store.close()
  }

  @Test func `a server that went away lets nothing begin, and what was begun is there when it is back`()
    async throws
  {
    let server = try PostgresServer()
    let store = PostgresStore(try server.database())
    try await store.migrate()
    let intent = CallbackIntent.made(key: "k")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try server.stop()
    #expect(await kind { _ = try await store.begin(.made("+14155550166"), at: .noon()) } == .unavailable)
    #expect(await kind { _ = try await store.settle(intent.id, .accepted()) } == .unavailable)
    #expect(await kind { _ = try await store.standing(of: .made(), at: .noon()) } == .unavailable)
    #expect(await kind { _ = try await store.recoverCallbacks(at: .noon()) } == .unavailable)
    try server.start()
    try await retry { try await store.ping() }
    #expect(try await store.begin(.made(key: "k"), at: .noon()) == .inProgress(intent.id))
    #expect(try await store.settle(intent.id, .accepted())?.status == .accepted)
    await store.close()
  }
}

@Suite struct PostgresTextTests {
  @Test func `arrays quote what they have to`() {
    #expect(PostgresText.array(["1", "NULL"]) == "{1,NULL}")
    #expect(
      PostgresText.array(quoting: ["a", nil, "", "NULL", #"q"b\"#]) == #"{"a",NULL,"","NULL","q\"b\\"}"#)
  }

  @Test func `bytes come back as they went`() {
    let all = (0...255).map { UInt8($0) }
    #expect(PostgresText.bytes(PostgresText.bytea(all)) == all)
    #expect(PostgresText.bytea([]) == "\\x")
    for bad in ["", "x00", "\\x0", "\\x0g", "\\000"] { #expect(PostgresText.bytes(bad) == nil) }
  }
}

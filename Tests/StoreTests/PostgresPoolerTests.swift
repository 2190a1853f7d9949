// Tests of poolers between the server and its database.

import DatabaseURL
import Foundation
import Glibc
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

/// How a store behaves behind a real PgBouncer.
@Suite(
  .enabled(
    if: PgBouncer.isInstalled && PostgresServer.isInstalled,
    "PgBouncer or a PostgreSQL server is not installed"))
struct PostgresPoolerTests {
  @Test(arguments: ["transaction", "statement"])
  func `a pooler that gives each transaction another session is refused and named`(_ mode: String)
    async throws
  {
    let server = try PostgresServer.shared.get()
    let pooler = try PgBouncer(of: server, mode: mode)
    let store = PostgresStore(try pooler.address(of: try server.database()))
    try await retry {
      do throws(StoreError) { _ = try await store.inspect() } catch {
        // Retried until PgBouncer listens.
        if error.kind == .unavailable { throw error }
        #expect(error.kind == .misconfigured && error.operation == StoreError.pooler)
        return
      }
      Issue.record("a pooler in \(mode) mode was taken")
    }
    let error = await #expect(throws: StoreError.self) { try await store.migrate() }
    #expect(error?.operation == StoreError.pooler)
    await store.close()
    withExtendedLifetime(pooler) {}
  }

  @Test func `a pooler in session mode is used`() async throws {
    let server = try PostgresServer.shared.get()
    let pooler = try PgBouncer(of: server, mode: "session")
    let store = PostgresStore(try pooler.address(of: try server.database()))
    try await retry { try await store.migrate() }
    #expect(try await store.inspect() == Migration.latest)
    try await store.ping()
    await store.close()
    withExtendedLifetime(pooler) {}
  }
}

@Suite struct PoolerFailureTests {
  @Test(arguments: [nil, "57P03", "53300", "08006"])
  func `a database that starts, is full or does not answer is away, and not misconfigured`(_ state: String?) {
    let failure = PostgresFailure(operation: PostgresFailure.connecting, state: state, message: "away")
    #expect(failure.storeError.kind == .unavailable)
  }

  @Test(arguments: ["42P05", "26000"])
  func `prepared statements that a pooler mixes up name the pooler`(_ state: String) {
    let error = PostgresFailure(operation: "statement", state: state, message: "prepared statement")
      .storeError
    #expect(error.kind == .misconfigured && error.operation == StoreError.pooler)
  }
}

/// A PgBouncer in front of a test server. It ends with the object, or with this process.
private final class PgBouncer {
  static let isInstalled: Bool = {
    let isThere = access("/usr/sbin/pgbouncer", X_OK) == 0
    if !isThere {
      FileHandle.standardError.write(
        Data("StoreTests: NO /usr/sbin/pgbouncer: tests of poolers are skipped. Install `pgbouncer`.\n".utf8))
    }
    return isThere
  }()

  private let port: Int
  /// The shell that waits for PgBouncer sees this end close.
  private let lifeline: Int32

  init(of server: PostgresServer, mode: String) throws {
    port = try PostgresServer.freePort()
    let file = "\(server.directory)/pgbouncer-\(port).ini"
    try """
    [databases]
    * = host=127.0.0.1 port=\(server.port) user=callgate password=secret
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = \(port)
    unix_socket_dir =
    auth_type = any
    pool_mode = \(mode)
    default_pool_size = 5
    ignore_startup_parameters = extra_float_digits
    """.write(toFile: file, atomically: false, encoding: .utf8)
    let pipe = try ChildProcess.pipe()
    lifeline = pipe.write
    defer { close(pipe.read) }
    // It refuses to be root. The shell is no child of this process: see `PostgresServer`.
    let user = geteuid() == 0 ? "runuser -u \(PostgresServer.user) -- " : ""
    let shell = try ChildProcess(
      [
        "sh", "-c", "exec 3<&0; { \(user)/usr/sbin/pgbouncer -q \"$1\" 3<&- & cat <&3; kill $!; } &",
        "janitor", file,
      ],
      input: pipe.read)
    guard shell.wait() == 0 else { throw PostgresServer.Failure(description: "no pooler") }
  }

  deinit { close(lifeline) }

  func address(of database: PostgresAddress) throws -> PostgresAddress {
    let name = try #require(database.text.split(separator: "/").last)
    return try PostgresAddress("postgres://callgate@127.0.0.1:\(port)/\(name)")
  }
}

// Tests of database URLs as people write them, including mistakes that could publish a password.

import DatabaseURL
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore
@testable import Store

@Suite struct PostgresAddressTests {
  @Test func `printing an address shows nothing of it`() throws {
    let address = try PostgresAddress("postgres://user:hunter2@db.example/callgate?sslmode=require")
    var dumped = ""
    dump(address, to: &dumped)
    for text in ["\(address)", String(reflecting: address), dumped] {
      #expect(!text.contains("hunter2") && !text.contains("db.example"), "\(text)")
    }
  }

  /// The password contains `Head` and `Tail`, which no message may repeat.
  @Test(
    arguments: [
      ("postgres://u:Head@Tail@127.0.0.1:9/d", .host),
      ("postgres://u:Head@a,Tail@h/d", .host),
      ("postgres://u:Head@@h/d", .host),
      ("postgres://u%3AHead%40Tail/d", .host),
      ("postgres:///d?host=Tail%40h&user=u", .host),
      ("postgres:///d?hostaddr=Tail%40h&user=u", .host),
      ("postgres://u:Head@a:Tail@h/d", .port),
      ("postgres://u:Head/Tail@h/d", .port),
      ("postgres://u:Head", .port),
      ("postgres://u:Head/s?Tail=x", .port),
      ("postgres://u:p@h:65536/d", .port),
      ("postgres://u:p@h:0/d", .port),
      ("postgres://u:p@h:+5432/d", .port),
      ("postgres://u:p@h:5432,i:x/d", .port),
      ("postgres://u:12/Tail@h/d", .databaseName),
      ("postgres://u:Head@12/Tail@h/d", .databaseName),
      ("postgres://u%3AHead@h/d", .user),
      ("postgres://u:Head%zzTail@h/d", .unreadable),
      ("postgres://u:Head%00Tail@h/d", .unreadable),
      ("postgres://u:Head@[Tail@h/d", .unreadable),
      ("postgres://u:Head@s?Tail@h/d", .unreadable),
      ("postgres://u:Head@s?Tail=x@h/d", .unreadable),
      ("postgres://h/d?user=u&password=Head&Tail=1", .unreadable),
      ("postgres://h/d?sslpassword=Head&Tail=1", .unreadable),
      ("postgres://u:p@h/d?Head%20Tail=1", .unreadable),
      ("postgres://u:p@h/d?Tail", .unreadable),
      ("postgres://u:Head@h/d?sslmode=Tail", .sslmode),
      ("postgres://u:Head@h/d?sslmode=", .sslmode),
      ("postgres://u:Head@h/d?pgbouncer=true&connection_limit=1", .parameter("pgbouncer")),
      ("postgres://u:Head@h/d?sslmode=require&schema=public", .parameter("schema")),
    ] as [(String, PostgresAddressProblem)])
  func `a mistake in the URL is named without any part of the password`(
    _ text: String, _ problem: PostgresAddressProblem
  ) {
    let error = #expect(throws: PostgresAddressProblem.self) { _ = try PostgresAddress(text) }
    #expect(error == problem)
    let words = "\(problem.message) \(problem.remedy)"
    #expect(!words.contains("Head") && !words.contains("Tail"))
    guard [.host, .port, .databaseName, .sslmode].contains(problem) else { return }
    #expect(problem.remedy.hasSuffix("encode @ as %40 and / as %2F in the password"))
  }

  @Test(arguments: ["#", "?", ":", "&", ",", "=", "%25", "%40", "%2F", "%20", "%3F", "[", "\\", "ä"])
  func `a password with a character that needs no encoding, or is encoded, is taken whole`(_ text: String)
    throws
  {
    let address = try PostgresAddress("postgres://u:a\(text)b@db.example/d")
    let parameters = Dictionary(uniqueKeysWithValues: address.parameters(for: nil))
    let decoded = try #require(text.removingPercentEncoding)
    #expect(parameters["password"] == "a\(decoded)b")
    #expect(parameters["host"] == "db.example" && parameters["dbname"] == "d")
  }

  @Test func `the URLs of the documented providers are read`() throws {
    let document = try String(
      contentsOf: Checkout.root.appending(path: "docs/operate/operate.md"), encoding: .utf8)
    let password = "a%40b%2Fc%3Fd%23e%25f%26g%3Ah"
    var providers: [String] = []
    for row in document.split(separator: "\n") {
      guard let match = row.firstMatch(of: #/^- ([^:]+): `(postgres[^`]*)`: /#) else { continue }
      providers.append(String(match.1))
      let address = try PostgresAddress(String(match.2).replacing("PASSWORD", with: password))
      let parameters = Dictionary(uniqueKeysWithValues: address.parameters(for: nil))
      let host = try #require(address.hosts?.first?.name)
      #expect(parameters["dbname"] == "NAME" && parameters["user"]?.hasPrefix("USER") == true, "\(match.1)")
      #expect(host.hasPrefix("/") || parameters["password"] == "a@b/c?d#e%f&g:h", "\(match.1)")
    }
    #expect(
      providers == ["Heroku Postgres", "Neon", "Supabase", "Amazon RDS", "Cloud SQL", "a Unix socket"])
  }

  // MARK: Problems that waiting does not solve

  private func problem(
    _ query: String, at host: String = "127.0.0.1:1", home: String = "/nonexistent"
  ) throws -> StoreError? {
    let address = try PostgresAddress("postgres://u:hunter2@\(host)/d\(query)")
    do throws(StoreError) {
      try address.check(home: home)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a file of root certificates that is missing is a mistake, whatever the sslmode`() throws {
    for mode in ["verify-full", "require", "prefer"] {
      let error = try problem("?sslmode=\(mode)&sslrootcert=/nonexistent/root.pem")
      #expect(error?.kind == .misconfigured)
      #expect(error?.message.contains("\"/nonexistent/root.pem\"") == true)
    }
    #expect(try problem("?sslmode=verify-full&sslrootcert=/etc/passwd") == nil)
  }

  @Test(arguments: ["verify-ca", "verify-full"])
  func `a certificate that no root certificate can verify is a mistake, and its fix verifies it`(
    _ mode: String
  ) throws {
    let error = try problem("?sslmode=\(mode)")
    #expect(error?.kind == .misconfigured)
    #expect(error?.message.contains("sslrootcert=/etc/ssl/certs/ca-certificates.crt") == true)
    #expect(error?.message.contains("disable") == false)
    #expect(try problem("?sslmode=\(mode)&hostaddr=192.0.2.1", at: "db.example")?.kind == .misconfigured)
    // A socket has no TLS, a service file may name the root certificates, and the user may have some at home.
    #expect(try problem("?sslmode=\(mode)", at: "%2Frun%2Fpostgresql") == nil)
    #expect(
      try problem("?sslmode=\(mode)&service=callgate", at: "db.example")?.message.contains("sslrootcert")
        != true)
    let home = FileManager.default.temporaryDirectory.appending(path: "home-\(UUID().uuidString)")
    let folder = home.appending(path: ".postgresql")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: home) }
    try Data().write(to: folder.appending(path: "root.crt"))
    #expect(try problem("?sslmode=\(mode)", home: home.path) == nil)
  }

  @Test func `root certificates of the system are named as this libpq knows them`() throws {
    let error = try problem("?sslmode=verify-full&sslrootcert=system")
    #expect((error == nil) == PostgresAddress.knowsSystemRoots)
    #expect(error?.message.contains("sslrootcert=/etc/ssl/certs/ca-certificates.crt") != false)
  }

  @Test func `libpq's advice to switch the verification off is not passed on`() {
    let failure = PostgresFailure.connection(
      verbose: """
        root certificate file "/home/u/.postgresql/root.crt" does not exist
        Either provide the file or change sslmode to disable server certificate verification.

        """)
    #expect(!failure.message.contains("disable") && failure.message.contains("root.crt"))
  }

  @Test func `a parameter with a value that libpq refuses is named`() throws {
    let error = try problem("?sslmode=require&channel_binding=often")
    #expect(error?.kind == .misconfigured)
    #expect(error?.message.hasSuffix(" channel_binding") == true)
    #expect(error?.message.contains("hunter2") == false)
    #expect(try problem("?target_session_attrs=writable")?.message.hasSuffix(" target_session_attrs") == true)
    for right in ["", "?sslmode=require&channel_binding=require&target_session_attrs=read-write"] {
      #expect(try problem(right) == nil)
    }
  }

  @Test func `a database that is away does not hide such a mistake`() async throws {
    let text = "postgres://u:p@none.invalid/d?sslrootcert=/nonexistent/root.pem"
    let store = PostgresStore(try PostgresAddress(text))
    #expect(await kind { try await store.migrate() } == .misconfigured)
    await store.close()
  }

  @Test func `a store that was never reached does not come back when it is closed`() async throws {
    let store = PostgresStore(try PostgresAddress("postgres://u:p@127.0.0.1:1/d"))
    let events = Mutex<[StoreHealth.Event]>([])
    store.health.observe { event in events.withLock { $0.append(event) } }
    #expect(await kind { try await store.ping() } == .unavailable)
    await store.close()
    #expect(events.withLock { $0 }.someAndAll { if case .unavailable = $0 { true } else { false } })
    #expect(store.health.failure?.kind == .unavailable)
  }
}

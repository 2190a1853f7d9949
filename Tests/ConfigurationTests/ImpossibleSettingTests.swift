// Tests of settings that can never work, which are refused, and of unlikely ones, which get a notice.

import Foundation
import Testing

@testable import Configuration
@testable import Documents
@testable import RoomSupport

@Suite struct ImpossibleSettingTests {
  private func notices(
    _ yaml: String, _ changes: [String: String?] = [:], files: [String: ConfigurationFiles.Content] = [:]
  ) throws -> [String] {
    try Fixture.load(yaml, environment: Fixture.changed(changes), files: files).notices.map(\.description)
  }

  @Test(arguments: [
    "state.db", "state.db-wal", "state.db-shm", "state.db-journal", "config.yaml", "/password",
  ])
  func `the audit file must not be a file of the store or of the configuration`(path: String) {
    let problems = Fixture.problems(
      "log: { audit: { file: \(path) } }",
      environment: Fixture.changed([
        "CALLGATE_STATE": "state.db", "DEFAULT_PASSWORD": nil, "DEFAULT_PASSWORD_FILE": "/password",
      ]),
      files: ["/password": Fixture.content("correct horse battery")])
    #expect(problems.count == 1 && problems[0].hasPrefix("config.yaml:1:23: log.audit.file: "), "\(problems)")
  }

  @Test func `any other audit file is taken`() throws {
    for path in ["state.db.log", "audit.log", "state.db-wal2"] {
      _ = try Fixture.load(
        "log: { audit: { file: \(path) } }", environment: Fixture.changed(["CALLGATE_STATE": "state.db"]))
    }
  }

  @Test func `paths that lead to one file are the same, whether or not it exists`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "callgate-\(UUID())").path()
    let manager = FileManager.default
    try manager.createDirectory(atPath: folder + "/real", withIntermediateDirectories: true)
    defer { try? manager.removeItem(atPath: folder) }
    try manager.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder + "/real")
    #expect(manager.createFile(atPath: folder + "/real/a", contents: Data()))
    #expect(manager.createFile(atPath: folder + "/real/b", contents: Data()))
    try manager.linkItem(atPath: folder + "/real/a", toPath: folder + "/hard")
    func isSame(_ one: String, _ other: String) -> Bool {
      FileIdentity(path: folder + one).isSame(as: FileIdentity(path: folder + other))
    }
    #expect(
      isSame("/real/a", "/link/a") && isSame("/real/a", "/hard") && isSame("/real/./a", "/link/../real/a"))
    #expect(isSame("/link/new", "/real/new") && isSame("/real/../new", "/new"))
    #expect(!isSame("/real/a", "/real/b") && !isSame("/real/new", "/new") && !isSame("/hard", "/real/b"))
    let relative = FileIdentity(path: "callgate-\(UUID())")
    #expect(
      relative.path == manager.currentDirectoryPath + "/" + (relative.path.split(separator: "/").last ?? ""))
  }

  @Test func `a callback cannot have more required fields than fields`() throws {
    func yaml(_ count: Int) -> String {
      let fields = (1...count).map { "f\($0): { required: true }" }.joined(separator: ", ")
      return "apps: { shop: { context_schema: { fields: { \(fields), more: {} } } } }"
    }
    _ = try Fixture.load(yaml(20))
    let problems = Fixture.problems(yaml(21))
    #expect(
      problems.count == 1 && problems[0].contains("apps.shop.context_schema.fields: requires 21 fields"))
  }

  @Test(arguments: ["0", "65536", "00000", "x"])
  func `a remote policy has a port that can be reached`(port: String) {
    let problems = Fixture.problems(
      "rules: [{ name: ask, kind: remote, url: \"https://policy.example:\(port)/v1\" }]")
    #expect(problems.count == 1 && problems[0].contains("rule \"ask\": url: "), "\(problems)")
  }

  @Test func `an SQLite URL with a host is refused, and one without has a path from the root`() throws {
    for url in ["sqlite://x.sqlite3", "sqlite://localhost/data/x.sqlite3", "sqlite://"] {
      let problems = Fixture.problems("store: { url: \"\(url)\" }")
      #expect(problems.count == 1 && problems[0].contains("store.url: names a host"), "\(problems)")
    }
    for (url, path) in [("sqlite:///data/x", "///data/x"), ("sqlite:/data/x", "/data/x"), ("sqlite:x", "x")] {
      guard case .sqlite(path) = try Fixture.load("store: { url: \"\(url)\" }").configuration.store else {
        Issue.record("\(url)")
        continue
      }
    }
  }

  @Test func `users that shall authorize phones need a caller with users`() throws {
    let environment = ["CALLGATE_STORE_KEY": String(repeating: "ab", count: 32)]
    func yaml(_ authorize: String, _ callers: String = "") -> String {
      """
      callers:
        - { id: users, jwt: { issuer: "https://a.example", audience: a, jwks_url: "https://a.example/jwks" } }
      apps: { shop: { \(callers) installations: { \(authorize) } } }
      """
    }
    let words = "installations.authorize lists user"
    let found = try notices(yaml("authorize: [user]", "callers: [default],"), environment)
    #expect(found.filter { $0.contains(words) }.count == 1, "\(found)")
    for sound in [
      yaml("authorize: [user]"), yaml("authorize: [user]", "callers: [users],"),
      yaml("authorize: [operator]", "callers: [default],"), yaml("", "callers: [default],"),
    ] {
      #expect(try !notices(sound, environment).contains { $0.contains(words) })
    }
  }

  @Test func `events that no trigger sends are noted`() throws {
    let files = ["/hook": Fixture.content(String(repeating: "k", count: 48))]
    func found(_ outcomes: String) throws -> [String] {
      try notices("outcomes: { hook: { secret_file: /hook }, \(outcomes) }", files: files).filter {
        $0.contains("outcomes.triggers does not list")
      }
    }
    #expect(
      try found("triggers: [inboundCallEnds], reached: { events: [outboundCallEnds] }").count == 1)
    #expect(try found("reached: { events: [outboundCallEnds] }").isEmpty)
    #expect(try found("triggers: [inboundCallEnds]").isEmpty)
  }

  @Test(arguments: [
    ("1:123456789012:ios:0123456789abcdef", true), ("1:123456789012:android:0a", true),
    ("1:999:ios:0123456789abcdef", false), ("x", false), ("1:123456789012:ios:", false),
    ("1:123456789012:mac:0a", false), ("2:123456789012:ios:0a", false), ("1:123456789012:web:0g", false),
  ])
  func `an app id of App Check that no token can have is noted`(id: String, isOwn: Bool) throws {
    let found = try notices(
      """
      attestation: { app_check: { project_number: "123456789012", project_id: shop } }
      apps: { shop: { app_check: audit, attested: { app_check: ["\(id)"] } } }
      """)
    #expect(found.filter { $0.contains("apps.shop.attested.app_check") }.count == (isOwn ? 0 : 1), "\(found)")
  }

  @Test(arguments: [
    ("token_file: /run/none", "/run/none"),
    ("approle: { role_id: r, secret_id_file: /run/none }", "/run/none"),
    ("kubernetes: { role: r, jwt_file: /run/none }", "/run/none"),
    ("kubernetes: { role: r }", "/var/run/secrets/kubernetes.io/serviceaccount/token"),
  ])
  func `a login file of the signer that is not there yet is noted`(auth: String, path: String) throws {
    let yaml = "talkdesk: { signer: { vault: https://v.example, key: k, auth: { \(auth) } } }"
    let changes: [String: String?] = ["TD_PRIVATE_KEY": nil]
    let found = try notices(yaml, changes)
    #expect(found.count == 1 && found[0].contains("cannot read \"\(path)\""), "\(found)")
    #expect(try notices(yaml, changes, files: [path: Fixture.content("hvs.token\n")]).isEmpty)
    #expect(try notices(yaml, changes, files: [path: Fixture.content("hvs.token \n")]).count == 1)
  }

  @Test(arguments: [
    ("Etc/GMT+5", "five hours behind UTC"), ("Etc/GMT-1", "one hour ahead of UTC"),
    ("Etc/GMT-14", "fourteen hours ahead of UTC"),
  ])
  func `a zone with the sign reversed is explained in words`(zone: String, words: String) throws {
    let found = try notices(
      """
      rules: [{ name: h, kind: hours, timezone: "\(zone)", weekly: { mon: "09:00-18:00" } }]
      """)
    #expect(found.count == 1 && found[0].hasPrefix("config.yaml:1:43: \(zone) is \(words)"), "\(found)")
    #expect(OffsetZone("Etc/GMT+0") == nil && OffsetZone("Etc/GMT") == nil && OffsetZone("GMT+5") == nil)
  }
}

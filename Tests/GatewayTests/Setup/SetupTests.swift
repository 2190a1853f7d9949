import Foundation
import Gate
import JOSE
import Platform
import TestSupport
import Testing

@testable import Gateway

/// What `callgate init` writes, and that it writes all or nothing.
@Suite struct SetupTests {
  private let parent: URL

  init() throws {
    parent = FileManager.default.temporaryDirectory.appending(path: "callgate setup \(UUID().uuidString)")
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
  }

  /// What a folder holds: each path below it with its mode.
  private func content(of folder: String) -> [String: Int] {
    var content: [String: Int] = [:]
    let files = FileManager.default
    for name in (try? files.subpathsOfDirectory(atPath: folder)) ?? [] {
      content[name] = (try? files.attributesOfItem(atPath: "\(folder)/\(name)"))?[.posixPermissions] as? Int
    }
    return content
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  private func setup(_ folder: String = "shop", replacing: Bool = false) -> Setup {
    Setup(folder: folder, workingDirectory: parent.path, replacing: replacing)
  }

  private func removeParent() {
    // Left behind at worst, in the directory for such things.
    try? FileManager.default.removeItem(at: parent)
  }

  private static let changes: [@Sendable (inout SetupFlags) -> Void] = [
    { _ in },
    {
      ($0.clientSecretFile, $0.privateKeyFile, $0.keyID) = (nil, "rsa.pem", "123")
      $0.region = "eu"
    },
    { ($0.phoneNumber, $0.hours, $0.timezone) = ("+18500000000", "mon-fri 09:00-18:00", "America/New_York") },
    { ($0.hours, $0.timezone) = ("fri,sat 22:00-02:00, sun 10:00-12:00 13:00-14:00", "Asia/Kathmandu") },
    { ($0.hours, $0.timezone) = ("mon-sun 00:00-24:00", "UTC") },
    { ($0.hours, $0.timezone) = ("wed 09:00-09:01", "Australia/Lord_Howe") },
    { ($0.account, $0.clientID, $0.passwordFile) = ("true", "a:#'\"\\{}", "password.txt") },
  ]

  @Test(arguments: changes.indices)
  func `what is written loads without a problem or a notice, and its tests pass`(_ index: Int) throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers(Self.changes[index])
    let folder = setup().folder
    #expect(folder == parent.path + "/shop")
    _ = try setup().write(answers, readFrom: [])
    #expect(
      content(of: folder) == [
        "callgate.yaml": 0o644, "tests.yaml": 0o644, ".gitignore": 0o644, "secrets": 0o700,
        "secrets/talkdesk-credential": 0o600, "secrets/app-password": 0o600,
      ])
    let sources = ConfigurationSources(
      flags: ConfigurationFlags(config: "\(folder)/callgate.yaml"), files: .system)
    for purpose in [ConfigurationPurpose.check, .serve] {
      let loaded = try ConfigurationLoader.load(sources, for: purpose)
      #expect(loaded.notices.map(\.description) == [])
      let upstream = try #require(loaded.configuration.talkdesk.upstream)
      #expect(upstream.clientID == answers.clientID)
      switch (upstream.authentication, answers.authentication) {
      case (.secret(let loaded), .secret(let given)): #expect(loaded.exposedBytes() == given.exposedBytes())
      case (.key(let loaded, _), .key(let given, _)):
        #expect(loaded.key.publicKey == given.key.publicKey)
        #expect((loaded.id, loaded.algorithm) == (given.id, given.algorithm))
      default: Issue.record("another credential")
      }
      #expect(loaded.configuration.callbacks.talkdeskPhoneNumbers == [answers.phoneNumber].compactMap(\.self))
      #expect(
        loaded.configuration.policy.rules.map(\.name) == (answers.hours == nil ? [] : ["opening-hours"]))
      guard case .sqlite("\(folder)/callgate.sqlite3") = loaded.configuration.store else {
        Issue.record("the state lies elsewhere: \(loaded.configuration.store)")
        return
      }
      let result = try OfflineRules(loaded.configuration, transport: nil)
        .test("\(folder)/tests.yaml", files: .system)
      #expect(result.failures == [])
      #expect(result.passed >= 4)
    }
    #expect(try text("\(folder)/secrets/app-password") == answers.password.exposedString() + "\n")
    // Digits, words and marks that YAML would take for something else stand in quotation marks.
    let yaml = try text("\(folder)/callgate.yaml")
    #expect(!yaml.contains("key_id: 123") && !yaml.contains("account: true"))
    for line in yaml.split(separator: "\n") where !line.contains(parent.path) {
      #expect(line.count <= 130, "\(line)")
    }
  }

  @Test func `every commented key is one, so that it may be switched on`() throws {
    defer { removeParent() }
    for change in [Self.changes[0], Self.changes[2]] {
      let documents = SetupDocuments(answers: try SetupFixture.answers(change), folder: parent.path)
      let yaml = documents.configuration.split(separator: "\n", omittingEmptySubsequences: false).map {
        line in
        // A comment that begins like a key or an item of a list; sentences do not.
        line.replacing(/^( *)# ( *(?:- )?(?!brakes)[a-z_]+:(?: |$))/) { "\($0.output.1)\($0.output.2)" }
      }.joined(separator: "\n")
      let files = [
        "\(parent.path)/secrets/talkdesk-credential": Fixture.content("canary-client-secret"),
        "\(parent.path)/secrets/app-password": Fixture.content("canary-app-password"),
      ]
      #expect(yaml != documents.configuration)
      #expect(Fixture.problems(yaml, environment: [:], files: files, for: .check) == [])
    }
  }

  @Test func `times of tests stand at the door of the opening hours, by the zone's clock`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers(Self.changes[2])
    // A Saturday, when New York has winter time.
    let now = try #require(Instant(rfc3339: "2026-11-21T12:00:00Z"))
    let tests = SetupDocuments(answers: answers, folder: parent.path).tests(now: now)
    #expect(tests.contains("{ name: open on Monday at 09:00, "))
    #expect(tests.contains("at: \"2026-11-23T09:00:00-05:00\", expect: allow }"))
    #expect(tests.contains("{ name: closed from Monday at 18:00, "))
    #expect(tests.contains("at: \"2026-11-23T18:00:00-05:00\", expect: deny, code: closed }"))
  }

  @Test func `nothing is overwritten without being told to, and nothing is left then`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers()
    for name in ["callgate.yaml", "tests.yaml", "secrets/app-password", "secrets/talkdesk-credential"] {
      let folder = "\(parent.path)/\(name.replacing("/", with: "-"))"
      try FileManager.default.createDirectory(atPath: "\(folder)/secrets", withIntermediateDirectories: true)
      try "mine".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
      let before = content(of: folder)
      let setup = Setup(folder: folder, workingDirectory: parent.path, replacing: false)
      if name != "secrets/talkdesk-credential" {
        #expect(throws: Setup.Failure.exists(["\(folder)/\(name)"])) { try setup.refuseOverwriting() }
      }
      #expect(throws: Setup.Failure.exists(["\(folder)/\(name)"])) {
        try setup.write(answers, readFrom: ["/nowhere"])
      }
      #expect(content(of: folder) == before)
      #expect(try text("\(folder)/\(name)") == "mine")
      let forced = Setup(folder: folder, workingDirectory: parent.path, replacing: true)
      try forced.refuseOverwriting()
      _ = try forced.write(answers, readFrom: [])
      #expect(try text("\(folder)/\(name)") != "mine")
      #expect(content(of: folder).count == 6, "nothing is left of what gave way")
    }
  }

  @Test func `a credential that lies where it belongs may stay there`() throws {
    defer { removeParent() }
    let folder = setup().folder
    try FileManager.default.createDirectory(atPath: "\(folder)/secrets", withIntermediateDirectories: true)
    let path = "\(folder)/secrets/talkdesk-credential"
    try "canary-client-secret\n".write(toFile: path, atomically: false, encoding: .utf8)
    var flags = SetupFixture.flags
    flags.clientSecretFile = path
    var interview = SetupInterview(flags, files: .system, home: nil)
    let answers = try interview.answers(asking: nil)
    try setup().refuseOverwriting()
    _ = try setup().write(answers, readFrom: interview.sources)
    #expect(content(of: folder)["secrets/talkdesk-credential"] == 0o600)
    #expect(try text(path) == "canary-client-secret\n")
  }

  @Test func `a failure in the middle leaves everything as it was`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers()
    let folder = setup().folder
    // The last of the files to be put in its place cannot be: a folder that is not empty has its name.
    try FileManager.default.createDirectory(atPath: "\(folder)/secrets", withIntermediateDirectories: true)
    try "mine".write(toFile: "\(folder)/callgate.yaml", atomically: false, encoding: .utf8)
    try "/mine\n".write(toFile: "\(folder)/.gitignore", atomically: false, encoding: .utf8)
    let before = content(of: folder)
    let limit = SetupFiles.File(
      name: String(repeating: "n", count: 300), bytes: [], mode: nil, replaces: true)
    let first = SetupFiles.File(name: "callgate.yaml", bytes: [0x61], mode: nil, replaces: true)
    let further = SetupFiles.File(name: "new/file", bytes: [0x61], mode: 0o600, replaces: false)
    #expect(throws: SetupFiles.Failure.self) { try SetupFiles.write([first, further, limit], to: folder) }
    #expect(content(of: folder) == before)
    #expect(try text("\(folder)/callgate.yaml") == "mine")
    // And where the failure comes when some are in their places already.
    let blocked = SetupFiles.File(name: "callgate.yaml/below", bytes: [], mode: nil, replaces: true)
    #expect(throws: SetupFiles.Failure.self) { try SetupFiles.write([first, blocked], to: folder) }
    #expect(content(of: folder) == before)
    #expect(try text("\(folder)/callgate.yaml") == "mine")
    try "file".write(toFile: "\(parent.path)/file", atomically: false, encoding: .utf8)
    #expect(throws: Setup.Failure.unusable(path: "\(parent.path)/file/.gitignore", reason: "Not a directory"))
    {
      try setup("file").write(answers, readFrom: [])
    }
    #expect(throws: Setup.Failure.self) { try setup("file/below").write(answers, readFrom: []) }
  }

  @Test func `lines of .gitignore are added once, and others stay`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers()
    let path = "\(setup().folder)/.gitignore"
    try FileManager.default.createDirectory(atPath: setup().folder, withIntermediateDirectories: true)
    try "*.log".write(toFile: path, atomically: false, encoding: .utf8)
    for _ in 0..<2 {
      _ = try setup(replacing: true).write(answers, readFrom: [])
      #expect(try text(path) == "*.log\n/secrets/\n/callgate.sqlite3*\n")
    }
  }

  @Test func `the report names files and steps, within 80 columns, and no secret`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers(Self.changes[2])
    let lines = try setup().write(answers, readFrom: [])
    for line in lines where !line.contains(parent.path) { #expect(line.count <= 80, "\(line)") }
    let text = lines.joined(separator: "\n")
    for step in [
      "cd '", "callgate check callgate.yaml", "callgate doctor", "callgate drill", "callgate serve",
    ] {
      #expect(text.contains(step), "\(step)")
    }
    #expect(!text.contains("canary") && !text.contains(answers.password.exposedString()))
    let here = Setup(folder: "./", workingDirectory: parent.path, replacing: false)
    #expect(try !here.write(answers, readFrom: []).contains { $0.contains("cd ") })
  }
}

// Tests of the files that `callgate init` writes.

import Callers
import Foundation
import Gate
import JOSE
import Platform
import Sealing
import TestSupport
import Testing

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// What `callgate init` writes, and that it writes all or nothing.
@Suite struct SetupTests {
  private let parent: URL

  init() throws {
    parent = FileManager.default.temporaryDirectory.appending(path: "callgate setup \(UUID().uuidString)")
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
  }

  /// The contents of a folder: each path below it, with its mode.
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
    // At worst, the folder stays behind in the temporary directory.
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
    { ($0.tokens, $0.listen) = ("sdk", "::1") },
    { ($0.tokens, $0.hours, $0.timezone) = ("both", "mon-fri 09:00-18:00", "America/New_York") },
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
        "secrets/admin-token": 0o600, "secrets/store-key": 0o600, "callgate.schema.json": 0o644,
        "tests.schema.json": 0o644,
      ])
    let sources = ConfigurationSources(
      flags: ConfigurationFlags(config: "\(folder)/callgate.yaml"), files: .system)
    for purpose in [ConfigurationPurpose.check, .serve] {
      let loaded = try ConfigurationLoader.load(sources, for: purpose)
      #expect(loaded.notices.map(\.description) == [])
      let upstream = try #require(loaded.configuration.talkdesk.upstream)
      #expect(upstream.clientID == answers.clientID)
      #expect(loaded.configuration.listen.host == answers.listen.host)
      #expect(
        loaded.configuration.talkdesk.scope
          == (answers.tokens == .sdk ? TokenScopes.mobileSDK : "callback:write"))
      if answers.tokens == .both {
        #expect(loaded.configuration.apps.map(\.id) == ["callbacks", "sdk"])
        #expect(loaded.configuration.apps.map(\.scope) == ["callback:write", "visual-sessions:execute"])
      }
      let admin = loaded.configuration.admin
      #expect(admin.listener?.port == 9091 && admin.listener?.isLoopback == true)
      #expect(admin.token?.exposedString() == answers.adminToken?.exposedString())
      #expect(loaded.configuration.storeKeys?.current.exposedText() == answers.storeKey.exposedString())
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
    // Digits, words and marks that YAML would read as something else are quoted.
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
        // Uncomments lines that begin like a key or a list item. Sentences do not.
        line.replacing(/^( *)# ( *(?:- )?[a-z_]+:(?: |$))/) { "\($0.output.1)\($0.output.2)" }
      }.joined(separator: "\n")
      let files = [
        "\(parent.path)/secrets/talkdesk-credential": Fixture.content("canary-client-secret"),
        "\(parent.path)/secrets/app-password": Fixture.content("canary-app-password"),
        "\(parent.path)/secrets/admin-token": Fixture.content("canary-admin-token-canary"),
        "\(parent.path)/secrets/store-key": Fixture.content(String(repeating: "0a", count: 32)),
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

  @Test func `lines of .gitignore keep their octets and their line ends`() {
    let lines = Array("/secrets/\n/callgate.sqlite3*\n".utf8)
    let returns = Array("/secrets/\r\n/callgate.sqlite3*\r\n".utf8)
    // Latin-1: caf\u{E9}/ is no UTF-8.
    let latin: [UInt8] = [0x63, 0x61, 0x66, 0xE9, 0x2F]
    for (existing, wanted) in [
      ([], lines), (latin, latin + [0x0A] + lines), (latin + [0x0A], latin + [0x0A] + lines),
      (latin + [0x0D, 0x0A], latin + [0x0D, 0x0A] + returns), ([0x0A], [0x0A] + lines),
      (Array("/secrets/\r\na".utf8), Array("/secrets/\r\na\r\n/callgate.sqlite3*\r\n".utf8)),
      (Array("!/secrets/\n".utf8), Array("!/secrets/\n".utf8) + lines),
    ] as [([UInt8], [UInt8])] {
      #expect(SetupDocuments.ignored(beside: existing) == wanted)
      #expect(SetupDocuments.ignored(beside: wanted) == nil)
    }
    #expect(SetupDocuments.ignored(beside: returns) == nil)
  }

  @Test func `what is a symbolic link is not followed`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers()
    let folder = setup().folder
    let files = FileManager.default
    try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try files.createDirectory(atPath: "\(parent.path)/elsewhere", withIntermediateDirectories: true)
    try "mine".write(toFile: "\(parent.path)/elsewhere/mine", atomically: false, encoding: .utf8)
    for (name, target) in [(".gitignore", "elsewhere/mine"), ("secrets", "elsewhere")] {
      try files.createSymbolicLink(
        atPath: "\(folder)/\(name)", withDestinationPath: "\(parent.path)/\(target)")
      for replacing in [false, true] {
        let setup = self.setup(replacing: replacing)
        let isRefused = { (error: any Error) in
          "\(error)".hasPrefix("\"\(folder)/\(name)\" cannot be used: it is a symbolic link")
        }
        #expect(throws: Setup.Failure.self) { try setup.checkFolder([]) }
        #expect {
          try setup.checkFolder([])
        } throws: { isRefused($0) }
        #expect {
          try setup.write(answers, readFrom: [])
        } throws: { isRefused($0) }
      }
      #expect(content(of: folder).keys.sorted() == [name])
      try files.removeItem(atPath: "\(folder)/\(name)")
    }
    // A link in place of a file is replaced, and its target stays.
    try files.createSymbolicLink(
      atPath: "\(folder)/callgate.yaml", withDestinationPath: "\(parent.path)/elsewhere/mine")
    #expect(throws: Setup.Failure.exists(["\(folder)/callgate.yaml"])) { try setup().checkFolder([]) }
    _ = try setup(replacing: true).write(answers, readFrom: [])
    #expect(try text("\(parent.path)/elsewhere/mine") == "mine")
    #expect(try text("\(folder)/callgate.yaml") != "mine")
    #expect(content(of: "\(parent.path)/elsewhere").keys.sorted() == ["mine"])
  }

  @Test func `secrets go into no folder that others can change`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers()
    let secrets = "\(setup().folder)/secrets"
    let files = FileManager.default
    try files.createDirectory(atPath: secrets, withIntermediateDirectories: true)
    for (mode, isTaken) in [(0o700, true), (0o755, true), (0o775, false), (0o702, false)] {
      try files.setAttributes([.posixPermissions: mode], ofItemAtPath: secrets)
      if isTaken {
        try setup().checkFolder([])
        continue
      }
      let failure = Setup.Failure.unfit(
        path: secrets, reason: "others can write to it; run chmod go-w on it")
      #expect(throws: failure) { try setup().checkFolder([]) }
      #expect(throws: failure) { try setup().write(answers, readFrom: []) }
    }
    #expect(content(of: setup().folder).keys.sorted() == ["secrets"])
    try files.removeItem(atPath: secrets)
    try "file".write(toFile: secrets, atomically: false, encoding: .utf8)
    #expect(throws: Setup.Failure.unusable(path: secrets, reason: "Not a directory")) {
      try setup().checkFolder([])
    }
  }

  @Test
  func `a folder that takes no files is refused before the first question, and nothing is left of the trial`()
    throws
  {
    defer { removeParent() }
    try setup("new/folder").checkFolder([])
    #expect(content(of: parent.path) == [:])
    try "file".write(toFile: "\(parent.path)/file", atomically: false, encoding: .utf8)
    #expect(throws: Setup.Failure.unusable(path: "\(parent.path)/file", reason: "Not a directory")) {
      try setup("file").checkFolder([])
    }
    #expect(throws: Setup.Failure.self) { try setup("file/below").checkFolder([]) }
    // Nobody can create a file there, not even root.
    #expect(throws: Setup.Failure.self) { try setup("/proc/callgate").checkFolder([]) }
    let ignored = "\(setup().folder)/.gitignore"
    try FileManager.default.createDirectory(atPath: ignored, withIntermediateDirectories: true)
    #expect(throws: Setup.Failure.unusable(path: ignored, reason: "it is a directory")) {
      try setup().checkFolder([])
    }
  }

  @Test func `a file that appears meanwhile stays, and nothing else is left`() throws {
    defer { removeParent() }
    let folder = setup().folder
    let files = ["tests.yaml", "callgate.yaml", "secrets/app-password"].map {
      SetupFiles.File(name: $0, bytes: [0x61], mode: nil, replaces: false)
    }
    #expect(throws: SetupFiles.Failure.exists(["callgate.yaml"])) {
      try SetupFiles.write(files, to: folder) {
        #expect(content(of: folder).count == 4, "all are written under other names")
        #expect(throws: Never.self) {
          try "theirs".write(toFile: "\(folder)/callgate.yaml", atomically: false, encoding: .utf8)
        }
      }
    }
    #expect(content(of: folder).keys.sorted() == ["callgate.yaml"])
    #expect(try text("\(folder)/callgate.yaml") == "theirs")
  }

  @Test func `the app keeps its password where files are overwritten`() throws {
    defer { removeParent() }
    #expect(setup(replacing: true).presentPassword == nil)
    _ = try setup().write(try SetupFixture.answers(), readFrom: [])
    #expect(setup().presentPassword == nil)
    let path = "\(setup().folder)/secrets/app-password"
    #expect(setup(replacing: true).presentPassword == path)
    #expect(setup().presentStoreKey == nil)
    #expect(setup(replacing: true).presentStoreKey == "\(setup().folder)/secrets/store-key")
  }

  @Test func `the store keeps its key where files are overwritten, and a file that is no key is named`()
    throws
  {
    defer { removeParent() }
    _ = try setup().write(try SetupFixture.answers(), readFrom: [])
    let path = "\(setup().folder)/secrets/store-key"
    let key = try text(path)
    func again() throws -> SetupAnswers {
      var flags = SetupFixture.flags
      flags.clientSecretFile = "\(setup().folder)/secrets/talkdesk-credential"
      flags.storeKeyFile = setup(replacing: true).presentStoreKey
      var interview = SetupInterview(flags, files: .system, home: nil)
      return try interview.answers(asking: nil)
    }
    _ = try setup(replacing: true).write(try again(), readFrom: [])
    #expect(try text(path) == key)
    try "no key\n".write(toFile: path, atomically: false, encoding: .utf8)
    #expect {
      try again()
    } throws: {
      guard case SetupFailure.mistakes(let lines) = $0 else { return false }
      return lines.count == 1 && lines[0].hasPrefix("\(path): is not a store key")
    }
  }

  @Test func `without an operator's page there is neither token nor listener`() throws {
    defer { removeParent() }
    let setup = Setup(
      folder: "shop", workingDirectory: parent.path, replacing: false, hasAdmin: false)
    let lines = try setup.write(try SetupFixture.answers { $0.hasAdmin = false }, readFrom: [])
    #expect(content(of: setup.folder)["secrets/admin-token"] == nil)
    #expect(!lines.contains { $0.contains("admin") })
    let sources = ConfigurationSources(
      flags: ConfigurationFlags(config: "\(setup.folder)/callgate.yaml"), files: .system)
    let admin = try ConfigurationLoader.load(sources, for: .serve).configuration.admin
    #expect(admin.listener == nil && admin.token == nil)
  }

  @Test func `nothing is overwritten without being told to, and nothing is left then`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers()
    for name in [
      "callgate.yaml", "tests.yaml", "tests.schema.json", "secrets/app-password",
      "secrets/talkdesk-credential", "secrets/admin-token", "secrets/store-key",
    ] {
      let folder = "\(parent.path)/\(name.replacing("/", with: "-"))"
      try FileManager.default.createDirectory(atPath: "\(folder)/secrets", withIntermediateDirectories: true)
      try "mine".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
      let before = content(of: folder)
      let setup = Setup(folder: folder, workingDirectory: parent.path, replacing: false)
      #expect(throws: Setup.Failure.exists(["\(folder)/\(name)"])) { try setup.checkFolder(["/nowhere"]) }
      #expect(content(of: folder) == before)
      #expect(throws: Setup.Failure.exists(["\(folder)/\(name)"])) {
        try setup.write(answers, readFrom: ["/nowhere"])
      }
      #expect(content(of: folder) == before)
      #expect(try text("\(folder)/\(name)") == "mine")
      let forced = Setup(folder: folder, workingDirectory: parent.path, replacing: true)
      try forced.checkFolder([])
      _ = try forced.write(answers, readFrom: [])
      #expect(try text("\(folder)/\(name)") != "mine")
      #expect(content(of: folder).count == 10, "nothing is left of what gave way")
    }
  }

  @Test func `a credential and a password that lie where they belong may stay there`() throws {
    defer { removeParent() }
    let folder = setup().folder
    try FileManager.default.createDirectory(atPath: "\(folder)/secrets", withIntermediateDirectories: true)
    let path = "\(folder)/secrets/talkdesk-credential"
    try "canary-client-secret\n".write(toFile: path, atomically: false, encoding: .utf8)
    let password = "\(folder)/secrets/app-password"
    try "canary-app-password\n".write(toFile: password, atomically: false, encoding: .utf8)
    var flags = SetupFixture.flags
    (flags.clientSecretFile, flags.passwordFile) = (path, password)
    var interview = SetupInterview(flags, files: .system, home: nil)
    let answers = try interview.answers(asking: nil)
    #expect(throws: Setup.Failure.exists([password])) { try setup().checkFolder([path]) }
    try setup().checkFolder([path, password])
    _ = try setup().write(answers, readFrom: interview.sources)
    #expect(content(of: folder)["secrets/talkdesk-credential"] == 0o600)
    #expect(try text(path) == "canary-client-secret\n")
    #expect(try text(password) == "canary-app-password\n")
  }

  @Test func `a failure in the middle leaves everything as it was`() throws {
    defer { removeParent() }
    let answers = try SetupFixture.answers()
    let folder = setup().folder
    // The last file cannot be put in place, because a folder that is not empty has its name.
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
    // Everything is also undone if the failure comes after some files are in place.
    let blocked = SetupFiles.File(name: "callgate.yaml/below", bytes: [], mode: nil, replaces: true)
    #expect(throws: SetupFiles.Failure.self) { try SetupFiles.write([first, blocked], to: folder) }
    #expect(content(of: folder) == before)
    #expect(try text("\(folder)/callgate.yaml") == "mine")
    try "file".write(toFile: "\(parent.path)/file", atomically: false, encoding: .utf8)
    #expect(throws: Setup.Failure.unusable(path: "\(parent.path)/file", reason: "Not a directory")) {
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
      "cd '", "callgate check callgate.yaml", "callgate doctor", "callgate test-call", "callgate serve",
    ] {
      #expect(text.contains(step), "\(step)")
    }
    #expect(!text.contains("canary") && !text.contains(answers.password.exposedString()))
    let here = Setup(folder: "./", workingDirectory: parent.path, replacing: false)
    #expect(try !here.write(answers, readFrom: []).contains { $0.contains("cd ") })
  }
}

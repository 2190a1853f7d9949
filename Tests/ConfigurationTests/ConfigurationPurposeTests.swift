// Tests of which settings each command requires.

import JOSE
import TestSupport
import Testing

@testable import Callers
@testable import Configuration
@testable import Documents
@testable import RoomSupport

@Suite struct ConfigurationPurposeTests {
  @Test func `what must be there depends on the purpose`() {
    let needed: [ConfigurationPurpose: (credential: Bool, caller: Bool)] = [
      .serve: (true, true), .check: (true, true), .token: (true, false), .sandbox: (false, false),
      .explain: (false, false), .migrate: (false, false),
    ]
    for purpose in ConfigurationPurpose.allCases {
      let problems = Fixture.problems(environment: [:], for: purpose)
      #expect(
        problems.contains { $0.hasPrefix("TD_CLIENT_ID: missing") } == needed[purpose]?.credential,
        "\(purpose)")
      #expect(
        problems.contains { $0.hasPrefix("callers: no client could use the server") }
          == needed[purpose]?.caller,
        "\(purpose)")
    }
  }

  @Test func `explain and the sandbox open none of the credential's files, and explain none of the callers'`()
    throws
  {
    let yaml = """
      talkdesk: { account: acme, client_id: c, key_id: k, private_key_file: /missing/key }
      callers:
        - { id: a, basic: { username: a, password_file: /missing/password } }
        - { id: b, jwt: { issuer: i, audience: a, jwks_file: /missing/set } }
      """
    let explained = try Fixture.load(yaml, environment: [:], for: .explain).configuration
    #expect(explained.callers.map(\.id) == ["a", "b"])
    #expect(Array(explained.files.keys) == ["config.yaml"])
    guard case .basic(_, let digest, _) = explained.callers[0].proof else { return }
    #expect(digest == .unmatchable)
    #expect(
      Fixture.problems(yaml, environment: [:], for: .sandbox) == [
        "config.yaml:3:51: callers.a.basic.password_file: cannot read \"/missing/password\": there is no such file — "
          + "check the path",
        "config.yaml:4:56: callers.b.jwt.jwks_file: cannot read \"/missing/set\": there is no such file — "
          + "check the path",
      ])
  }

  @Test func `the sandbox listens on loopback, needs no credentials and keeps its state in memory`() throws {
    let configuration = try Fixture.load(environment: [:], for: .sandbox).configuration
    #expect(configuration.listen.host == "127.0.0.1")
    #expect(configuration.allowAnonymous)
    #expect(configuration.talkdesk.upstream == nil)
    guard case .memory = configuration.store else {
      Issue.record("another store")
      return
    }
    #expect(configuration.callbacks.talkdeskPhoneNumbers == ["+18005550199"])
    #expect(
      configuration.apps.map(\.id) == [
        "example-app-ios", "example-app-android", "example-app-push", "example-chat", "example-attested",
      ])
    let sdk = "visual-sessions:execute"
    #expect(configuration.apps.map(\.scope) == [sdk, sdk, nil, nil, nil])
    #expect(configuration.apps.map(\.delivery) == [.response, .response, .push, .response, .response])
    #expect(configuration.apps.map(\.desk) == [nil, nil, nil, "chat", nil])
    #expect(configuration.enrolmentApp == "example-app-ios" && configuration.notices == nil)
    // The sandbox's apps have installations to try.
    #expect(configuration.apps.someAndAll { $0.installations != nil })
    #expect(try Fixture.load(for: .serve).configuration.apps.someAndAll { $0.installations == nil })
    #expect(configuration.appointments?.confirm == Configuration.Appointments.Confirmation())
    #expect(configuration.appointments?.slot == Configuration.Appointments().slot)
    #expect(try Fixture.load(for: .serve).configuration.appointments == nil)
  }

  @Test(arguments: [("", false), (", url: \"http://127.0.0.1:9/\"", true)])
  func `in the sandbox only a provider with a url is used`(_ url: String, _ isUsed: Bool) throws {
    let key = Base64.encode(try PrivateKey.generate(for: .ES256).pkcs8DER().exposedBytes())
    let yaml = """
      notices: { apns: { key_variable: KEY, key_id: ABC123DEFG, team_id: DEF123GHIJ, topic: com.example.shop\(url) } }
      """
    let loaded = try Fixture.load(yaml, environment: ["KEY": key], for: .sandbox)
    #expect((loaded.configuration.notices?.apns != nil) == isUsed)
    #expect(loaded.notices.contains { $0.message.hasPrefix("not used, because of --sandbox") } == !isUsed)
  }

  @Test(arguments: [
    ("DATABASE_URL", "postgres://db.example/production"),
    ("CALLGATE_STATE", "/var/lib/callgate/production.sqlite3"),
  ])
  func `the sandbox leaves a configured store alone and says so`(variable: String, value: String) throws {
    let yaml = "store: { url: \"sqlite:/var/lib/callgate/other.sqlite3\" }"
    let loaded = try Fixture.load(yaml, environment: [variable: value], for: .sandbox)
    guard case .memory = loaded.configuration.store else {
      Issue.record("it keeps its state in \(loaded.configuration.store)")
      return
    }
    for place in [variable, "config.yaml:1:15"] {
      #expect(
        loaded.notices.contains {
          "\($0)".contains(place) && "\($0)".contains("not used, because of --sandbox")
        },
        "\(place): \(loaded.notices)")
    }
    let silent = try Fixture.load(environment: ["CALLGATE_STATE": "memory"], for: .sandbox)
    #expect(!silent.notices.contains { "\($0)".contains("--sandbox") })
  }

  @Test func `the sandbox goes beyond loopback only if the flag says so`() throws {
    let flagged = try Fixture.load(environment: [:], host: "0.0.0.0", for: .sandbox).configuration
    #expect(flagged.listen.host == "0.0.0.0")
    let loopback = try Fixture.load(environment: ["HOST": "::1"], for: .sandbox).configuration
    #expect(loopback.listen.host == "::1")
    let remedy = "use 127.0.0.1, or add --host 0.0.0.0"
    #expect(
      Fixture.problems(environment: ["HOST": "0.0.0.0"], for: .sandbox) == [
        "HOST: the sandbox serves requests without credentials, so it listens beyond this machine only with --host — \(remedy)"
      ])
    #expect(
      Fixture.problems("listen: { host: 0.0.0.0 }", environment: [:], for: .sandbox) == [
        "config.yaml:1:17: listen.host: the sandbox serves requests without credentials, so it listens beyond this machine only with --host "
          + "— \(remedy)"
      ])
  }

  @Test func `the sandbox refuses to run on Heroku`() {
    #expect(
      Fixture.problems(environment: ["DYNO": "web.1"], for: .sandbox) == [
        "DYNO: says this is Heroku, and --sandbox serves requests without credentials — set Talkdesk's credential and leave --sandbox out"
      ])
  }

  @Test func `the sandbox says that a credential beside it is not used`() throws {
    let loaded = try Fixture.load(for: .sandbox)
    #expect(loaded.configuration.talkdesk.upstream == nil)
    #expect(
      loaded.notices.map(\.description) == [
        "--sandbox: Talkdesk's credential is not used (TD_CLIENT_ID, TD_PRIVATE_KEY)"
      ])
  }

  @Test func `anonymous access must be written down, and is noted`() throws {
    let environment = Fixture.changed(["DEFAULT_USERNAME": nil, "DEFAULT_PASSWORD": nil])
    #expect(
      Fixture.problems(environment: environment) == [
        "callers: no client could use the server: no caller is configured, and anonymous access is not allowed — set DEFAULT_USERNAME "
          + "and DEFAULT_PASSWORD, list callers in the YAML file, or allow requests without credentials with "
          + "CALLGATE_ALLOW_ANONYMOUS=true (allow_anonymous: true)"
      ])
    #expect(Fixture.problems("callers: []", environment: environment).count == 1)
    let open = try Fixture.load("allow_anonymous: true", environment: environment)
    #expect(open.configuration.allowAnonymous)
    #expect(open.notices.map(\.place) == [.file("config.yaml", line: 1, column: 18)])
    for word in ["on", "yes", "True", "1"] {
      #expect(
        Fixture.problems("allow_anonymous: \(word)", environment: environment) == [
          "config.yaml:1:18: allow_anonymous: \"\(word)\" is neither true nor false — write true or false"
        ])
    }
  }
}

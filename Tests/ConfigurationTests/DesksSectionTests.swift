// Tests of how `desks` is read from the configuration. Its mistakes are in Tests/Fixtures/configurations/mistakes.txt.

import ChatDesk
import JOSE
import TestSupport
import Testing

@testable import Configuration
@testable import RoomSupport

@Suite struct DesksSectionTests {
  private let files = [
    "token": Fixture.content("master-token\n"), "secret": Fixture.content(String(repeating: "s", count: 32)),
    "store-key": Fixture.content(String(repeating: "01", count: 32)),
  ]

  private static let callers = """
    callers:
      - { id: shop, jwt: { issuer: "https://id.example", audience: callgate, hs256_secret_file: secret } }
      - { id: bank, jwt: { issuer: "https://bank.example", audience: callgate, hs256_secret_file: secret } }

    """

  private func load(
    _ yaml: String, for purpose: ConfigurationPurpose = .serve
  ) throws(ConfigurationErrors) -> LoadedConfiguration {
    try Fixture.load(Self.callers + yaml, files: files, for: purpose)
  }

  private static func desk(_ members: String = "", app: String = "callers: [shop]") -> String {
    """
    desks: { chat: { kind: sendbird, application_id: APP-1, api_token_file: token\(members) } }
    apps: { chat-app: { desk: chat, \(app) } }
    """
  }

  @Test func `without the section there is no desk`() throws {
    let configuration = try Fixture.load("apps: { shop: {} }").configuration
    #expect(configuration.desks.isEmpty)
    #expect(configuration.apps.map(\.desk) == [nil])
  }

  @Test func `a desk has the documented defaults`() throws {
    let configuration = try load(Self.desk()).configuration
    let desk = try #require(configuration.desks.first)
    #expect(desk.id == "chat")
    #expect(desk.url == "https://api-APP-1.sendbird.com")
    #expect(desk.tokenLife == .seconds(3600))
    #expect(desk.userIDs == .subjectAlone)
    #expect(desk.apiToken?.isEqual(to: Array("master-token".utf8)) == true)
    #expect(configuration.apps.map(\.desk) == ["chat"])
    for setting in Settings.all where setting.path?.hasPrefix("desks.") == true {
      guard let standard = setting.standard, let key = setting.path?.split(separator: ".").last else {
        continue
      }
      let stated = try #require(try load(Self.desk(", \(key): \"\(standard)\"")).configuration.desks.first)
      #expect(stated.tokenLife == desk.tokenLife && stated.userIDs == desk.userIDs, "\(key)")
    }
  }

  @Test func `what a desk says is taken`() throws {
    let desk = try #require(
      try load(
        Self.desk(
          ", token_life: 30d, user_id: \"{caller}:{subject}\", url: \"http://127.0.0.1:7/\"", app: ""
        )
      ).configuration.desks.first)
    #expect(desk.tokenLife == .seconds(30 * 86_400))
    #expect(desk.userIDs.user("ann", of: "shop", requestedAs: "ann").id.text == "shop:ann")
    #expect(desk.url == "http://127.0.0.1:7")
  }

  @Test func `a user's installations are the user, and an operator's are users of their own`() throws {
    let users = "callers: [shop], installations: { authorize: [user] }"
    _ = try load("store: { key_file: store-key }\n" + Self.desk(app: users))
    let both = "callers: [shop], installations: { authorize: [user, operator] }"
    #expect(throws: ConfigurationErrors.self) {
      try load("store: { key_file: store-key }\n" + Self.desk(app: both))
    }
    _ = try load(
      "store: { key_file: store-key }\n" + Self.desk(", user_id: \"{caller}:{subject}\"", app: both))
  }

  @Test func `a desk that no app uses gets a notice`() throws {
    let loaded = try load(
      "desks: { chat: { kind: sendbird, application_id: A, api_token_file: token } }\napps: { a: {} }")
    #expect(loaded.notices.contains { "\($0)".contains("no app uses the desk chat") })
  }

  @Test func `commands that do not ask Sendbird do not read the API token`() throws {
    for purpose in [ConfigurationPurpose.explain, .migrate, .sandbox] {
      let configuration = try Fixture.load(
        Self.callers + Self.desk(), files: files.filter { $0.key != "token" }, for: purpose
      ).configuration
      #expect(configuration.desks.map(\.id) == ["chat"])
      #expect(configuration.desks.someAndAll { $0.apiToken == nil })
    }
  }

  @Test func `the sandbox has a desk of its own, where the file has neither apps nor desks`() throws {
    let own = try Fixture.load("log: { level: info }", environment: [:], for: .sandbox).configuration
    #expect(own.desks.map(\.id) == ["chat"])
    #expect(
      own.apps.map(\.id) == [
        "example-app-ios", "example-app-android", "example-app-push", "example-chat", "example-attested",
      ])
    #expect(own.apps.map(\.desk) == [nil, nil, nil, "chat", nil])
    let apps = try Fixture.load("apps: { shop: {} }", environment: [:], for: .sandbox).configuration
    #expect(apps.desks.isEmpty)
    #expect(apps.apps.map(\.id) == ["shop"])
    #expect(try Fixture.load().configuration.apps.map(\.id) == ["example-app-ios"])
  }

  @Test func `the summary names the desks and no token`() throws {
    let summary = "\(ConfigurationSummary(try load(Self.desk()).configuration))"
    #expect(summary.contains("chat (https://api-APP-1.sendbird.com)"))
    #expect(!summary.contains("master-token"))
  }
}

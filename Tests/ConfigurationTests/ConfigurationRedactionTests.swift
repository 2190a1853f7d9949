// Tests that no output about a configuration contains a secret.

import JOSE
import Testing

@testable import Configuration
@testable import RoomSupport

/// No secret appears in anything that is printed, logged or dumped about a configuration.
@Suite struct ConfigurationRedactionTests {
  private static let canaries = [
    "canary-password-1", "canary-password-2", "canary-admin-token-3", "canary-hs256-secret-of-32-bytes-4",
    "canary-database-5", "canary-client-secret-6", "canary-yaml-7",
  ]

  private static let environment = [
    "TD_ACCOUNT_NAME": "acme", "TD_CLIENT_ID": "c", "TD_CLIENT_SECRET": canaries[5], "DEFAULT_USERNAME": "u",
    "DEFAULT_PASSWORD": canaries[0], "CALLGATE_ADMIN_TOKEN": canaries[2],
    "DATABASE_URL": "postgres://u:\(canaries[4])@h/d", "TD_PHONE_NUMBER": "+18500001234",
    "CALLGATE_CONFIG_TEXT": """
    # \(canaries[6])
    callers:
      - { id: b, basic: { username: v, password_file: /password } }
      - { id: d, jwt: { issuer: i, audience: a, hs256_secret_file: /hs256 } }
      - { id: e, api_key: { sha256: \(String(repeating: "0a", count: 32)) } }
    """,
  ]
  private static let files = [
    "/password": Fixture.content(canaries[1]), "/hs256": Fixture.content(canaries[3]),
  ]

  private func find(_ text: String, _ hidden: [String]) -> [String] { hidden.filter(text.contains) }

  private func dumped(_ value: some Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text + "\(value)" + String(reflecting: value)
  }

  @Test func `a valid configuration shows none`() throws {
    let loaded = try Fixture.load(environment: Self.environment, files: Self.files)
    let digests = [Self.canaries[0], Self.canaries[1]].map { Hex.encode(SHA256.digest(Array($0.utf8))) }
    let hidden = Self.canaries + digests + ["0a0a0a0a", "10, 10, 10, 10", "+18500001234", Fixture.key]
    let summary = ConfigurationSummary(loaded.configuration).description
    #expect(find(summary, hidden) == [])
    #expect(summary.contains("TD_PHONE_NUMBER = +*********34"))
    #expect(summary.contains("talkdesk.client_secret_file = <redacted>  (TD_CLIENT_SECRET)"))
    #expect(find(loaded.notices.map(\.description).joined(), hidden) == [])
    // The account's numbers are a plain property. Everything else about them may be dumped.
    #expect(find(dumped(loaded.configuration), hidden.filter { $0 != "+18500001234" }) == [])
  }

  @Test func `a key shows none of its private half`() throws {
    let loaded = try Fixture.load()
    let key = try PrivateKey(Fixture.key)
    let pem = try key.pem().exposedString().split(separator: "\n").dropFirst().map(String.init)
    let text = dumped(loaded.configuration) + ConfigurationSummary(loaded.configuration).description
    #expect(find(text, [Fixture.key] + pem.prefix(2)) == [])
    #expect(text.contains(key.publicKey.fingerprint.prefix(16)))
  }

  /// Each secret is set to an unusable value, so that the problem is about the secret itself.
  @Test(arguments: [
    ("DEFAULT_PASSWORD", "canary", ["DEFAULT_PASSWORD_FILE": "/x"]),
    ("CALLGATE_ADMIN_TOKEN", "canary with spaces", [:]),
    ("DATABASE_URL", "mysql://u:canary@h/d", [:]),
    ("DATABASE_URL", "postgres://u:x@canary@h/d", [:]),
    ("DATABASE_URL", "postgres://u:x/canary@h/d", [:]),
    ("DATABASE_URL", "postgres://u:x canary@h/d", [:]),
    ("DATABASE_URL", "host=h password=canary", [:]),
    ("CALLGATE_STATE", "postgres://u:canary@h/d", [:]),
    ("TD_CLIENT_SECRET", "canary\n\n", ["TD_PRIVATE_KEY": ""]),
    ("TD_PRIVATE_KEY", "canary", [:]),
    ("TD_PRIVATE_KEY", "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----", [:]),
    ("TD_TOKEN_URL", "https://u:canary@h/", [:]),
    ("TD_CLIENT_ID", "canary and a space", [:]),
    ("TD_PHONE_NUMBER", "canary", [:]),
    ("CALLGATE_CONFIG_TEXT", "a: 'canary", [:]),
    ("CALLGATE_CONFIG_TEXT", "a: &x canary", [:]),
    ("CALLGATE_CONFIG_TEXT", "talkdesk: { private_key: canary }", [:]),
    ("CALLGATE_CONFIG_TEXT", "callers: [{ id: x, basic: { username: u, password: canary } }]", [:]),
    ("CALLGATE_CONFIG_TEXT", "callers: [{ id: x, basic: { username: u, password_sha256: canary } }]", [:]),
    ("CALLGATE_CONFIG_TEXT", "callers: [{ id: x, api_key: { sha256: canary } }]", [:]),
    ("CALLGATE_CONFIG_TEXT", "callers: [{ id: x, api_key: canary }]", [:]),
    ("CALLGATE_CONFIG_TEXT", "store: { url: \"mysql://u:canary@h\" }", [:]),
    ("CALLGATE_CONFIG_TEXT", "store: { url: postgres://u:x,canary@h/d }", [:]),
    ("CALLGATE_CONFIG_TEXT", "store:\n  url: postgres://u:x #canary@h/d", [:]),
    ("CALLGATE_CONFIG_TEXT", "store: { url: postgres://u:x}canary@h/d }", [:]),
  ])
  func `a problem with a secret does not repeat it`(
    _ name: String, _ value: String, _ others: [String: String]
  ) {
    var environment = Fixture.environment.merging(others) { $1 }
    environment[name] = value
    do throws(ConfigurationErrors) {
      _ = try Fixture.load(environment: environment)
      Issue.record("taken")
    } catch {
      #expect(!error.description.contains("canary"), "\(error)")
      #expect(!error.notices.map(\.description).joined().contains("canary"))
      #expect(!dumped(error).contains("canary"))
    }
  }
}

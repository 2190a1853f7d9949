// Tests of keys that name an environment variable, and of the store keys.

import Callers
import JOSE
import Sealing
import Testing
import Upstream

@testable import Configuration
@testable import Documents
@testable import RoomSupport

@Suite struct NamedVariableTests {
  private static let first = Base64.encode([UInt8](repeating: 1, count: 32))
  private static let second = Hex.encode([UInt8](repeating: 2, count: 32))

  @Test func `every key that ends in _file has one that ends in _variable`() {
    for setting in Settings.all {
      guard let path = setting.path, path.hasSuffix("_file") else { continue }
      #expect([.secret, .file].contains(setting.form), "\(path)")
      let parent = path.split(separator: ".").dropLast().map { "\($0)." }.joined()
      let names = Settings.keys(below: parent).map(\.name)
      let name = String(path.split(separator: ".").last ?? "").replacing("_file", with: "_variable")
      #expect(names.contains(name), "\(path)")
    }
  }

  @Test func `a variable that the file names holds the content`() throws {
    let set =
      #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#
    let yaml = """
      talkdesk: { client_secret_variable: SHOP_SECRET }
      admin: { token_variable: CALLGATE_OWN_TOKEN }
      outbound: { ca_variable: SHOP_AUTHORITIES }
      callers:
        - { id: app, basic: { username: app, password_variable: SHOP_PASSWORD } }
        - { id: users, jwt: { issuer: "https://a.example", audience: a, jwks_variable: SHOP_KEYS } }
        - { id: others, jwt: { issuer: "https://b.example", audience: a, hs256_secret_variable: SHOP_HS256 } }
      store: { key_variable: SHOP_STORE_KEY, previous_key_variable: SHOP_OLD_STORE_KEY }
      """
    let loaded = try Fixture.load(
      yaml,
      environment: [
        "TD_ACCOUNT_NAME": "acme", "TD_CLIENT_ID": "client-1", "SHOP_SECRET": "s3cret s3cret",
        "CALLGATE_OWN_TOKEN": "0123456789abcdef", "SHOP_AUTHORITIES": "-----BEGIN CERTIFICATE-----",
        "SHOP_PASSWORD": "correct horse battery", "SHOP_KEYS": set,
        "SHOP_HS256": String(repeating: "h", count: 32), "SHOP_STORE_KEY": Self.first,
        "SHOP_OLD_STORE_KEY": Self.second,
      ])
    let configuration = loaded.configuration
    // A named variable is not an unknown one.
    #expect(loaded.notices.isEmpty)
    guard case .secret(let secret) = configuration.talkdesk.upstream?.authentication else {
      Issue.record("no secret")
      return
    }
    #expect(secret.isEqual(to: Array("s3cret s3cret".utf8)))
    #expect(configuration.admin.token?.isEqual(to: Array("0123456789abcdef".utf8)) == true)
    #expect(configuration.authorities == .pem(Array("-----BEGIN CERTIFICATE-----".utf8)))
    #expect(configuration.callers.map(\.id) == ["app", "users", "others"])
    let keys = try #require(configuration.storeKeys)
    #expect(keys.current.mark == (try StoreKey(text: Array(Self.first.utf8)).mark))
    #expect(keys.previous?.mark == (try StoreKey(text: Array(Self.second.utf8)).mark))
    let origins = Dictionary(uniqueKeysWithValues: configuration.origins.map { ($0.name, $0.value) })
    #expect(origins["store.key_file"] == "<redacted> from the variable SHOP_STORE_KEY")
    #expect(origins["outbound.ca_file"] == "the variable SHOP_AUTHORITIES")
  }

  @Test(arguments: ["", "\n", "\r\n"])
  func `one final line feed of a variable is dropped, as of a file`(ending: String) throws {
    let configuration = try Fixture.load(
      "callers: [{ id: app, basic: { username: app, password_variable: SHOP_PASSWORD } }]",
      environment: Fixture.changed([
        "DEFAULT_USERNAME": nil, "DEFAULT_PASSWORD": nil, "SHOP_PASSWORD": "correct horse battery" + ending,
      ])
    ).configuration
    guard case .basic(_, let digest, _) = configuration.callers.first?.proof else {
      Issue.record("no caller")
      return
    }
    #expect(digest.value.bytes == SHA256.digest(Array("correct horse battery".utf8)))
  }

  @Test func `the variable of a setting goes before the variable that the file names`() throws {
    let configuration = try Fixture.load(
      "store: { key_variable: SHOP_STORE_KEY }",
      environment: Fixture.changed(["SHOP_STORE_KEY": Self.first, "CALLGATE_STORE_KEY": Self.second])
    ).configuration
    #expect(configuration.storeKeys?.current.mark == (try StoreKey(text: Array(Self.second.utf8)).mark))
  }

  @Test(arguments: [
    (
      "store: { key_file: /key, key_variable: SHOP_STORE_KEY }",
      [
        "config.yaml:1:26: store.key_variable: is set, and so is store.key_file — keep one of the two"
      ]
    ),
    (
      "store: { key_variable: SHOP_MISSING }",
      [
        "config.yaml:1:24: store.key_file: names the variable SHOP_MISSING, which is not set — set it, or correct the name"
      ]
    ),
    (
      "store: { key_variable: SHOP_LINE_FEED }",
      ["config.yaml:1:24: store.key_file: names the variable SHOP_LINE_FEED, which is empty — fill it in"]
    ),
    (
      "store: { key_variable: SHOP_EMPTY }",
      ["config.yaml:1:24: store.key_file: names the variable SHOP_EMPTY, which is empty — fill it in"]
    ),
    (
      "store: { key_variable: $SHOP_STORE_KEY }",
      [
        "config.yaml:1:24: store.key_variable: is not the name of an environment variable — write its name, of letters, "
          + "digits and _, without $"
      ]
    ),
    (
      "store: { key_variable: SHOP_WRONG }",
      [
        "config.yaml:1:24: store.key_file: is not a store key — give 32 bytes as Base64 or hex; `callgate key generate "
          + "--store` prints one"
      ]
    ),
    (
      "store: { key_variable: SHOP_PATH }",
      [
        "config.yaml:1:24: store.key_file: contains a path, not a key — set CALLGATE_STORE_KEY_FILE to the path instead"
      ]
    ),
    (
      "store: { previous_key_file: /key }",
      [
        "config.yaml:1:29: store.previous_key_file: is set without the current key — set CALLGATE_STORE_KEY "
          + "(store.key_file), or remove this one"
      ]
    ),
    (
      "store: { key_variable: SHOP_STORE_KEY, previous_key_file: /key }",
      [
        "config.yaml:1:59: store.previous_key_file: is the current store key — give the other key of the rotation, or "
          + "remove this one"
      ]
    ),
    (
      "callers: [ { id: a, basic: { username: a, password_file: /key, password_variable: SHOP_PATH } } ]",
      [
        "config.yaml:1:83: callers.a.basic.password_variable: is set, and so is callers.a.basic.password_file — keep one of "
          + "the two"
      ]
    ),
  ])
  func `what is wrong with a named variable or a store key is said`(yaml: String, problems: [String]) {
    #expect(
      Fixture.problems(
        yaml,
        environment: Fixture.changed([
          "SHOP_STORE_KEY": Self.first, "SHOP_EMPTY": "", "SHOP_LINE_FEED": "\n", "SHOP_WRONG": "secret",
          "SHOP_PATH": "/run/key.pem",
        ]),
        files: ["/key": Fixture.content(Self.first + "\n")]) == problems)
  }

  @Test func `a command that needs no store key opens none`() throws {
    let yaml = "store: { key_variable: SHOP_MISSING }"
    #expect(try Fixture.load(yaml, for: .explain).configuration.storeKeys == nil)
    #expect(!Fixture.problems(yaml, for: .migrate).isEmpty)
  }
}

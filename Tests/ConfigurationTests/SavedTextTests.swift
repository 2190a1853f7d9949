// Tests of files and variables in the encodings in which editors, shells and platforms save them.

import Callers
import JOSE
import Sealing
import Testing
import Texts
import Upstream

@testable import Configuration
@testable import Documents
@testable import RoomSupport

@Suite struct SavedTextTests {
  private static let mark = "\u{FEFF}"
  private static let key = Base64.encode([UInt8](repeating: 7, count: 32))
  private static let password = "correct horse battery"

  private func secret(_ configuration: Configuration) -> Secret? {
    guard case .secret(let secret) = configuration.talkdesk.upstream?.authentication else { return nil }
    return secret
  }

  private func digest(_ configuration: Configuration) -> [UInt8]? {
    guard case .basic(_, let digest, _) = configuration.callers.first?.proof else { return nil }
    return digest.value.bytes
  }

  @Test func `files that an editor saved with a byte order mark are read as without it`() throws {
    let set =
      #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#
    let yaml = """
      talkdesk: { client_secret_file: /secret }
      admin: { token_file: /token }
      store: { key_file: /store-key }
      outbound: { ca_file: /ca.pem }
      callers:
        - { id: app, basic: { username: app, password_file: /password } }
        - { id: users, jwt: { issuer: "https://a.example", audience: a, jwks_file: /keys.json } }
      notices: { fcm: { service_account_file: /account.json } }
      """
    let contents = [
      "/secret": "s3cret s3cret\r\n", "/token": "0123456789abcdef\n", "/store-key": Self.key + "\n",
      "/ca.pem": "-----BEGIN CERTIFICATE-----", "/password": Self.password, "/keys.json": set,
      "/account.json": Fixture.serviceAccount,
    ]
    let loaded = try Fixture.load(
      Self.mark + yaml, environment: ["TD_ACCOUNT_NAME": "acme", "TD_CLIENT_ID": "client-1"],
      files: contents.mapValues { Fixture.content(Self.mark + $0) })
    let configuration = loaded.configuration
    #expect(loaded.notices.isEmpty)
    #expect(secret(configuration)?.isEqual(to: Array("s3cret s3cret".utf8)) == true)
    #expect(configuration.admin.token?.isEqual(to: Array("0123456789abcdef".utf8)) == true)
    #expect(configuration.storeKeys?.current.mark == (try StoreKey(text: Array(Self.key.utf8)).mark))
    #expect(digest(configuration) == SHA256.digest(Array(Self.password.utf8)))
    #expect(configuration.callers.count == 2)
    #expect(configuration.notices?.fcm != nil)
    // libcurl reads a file itself, and would miss the first certificate of this one.
    #expect(configuration.authorities == .pem(Array("-----BEGIN CERTIFICATE-----".utf8)))
  }

  /// Windows PowerShell 5.1 writes UTF-16 where no encoding is given.
  @Test(arguments: [true, false])
  func `a file in UTF-16 is called so, whatever it holds`(isLittleEndian: Bool) throws {
    func utf16(_ text: String) -> ConfigurationFiles.Content {
      let bytes = "\(Self.mark)\(text)\r\n".utf16.flatMap { unit in
        let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
        return isLittleEndian ? [low, high] : [high, low]
      }
      return ConfigurationFiles.Content(bytes: bytes)
    }
    let words = #"cannot read "/f": it is UTF-16, not UTF-8 — save the file as UTF-8"#
    for (name, text) in [
      ("DEFAULT_PASSWORD", Self.password), ("CALLGATE_ADMIN_TOKEN", "0123456789abcdef"),
      ("CALLGATE_STORE_KEY", Self.key), ("TD_PRIVATE_KEY", Fixture.key),
      ("DATABASE_URL", "postgres://user:password@db.example/callgate"),
    ] {
      let problems = Fixture.problems(
        environment: Fixture.changed([name: nil, "\(name)_FILE": "/f"]), files: ["/f": utf16(text)])
      #expect(problems.contains { $0 == "\(name)_FILE: \(words)" }, "\(problems)")
    }
    let yaml = Fixture.problems(
      environment: Fixture.changed(["CALLGATE_CONFIG": "/f"]), files: ["/f": utf16("log: { level: info }")])
    #expect(yaml.contains { $0.hasPrefix("CALLGATE_CONFIG: \(words)") }, "\(yaml)")
    #expect(throws: KeyError.otherThing(name: "UTF-16 text", remedy: "save the file as UTF-8")) {
      try PrivateKey(utf16(Fixture.key).bytes)
    }
  }

  @Test(arguments: ["\n", "\r\n"])
  func `every variable with a secret loses one final line feed`(ending: String) throws {
    let secrets = [
      "TD_CLIENT_SECRET": "s3cret s3cret", "DEFAULT_PASSWORD": Self.password,
      "CALLGATE_ADMIN_TOKEN": "0123456789abcdef", "CALLGATE_STORE_KEY": Self.key,
      "DATABASE_URL": "postgres://user:password@db.example/callgate",
    ]
    let configuration = try Fixture.load(
      environment: Fixture.changed(["TD_PRIVATE_KEY": nil, "TD_KEY_ID": nil]).merging(
        secrets.mapValues { Self.mark + $0 + ending }
      ) { $1 }
    ).configuration
    #expect(secret(configuration)?.isEqual(to: Array("s3cret s3cret".utf8)) == true)
    #expect(digest(configuration) == SHA256.digest(Array(Self.password.utf8)))
    #expect(configuration.admin.token?.isEqual(to: Array("0123456789abcdef".utf8)) == true)
    #expect(configuration.storeKeys?.current.mark == (try StoreKey(text: Array(Self.key.utf8)).mark))
    guard case .postgres = configuration.store else {
      Issue.record("no PostgreSQL")
      return
    }
  }

  @Test func `a variable with nothing but a line feed counts as empty`() {
    let problems = Fixture.problems(environment: Fixture.changed(["TD_PRIVATE_KEY": "\n"]))
    #expect(problems.count == 1 && problems[0].contains("missing (set but empty)"))
  }

  @Test(arguments: [" ", "\t", "\n\n", "\r", "\u{A0}", "\u{200B}", "\u{FEFF}"])
  func `another blank at the end of a secret is refused in a variable, and noted in a file`(blank: String)
    throws
  {
    let value = Self.password + blank
    for name in ["DEFAULT_PASSWORD", "TD_CLIENT_SECRET", "CALLGATE_ADMIN_TOKEN", "CALLGATE_STORE_KEY"] {
      let changes: [String: String?] =
        name == "TD_CLIENT_SECRET" ? ["TD_PRIVATE_KEY": nil, name: value] : [name: value]
      let problems = Fixture.problems(environment: Fixture.changed(changes))
      #expect(problems.count == 1 && problems[0].hasPrefix("\(name): ends with "), "\(problems)")
    }
    let named = Fixture.problems(
      "callers: [{ id: app, basic: { username: app, password_variable: SHOP } }]",
      environment: Fixture.changed(["SHOP": value]))
    #expect(named.count == 1 && named[0].contains("SHOP, which ends with "), "\(named)")
    // In a file, a line break or a tab is also a control character, which a password may not contain.
    guard blank.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else { return }
    let loaded = try Fixture.load(
      "callers: [{ id: app, basic: { username: app, password_file: /password } }]",
      environment: Fixture.changed(["DEFAULT_USERNAME": nil, "DEFAULT_PASSWORD": nil]),
      files: ["/password": Fixture.content(value + "\n")])
    #expect(loaded.notices.count == 1 && loaded.notices[0].message.contains("ends with"))
    #expect(digest(loaded.configuration) == SHA256.digest(Array(value.utf8)))
  }

  @Test func `blanks at the end of a key or of JSON mean nothing`() throws {
    let loaded = try Fixture.load(
      "notices: { fcm: { service_account_variable: ACCOUNT } }",
      environment: Fixture.changed([
        "TD_PRIVATE_KEY": Fixture.key + " \n\n", "ACCOUNT": Fixture.serviceAccount + "\n\n",
      ]))
    #expect(loaded.notices.isEmpty)
  }

  @Test(arguments: ["a\tb c d e f", "a b c d\u{7F}e", "a b c\u{1}d e", "a b\rc d e"])
  func `a control character in a password is refused, wherever the password is`(value: String) {
    let code = value.unicodeScalars.first { $0.properties.generalCategory == .control }?.codePoint ?? "?"
    for problems in [
      Fixture.problems(environment: Fixture.changed(["DEFAULT_PASSWORD": value + "\r\n"])),
      Fixture.problems(
        environment: Fixture.changed(["DEFAULT_PASSWORD": nil, "DEFAULT_PASSWORD_FILE": "/p"]),
        files: ["/p": Fixture.content(value + "\n")]),
      Fixture.problems(
        "callers: [{ id: app, basic: { username: app, password_file: /p } }]",
        files: ["/p": Fixture.content(value)]),
    ] {
      #expect(problems.count == 1 && problems[0].contains(code), "\(problems)")
      #expect(!problems.contains { $0.contains(value) })
    }
  }

  @Test(arguments: ["\"", "'"])
  func `a value in quotation marks is noted by the variable's name`(mark: String) throws {
    func notices(_ name: String, _ value: String, _ yaml: String? = nil) throws -> [ConfigurationNotice] {
      try Fixture.load(yaml, environment: Fixture.changed([name: value]), for: .check).notices.filter {
        $0.message.contains("`docker run --env-file` keeps quotation marks")
      }
    }
    for name in ["TD_CLIENT_ID", "DEFAULT_USERNAME", "DEFAULT_PASSWORD", "CALLGATE_ADMIN_TOKEN", "no_proxy"] {
      let value = "0123456789abcdef01"
      let found = try notices(name, mark + value + mark)
      #expect(found.map(\.place) == [.variable(name)])
      #expect(!found.contains { $0.description.contains(value) })
      for sound in [value, mark + value, value + mark] { #expect(try notices(name, sound).isEmpty) }
    }
    #expect(try notices("DEFAULT_PASSWORD", mark + mark).count == 1)
    #expect(try notices("DEFAULT_PASSWORD", mark).isEmpty)
    #expect(try notices("OTHER", mark + "x" + mark).isEmpty)
    #expect(
      try notices("OTHER", mark + "0123456789abcdef" + mark, "admin: { token_variable: OTHER }").count == 1)
  }

  @Test func `a file and a variable for one content are refused together, wherever they can stand`() {
    var pairs = 0
    for setting in Settings.all {
      guard let path = setting.path, let key = setting.variableKey?.name else { continue }
      let steps = path.split(separator: ".").map(String.init)
      var yaml = "\(steps[steps.count - 1]): /f, \(key): SHOP"
      for step in steps.dropLast().reversed() {
        let name = step == "*" ? "x" : step.replacing("[]", with: "")
        yaml = step.hasSuffix("[]") ? "\(name): [ { \(yaml) } ]" : "\(name): { \(yaml) }"
      }
      let found = Fixture.problems(yaml, environment: Fixture.changed(["SHOP": "x"])).filter {
        $0.contains(".\(key): is set, and so is ") && $0.hasSuffix(" — keep one of the two")
      }
      #expect(found.count == 1, "\(yaml)")
      pairs += 1
    }
    #expect(pairs > 20)
  }
}

@Suite struct UnseenCharacterTests {
  @Test func `an indentation of no-break spaces is named by its code point`() {
    let problems = Fixture.problems("talkdesk:\n\u{A0}\u{A0}account: acme\n")
    let key = problems.filter { $0.hasPrefix("config.yaml:2:1: <U+00A0><U+00A0>account: unknown key") }
    #expect(key.count == 1, "\(problems)")
  }

  @Test(arguments: [
    ("talkdesk: { acc\u{200B}ount: acme }", "U+200B"), ("talkdesk: { account: \"acme\u{200B}\" }", "U+200B"),
    ("talkdesk: { client_id: \"c\u{AD}1\" }", "U+00AD"),
    ("talkdesk: { token_url: \"https://a.example/\u{2060}token\" }", "U+2060"),
    ("listen: { host: \"127.0.0.1\u{200E}\" }", "U+200E"), ("listen:\u{A0}{ port: 80 }", "U+00A0"),
    ("listen:\n  port:\u{A0}80", "U+00A0"), ("apps: { \"shop\u{FEFF}\": {} }", "U+FEFF"),
    ("callers: [{ id: \"a\u{200D}b\", api_key: { sha256: x } }]", "U+200D"),
    (
      "rules: [{ name: h, kind: hours, timezone: \"Europe/Lisbon\u{200B}\", weekly: { mon: \"09:00-18:00\" } }]",
      "U+200B"
    ),
    ("rules: [{ name: h, kind: hours, time\u{200B}zone: UTC, weekly: { mon: \"09:00-18:00\" } }]", "U+200B"),
    ("rules: [{ name: \"night\u{200B}\", kind: stop }]", "U+200B"),
    ("callbacks: { talkdesk_phone_numbers: [\"\u{202D}+18500000000\u{202C}\"] }", "U+202D"),
    ("listen:\n  port: 80\n \u{A0}host: ::", "U+00A0"), ("listen: { host: \"\u{7}\" }", "U+0007"),
    ("a\u{1}b: c", "U+0001"),
  ])
  func `an invisible character is named by its code point`(yaml: String, code: String) {
    let problems = Fixture.problems(
      yaml, environment: Fixture.changed(["TD_ACCOUNT_NAME": nil, "TD_CLIENT_ID": nil]))
    #expect(problems.contains { $0.contains(code) }, "\(problems)")
    #expect(!problems.contains { $0.unicodeScalars.contains(where: \.isUnseen) })
  }

  @Test func `a name with an invisible character is noted where scripts may need it`() throws {
    let loaded = try Fixture.load(
      """
      apps: { shop: { context_schema: { fields: { "order\u{200C}": {} } } } }
      """, environment: Fixture.changed(["DEFAULT_USERNAME": "app\u{200B}"]))
    #expect(loaded.notices.filter { $0.message.contains("U+200C") }.count == 1)
    #expect(loaded.notices.filter { $0.message.contains("U+200B") }.count == 1)
  }
}

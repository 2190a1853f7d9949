// Tests of how the sources of a configuration are combined, and of the defaults.

import Gate
import JOSE
import Platform
import Talkdesk
import Testing
import Tokens

@testable import Callers
@testable import Configuration
@testable import Documents
@testable import Records
@testable import RoomSupport

@Suite struct ConfigurationLoaderTests {
  @Test func `a credential and a caller are enough, and the rest are the documented defaults`() throws {
    let loaded = try Fixture.load()
    let configuration = loaded.configuration
    #expect(loaded.notices.isEmpty)
    #expect(configuration.listen.host == "0.0.0.0")
    #expect(configuration.listen.port == 8080)
    #expect(configuration.listen.tls == nil)
    #expect(configuration.listen.trustedProxies.isEmpty)
    #expect(configuration.listen.forwardedHops == 0)
    #expect(!configuration.listen.sharePort)
    #expect(configuration.admin.listener == nil)
    #expect(configuration.admin.token == nil)
    #expect(configuration.log == LogSettings(level: .info, format: .json))
    let upstream = try #require(configuration.talkdesk.upstream)
    #expect(upstream.tokenURL == "https://acme.talkdeskid.com/oauth/token")
    #expect(upstream.audience == upstream.tokenURL)
    #expect(upstream.apiURL == "https://api.talkdeskapp.com")
    #expect(upstream.clientID == "client-1")
    guard case .key(let key, next: nil) = upstream.authentication else {
      Issue.record("no key")
      return
    }
    #expect(key.id == "key-1")
    #expect(key.algorithm == .ES256)
    #expect(configuration.talkdesk.scope == "callback:write")
    #expect(
      configuration.tokens
        == Configuration.Tokens(share: true, minimumRemaining: .seconds(120), deadline: .seconds(10)))
    #expect(!configuration.allowAnonymous)
    #expect(configuration.callers.map(\.id) == ["default"])
    #expect(configuration.apps.map(\.id) == ["example-app-ios"])
    #expect(
      configuration.callbacks
        == Configuration.Callbacks(
          talkdeskPhoneNumbers: [], dedupeWindow: .seconds(60), keyRetention: .seconds(86_400),
          retention: .seconds(30 * 86_400), timeout: .seconds(20), concurrency: 32))
    #expect(configuration.allowedOrigins.isEmpty)
    guard case .sqlite(path: "callgate.sqlite3") = configuration.store else {
      Issue.record("another store")
      return
    }
    #expect(
      configuration.limits
        == Configuration.Limits(
          connections: 20_000, headerBytes: 16_384, contentBytes: 65_536, headerTimeout: .seconds(10),
          requestTimeout: .seconds(30), idleTimeout: .seconds(95), drainDelay: .zero,
          drainTimeout: .seconds(25)))
  }

  @Test func `each source goes before the one ahead of it`() throws {
    let yaml = "listen: { host: 127.0.0.1, port: 1001 }\nlog: { level: error }"
    let environment = Fixture.changed(["PORT": "1002", "HOST": "127.0.0.2"])
    let byFile = try Fixture.load(yaml).configuration
    #expect(byFile.listen.host == "127.0.0.1")
    #expect(byFile.listen.port == 1001)
    #expect(byFile.log.level == .error)
    let byVariable = try Fixture.load(yaml, environment: environment).configuration
    #expect(byVariable.listen.host == "127.0.0.2")
    #expect(byVariable.listen.port == 1002)
    #expect(byVariable.log.level == .error)
    let byFlag = try Fixture.load(yaml, environment: environment, host: "127.0.0.3", port: "1003")
      .configuration
    #expect(byFlag.listen.host == "127.0.0.3")
    #expect(byFlag.listen.port == 1003)
    #expect(
      byFlag.origins.first { $0.name == "listen.port" }
        == SettingOrigin(
          name: "listen.port", value: "\"1003\"", place: .flag("--port"),
          overridden: .file("config.yaml", line: 1, column: 34)))
  }

  @Test func `a value that a later source replaces is not judged`() throws {
    let configuration = try Fixture.load("listen: { port: none }", port: "0").configuration
    #expect(configuration.listen.port == 0)
  }

  @Test func `the YAML comes from a flag, a path in a variable, or a variable, and never from two variables`()
    throws
  {
    let yaml = "listen: { port: 1 }"
    let files = ["a.yaml": Fixture.content(yaml)]
    #expect(
      try Fixture.load(environment: Fixture.changed(["CALLGATE_CONFIG": "a.yaml"]), files: files)
        .configuration.listen
        .port == 1)
    #expect(
      try Fixture.load(environment: Fixture.changed(["CALLGATE_CONFIG_TEXT": yaml])).configuration.listen.port
        == 1)
    #expect(
      Fixture.problems(
        environment: Fixture.changed([
          "CALLGATE_CONFIG": "a.yaml", "CALLGATE_CONFIG_TEXT": "listen: {port: x}",
        ]),
        files: files) == ["CALLGATE_CONFIG: is set, and so is CALLGATE_CONFIG_TEXT — keep one of the two"])
    let flagged = try Fixture.load(
      "listen: { port: 2 }",
      environment: Fixture.changed(["CALLGATE_CONFIG": "a.yaml", "CALLGATE_CONFIG_TEXT": yaml]))
    #expect(flagged.configuration.listen.port == 2)
    #expect(
      flagged.notices.map(\.description) == ["CALLGATE_CONFIG_TEXT: not used, because --config is given"])
  }

  @Test func `a place in CALLGATE_CONFIG_TEXT is named after it`() {
    #expect(
      Fixture.problems(environment: Fixture.changed(["CALLGATE_CONFIG_TEXT": "listen:\n  port: x"])) == [
        "CALLGATE_CONFIG_TEXT:2:9: listen.port: \"x\" is not a port from 0 to 65535 — write a whole number in digits"
      ])
  }

  @Test func `all problems of all sources come in one report, and only flags make it misuse`() throws {
    let yaml = "listen: { hosst: x }\ntokens:\n  deadline: 10"
    let environment = ["TD_REGION": "uk", "DEFAULT_USERNAME": "a"]
    #expect(
      Fixture.problems(yaml, environment: environment, port: "99999") == [
        "--port: \"99999\" is not a port from 0 to 65535 — write a whole number in digits",
        "DEFAULT_USERNAME: is set without DEFAULT_PASSWORD — set both, or neither",
        "TD_REGION: \"uk\" is unknown here — use one of us, eu, ca, au",
        "talkdesk.account (TD_ACCOUNT_NAME): missing — set it to your Talkdesk account's name: acme for acme.talkdeskid.com",
        "talkdesk.client_id (TD_CLIENT_ID): missing — set it to the id of your Talkdesk OAuth client",
        "talkdesk.client_secret_file (TD_CLIENT_SECRET) or talkdesk.private_key_file (TD_PRIVATE_KEY): missing — set exactly "
          + "one: the secret of your account's own OAuth client, or the key of an AppConnect installation and its TD_KEY_ID",
        "config.yaml:1:11: listen.hosst: unknown key — did you mean host?",
        "config.yaml:3:13: tokens.deadline: \"10\" has no unit — write 10s for seconds (units: ms, s, m, h, d)",
      ])
    #expect(throws: ConfigurationErrors.self) { try Fixture.load(yaml) }
    do throws(ConfigurationErrors) {
      _ = try Fixture.load(port: "x")
    } catch {
      #expect(error.isMisuse)
    }
    do throws(ConfigurationErrors) {
      _ = try Fixture.load(environment: [:], port: "x")
    } catch {
      #expect(!error.isMisuse)
    }
    do throws(ConfigurationErrors) {
      let flags = ConfigurationFlags(config: "/nowhere.yaml", host: nil, port: nil)
      _ = try ConfigurationLoader.load(
        ConfigurationSources(flags: flags, environment: Fixture.environment, files: Fixture.reader([:])),
        for: .check)
    } catch {
      // The flag is well formed. The configuration is wrong, not the command line.
      #expect(!error.isMisuse)
    }
  }

  @Test func `every secret variable is read from a file too, without one final newline, and never from both`()
    throws
  {
    let secrets = Settings.scalars.compactMap { setting in
      setting.fileVariable.map { (variable: setting.variable ?? "", file: $0) }
    }
    #expect(
      secrets.map(\.variable).sorted() == [
        "CALLGATE_ADMIN_TOKEN", "CALLGATE_STORE_KEY", "CALLGATE_STORE_PREVIOUS_KEY", "DATABASE_URL",
        "DEFAULT_PASSWORD", "TD_CLIENT_SECRET", "TD_PRIVATE_KEY",
      ])
    for (variable, file) in secrets {
      #expect(
        Fixture.problems(environment: Fixture.changed([variable: "x", file: "/secret"])).contains(
          "\(variable): is set, and so is \(file) — keep one of the two"))
    }
    for ending in ["", "\n", "\r\n"] {
      let loaded = try Fixture.load(
        environment: Fixture.changed([
          "DEFAULT_PASSWORD": nil, "DEFAULT_PASSWORD_FILE": "/password",
          "CALLGATE_ADMIN_TOKEN_FILE": "/token",
          "DATABASE_URL_FILE": "/database",
        ]),
        files: [
          "/password": Fixture.content("s3cret s3cret" + ending),
          "/token": Fixture.content("0123456789abcdef" + ending),
          "/database": Fixture.content("postgres://a:b@db/c" + ending),
        ])
      guard case .basic(_, let digest, _) = loaded.configuration.callers[0].proof,
        case .postgres(let url) = loaded.configuration.store
      else {
        Issue.record("no such caller or store")
        return
      }
      #expect(digest.value.bytes == SHA256.digest(Array("s3cret s3cret".utf8)))
      #expect(loaded.configuration.admin.token?.exposedString() == "0123456789abcdef")
      #expect(url.exposedString() == "postgres://a:b@db/c")
      #expect(loaded.configuration.files.keys.sorted() == ["/database", "/password", "/token"])
    }
    // Only the final newline is dropped, and a password has none.
    #expect(
      Fixture.problems(
        environment: Fixture.changed(["DEFAULT_PASSWORD": nil, "DEFAULT_PASSWORD_FILE": "/password"]),
        files: ["/password": Fixture.content("password\n\n")]
      ).count == 1)
  }

  @Test func `the store's login is read again, whatever is wrong with other settings`() throws {
    func read(_ yaml: String?, _ variables: [String: String]) -> String? {
      let store = ConfigurationLoader.store(
        ConfigurationSources(
          environment: variables.merging(yaml.map { _ in ["CALLGATE_CONFIG": "/c"] } ?? [:]) { $1 },
          files: Fixture.reader([
            "/c": Fixture.content(yaml ?? ""), "/url": Fixture.content("postgres://u:after@h/d\n"),
          ])), for: .serve)
      guard case .postgres(let url)? = store else { return nil }
      return url.exposedString()
    }
    let after = "postgres://u:after@h/d"
    #expect(read(nil, ["DATABASE_URL_FILE": "/url"]) == after)
    #expect(read("rules: 7", ["DATABASE_URL_FILE": "/url", "TD_REGION": "mars"]) == after)
    #expect(read("store: { url: \"\(after)\" }\nrules: 7", [:]) == after)
    #expect(read("store: { url: \"postgres://u:p@ss@h/d\" }", [:]) == nil)
    #expect(read("a: b: c", [:]) == nil)
    #expect(read(nil, ["DATABASE_URL_FILE": "/missing"]) == nil)
  }

  @Test func `a password is strong from twenty characters on, wherever it is, and a digest where it is said`()
    throws
  {
    let digest = String(repeating: "ab", count: 32)
    let passwords = [
      (String(repeating: "a", count: 19), false), (String(repeating: "a", count: 20), true),
      // Characters, not bytes.
      (String(repeating: "é", count: 19), false), (String(repeating: "é", count: 20), true),
    ]
    for (password, isStrong) in passwords {
      let loaded = try Fixture.load(
        """
        callers:
          - { id: file, basic: { username: a, password_file: /password } }
          - { id: variable, basic: { username: b, password_variable: SHOP_PASSWORD } }
          - { id: digest, basic: { username: c, password_sha256: \(digest) } }
          - { id: strong, basic: { username: d, password_sha256: \(digest), strong: true } }
          - { id: weak, basic: { username: e, password_sha256: \(digest), strong: false } }
        """, environment: Fixture.changed(["DEFAULT_PASSWORD": password, "SHOP_PASSWORD": password]),
        files: ["/password": Fixture.content(password + "\n")])
      let strong = loaded.configuration.callers.map { caller -> Bool? in
        if case .basic(_, _, let isStrong) = caller.proof { isStrong } else { nil }
      }
      #expect(strong == [isStrong, isStrong, isStrong, false, true, false], "\(password)")
    }
  }

  @Test func `a variable goes before the file's secret`() throws {
    let configuration = try Fixture.load("talkdesk: { private_key_file: /missing }").configuration
    #expect(configuration.talkdesk.upstream != nil)
  }

  @Test func `an empty variable counts as unset, and says so`() throws {
    let loaded = try Fixture.load(
      environment: Fixture.changed(["TD_REGION": "", "TD_CLIENT_SECRET": "", "TD_PRIVATE_KEY_FILE": ""]))
    #expect(loaded.configuration.talkdesk.region == .us)
    #expect(
      loaded.notices.map(\.description) == [
        "TD_CLIENT_SECRET, TD_PRIVATE_KEY_FILE, TD_REGION: set but empty; an empty variable counts as unset"
      ])
    #expect(
      Fixture.problems(environment: Fixture.changed(["TD_CLIENT_ID": ""])) == [
        "TD_CLIENT_ID: missing (set but empty) — set it to the id of your Talkdesk OAuth client"
      ])
  }

  @Test func `unknown variables of ours are noted, others and Kubernetes' own are not`() throws {
    let loaded = try Fixture.load(
      environment: Fixture.changed([
        "TD_REGOIN": "eu", "CALLGATE_NONSENSE_AT_ALL": "1", "TD_CLIENT_ID_FILE": "/x", "PATH": "/bin",
        "CALLGATE_SERVICE_HOST": "10.0.0.1", "CALLGATE_PORT": "tcp://10.0.0.1:80",
        "CALLGATE_PORT_80_TCP": "x",
      ]))
    #expect(
      loaded.notices.map(\.description) == [
        "CALLGATE_NONSENSE_AT_ALL: unknown and not used",
        "TD_CLIENT_ID_FILE: unknown and not used: TD_CLIENT_ID is not a secret, so set it directly",
        "TD_REGOIN: unknown and not used — did you mean TD_REGION?",
      ])
  }

  @Test func `DEFAULT_USER is taken for DEFAULT_USERNAME, with a notice`() throws {
    let alias = try Fixture.load(
      environment: Fixture.changed(["DEFAULT_USERNAME": nil, "DEFAULT_USER": "old"]))
    guard case .basic("old", _, _) = alias.configuration.callers[0].proof else {
      Issue.record("alias not taken")
      return
    }
    #expect(alias.notices.map(\.description) == ["DEFAULT_USER: taken as DEFAULT_USERNAME; use that name"])
    let both = try Fixture.load(environment: Fixture.changed(["DEFAULT_USER": "old"]))
    guard case .basic("app-user", _, _) = both.configuration.callers[0].proof else {
      Issue.record("alias taken")
      return
    }
    #expect(both.notices.map(\.description) == ["DEFAULT_USER: not used, because DEFAULT_USERNAME is set"])
  }

  @Test func `logs are text on a terminal unless something says otherwise`() throws {
    #expect(try Fixture.load(terminal: true).configuration.log.format == .text)
    #expect(
      try Fixture.load(environment: Fixture.changed(["CALLGATE_LOG_FORMAT": "json"]), terminal: true)
        .configuration
        .log.format == .json)
  }

  @Test func `a readable secret file is noted, not refused`() throws {
    let loaded = try Fixture.load(
      environment: Fixture.changed(["TD_PRIVATE_KEY": nil, "TD_PRIVATE_KEY_FILE": "/key"]),
      files: ["/key": Fixture.content(Fixture.key, mode: 0o640)])
    #expect(
      loaded.notices.map(\.description) == [
        "TD_PRIVATE_KEY_FILE: \"/key\" can be read by others (mode 0640); chmod 600 it"
      ])
  }

  @Test(arguments: [
    (0o440, true, false), (0o640, true, false), (0o600, false, false), (0o400, true, false),
    (0o644, true, true), (0o660, true, true), (0o440, false, true), (0o604, false, true),
  ])
  func `root's file may be readable for its group alone`(mode: Int, isRootOwned: Bool, isOpen: Bool) throws {
    let file = Fixture.content(Fixture.key, mode: UInt32(mode), isRootOwned: isRootOwned)
    let loaded = try Fixture.load(
      environment: Fixture.changed(["TD_PRIVATE_KEY": nil, "TD_PRIVATE_KEY_FILE": "/key"]),
      files: ["/key": file])
    #expect(loaded.notices.isEmpty == !isOpen)
  }

  @Test func `TD_PHONE_NUMBER is the first of the numbers`() throws {
    let yaml = "callbacks: { talkdesk_phone_numbers: [\"+18500000001\", \"+18500000002\"] }"
    let environment = Fixture.changed(["TD_PHONE_NUMBER": "+18500000002"])
    #expect(
      try Fixture.load(yaml, environment: environment).configuration.callbacks.talkdeskPhoneNumbers == [
        "+18500000002", "+18500000001",
      ])
  }

  @Test func `forwarded hops follow from trusted proxies`() throws {
    let proxies = Fixture.changed(["CALLGATE_TRUSTED_PROXIES": "10.0.0.0/8, 2001:db8::/32,127.0.0.1"])
    let listen = try Fixture.load(environment: proxies).configuration.listen
    #expect(listen.trustedProxies.map(\.description) == ["10.0.0.0/8", "2001:db8::/32", "127.0.0.1/32"])
    #expect(listen.forwardedHops == 1)
    #expect(
      try Fixture.load("listen: { forwarded_hops: 2 }", environment: proxies).configuration.listen
        .forwardedHops == 2)
  }

  @Test func `the store is PostgreSQL before CALLGATE_STATE before the file`() throws {
    func store(_ changes: [String: String?]) throws -> String {
      let yaml = "store: { url: \"sqlite:from-file\" }"
      return switch try Fixture.load(yaml, environment: Fixture.changed(changes)).configuration.store {
      case .memory: "memory"
      case .sqlite(let path): path
      case .postgres: "postgres"
      }
    }
    #expect(try store([:]) == "from-file")
    #expect(try store(["CALLGATE_STATE": "memory"]) == "memory")
    #expect(try store(["CALLGATE_STATE": "/data/x"]) == "/data/x")
    #expect(try store(["CALLGATE_STATE": "memory", "DATABASE_URL": "postgresql://h/d"]) == "postgres")
  }

  @Test func `on a dyno without a database the disk's fate is noted`() throws {
    let notices = try Fixture.load(environment: Fixture.changed(["DYNO": "web.1"])).notices
    #expect(notices.count == 1)
    #expect(notices.first?.place == .variable("DATABASE_URL"))
    #expect(
      try Fixture.load(environment: Fixture.changed(["DYNO": "web.1", "DATABASE_URL": "postgres://h/d"]))
        .notices
        .isEmpty)
  }

  @Test(
    arguments: [
      (DiskLife.containerLayer, "lies in this container's own layer"),
      (.unnamedVolume, "lies in a volume without a name"), (.memory, "lies in a file system in memory"),
      (.lasting, nil), (.missing, nil),
    ] as [(DiskLife, String?)])
  func `where a file of state will not last is noted`(life: DiskLife, words: String?) throws {
    func notices(
      _ changes: [String: String?], for purpose: ConfigurationPurpose = .serve
    ) throws -> [ConfigurationNotice] {
      let sources = ConfigurationSources(
        environment: Fixture.changed(changes), files: Fixture.reader([:]),
        diskLife: { path in path == "/data/x" || path == "callgate.sqlite3" ? life : .lasting })
      return try ConfigurationLoader.load(sources, for: purpose).notices
    }
    for changes in [[:], ["CALLGATE_STATE": "/data/x"]] {
      let notices = try notices(changes)
      #expect(notices.count == (words == nil ? 0 : 1))
      #expect(notices.first.map { $0.message.contains(words ?? "") } ?? true)
      #expect(notices.first.map { $0.place == .variable("CALLGATE_STATE") } ?? true)
    }
    #expect(try notices(["CALLGATE_STATE": "/elsewhere/x"]).isEmpty)
    #expect(try notices(["CALLGATE_STATE": "memory"]).isEmpty)
    #expect(try notices(["DATABASE_URL": "postgres://h/d"]).isEmpty)
    let checked = try notices([:], for: .check).map(\.message)
    #expect(
      checked
        == (life == .missing
          ? [
            "the folder of \"callgate.sqlite3\" does not exist: create it, writable for the server's user, on the machine that runs serve"
          ]
          : []))
    // The notice about Heroku's disk appears only once.
    #expect(try notices(["DYNO": "web.1"]).map(\.place) == [.variable("DATABASE_URL")])
  }

  @Test func `a client secret stands in for a key, and the key's id is then not used`() throws {
    let loaded = try Fixture.load(
      environment: Fixture.changed(["TD_PRIVATE_KEY": nil, "TD_CLIENT_SECRET": "client secret 1"]))
    guard case .secret(let secret) = loaded.configuration.talkdesk.upstream?.authentication else {
      Issue.record("no client secret")
      return
    }
    #expect(secret.exposedString() == "client secret 1")
    #expect(
      loaded.notices.map(\.description) == [
        "TD_KEY_ID: not used, because a client secret is set (TD_CLIENT_SECRET)"
      ])
  }

  @Test(arguments: [
    (Configuration.Region.us, "https://a.talkdeskid.com/oauth/token", "https://api.talkdeskapp.com"),
    (.eu, "https://a.talkdeskid.eu/oauth/token", "https://api.talkdeskapp.eu"),
    (.ca, "https://a.talkdeskidca.com/oauth/token", "https://api.talkdeskappca.com"),
    (.au, "https://a.talkdeskid.au/oauth/token", "https://api.talkdeskapp.au"),
  ])
  func `a region gives the hosts`(_ region: Configuration.Region, _ tokenURL: String, _ apiURL: String) throws
  {
    let upstream = try Fixture.load(
      environment: Fixture.changed(["TD_ACCOUNT_NAME": "a", "TD_REGION": region.rawValue])
    ).configuration.talkdesk.upstream
    #expect(upstream?.tokenURL == tokenURL)
    #expect(upstream?.apiURL == apiURL)
  }

  @Test func `a region with an unconfirmed API host gets a notice, unless the host is set`() throws {
    let environment = Fixture.changed(["TD_REGION": "au"])
    #expect(try Fixture.load(environment: environment).notices.map(\.place) == [.variable("TD_REGION")])
    let stated = Fixture.changed(["TD_REGION": "au", "TD_API_URL": "https://api.example"])
    #expect(try Fixture.load(environment: stated).notices.isEmpty)
  }

  @Test func `a token URL makes the account unnecessary and is the audience`() throws {
    let upstream = try Fixture.load(
      environment: Fixture.changed([
        "TD_ACCOUNT_NAME": nil, "TD_TOKEN_URL": "http://127.0.0.1:9/oauth/token",
        "TD_API_URL": "http://localhost:9/",
      ])
    ).configuration.talkdesk.upstream
    #expect(upstream?.tokenURL == "http://127.0.0.1:9/oauth/token")
    #expect(upstream?.audience == "http://127.0.0.1:9/oauth/token")
    #expect(upstream?.apiURL == "http://localhost:9")
  }
}

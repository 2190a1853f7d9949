// Declares the settings of listeners, the admin interface, the log, Talkdesk, tokens, callbacks, the store
// and the limits: the name in each source, default, form and description.

import Documents
package import JOSE
import Records

/// Every setting there is. `structured` has those in sections with a shape of their own
/// (`PartialConfiguration.ownSections`), `scalars` all others.
package enum Settings {
  // The configuration itself.

  static let config = TypedSetting(
    Setting(
      nil, variable: "CALLGATE_CONFIG", flag: "--config", example: "/etc/callgate/config.yaml",
      "Path of the YAML file."), NameText.path)
  package static let configText = TypedSetting(
    Setting(
      nil, variable: "CALLGATE_CONFIG_TEXT", holdsSecret: true, example: "apps: { shop: {} }",
      "YAML text itself, instead of `CALLGATE_CONFIG`."),
    any)

  // listen

  package static let host = TypedSetting(
    Setting(
      "listen.host", variable: "HOST", flag: "--host", default: "0.0.0.0",
      note: "`0.0.0.0`; `127.0.0.1` with `--sandbox`", example: "127.0.0.1",
      "IP address."), ListenAddress.read)
  package static let port = TypedSetting(
    Setting(
      "listen.port", variable: "PORT", flag: "--port", default: "8080", example: "8080",
      "Port, 0–65535; 0 picks a free one."), port(from: 0))
  package static let certificateFile = TypedSetting(
    Setting(
      "listen.tls.certificate_file", .file, example: "/etc/callgate/tls.pem",
      "Certificate chain (PEM, leaf first). The server then accepts only TLS."),
    NameText.path)
  static let tlsKeyFile = TypedSetting(
    Setting(
      "listen.tls.key_file", .file, example: "/etc/callgate/tls.key", "Private key (PEM) of that certificate."
    ),
    NameText.path)
  static let hstsSubdomains = TypedSetting(
    Setting(
      "listen.tls.hsts_subdomains", default: "false", example: "true",
      "Whether browsers must use `https` for all subdomains too."
    ),
    .boolean)
  package static let trustedProxies = TypedSetting(
    Setting(
      "listen.trusted_proxies", variable: "CALLGATE_TRUSTED_PROXIES", .list, example: "10.0.0.0/8",
      "Address blocks of the proxies whose `X-Forwarded-For` the server trusts."), NetworkText.read)
  package static let forwardedHops = TypedSetting(
    Setting(
      "listen.forwarded_hops", variable: "CALLGATE_FORWARDED_HOPS",
      note: "`1` with trusted proxies, else `0`",
      example: "1",
      "How many entries of `X-Forwarded-For`, counted from the right, come from those proxies."),
    .number(0...16, of: "a count"))
  static let sharePort = TypedSetting(
    Setting(
      "listen.share_port", default: "false", example: "true",
      "Whether another process may listen on the same port."
    ),
    .boolean)

  static let externalURLs = TypedSetting(
    Setting(
      "external_urls", .list, example: "https://calls.example.com",
      "URLs under which clients reach this server, each with any path that a proxy removes. Links and "
        + "webhooks begin with the first. DPoP proofs can name any of them."
    ), URLText.base)

  // admin

  package static let adminHost = TypedSetting(
    Setting(
      "admin.host", default: "127.0.0.1", example: "127.0.0.1",
      "Address of the admin listener, which starts if you set this or `admin.port`. Beyond loopback it needs a "
        + "token."), ListenAddress.read)
  package static let adminPort = TypedSetting(
    Setting(
      "admin.port", default: "9091", example: "9091", "Port of the admin listener, 0–65535."),
    port(from: 0))
  package static let adminToken = TypedSetting(
    Setting(
      "admin.token_file", variable: "CALLGATE_ADMIN_TOKEN", .secret, example: "/run/secrets/admin-token",
      "Operators' Bearer token, which opens `/metrics` and `/admin/*` on the public port."), any)

  package static let runbooks = TypedSetting(
    Setting(
      "admin.runbooks", variable: "CALLGATE_RUNBOOKS",
      note: "`/docs/runbook` below the first of `external_urls`, else on this server",
      example: "https://calls.example.com/docs/runbook",
      "URL of your own runbook. Links add `#` and the section."
    ),
    URLText.base)

  // log

  static let logLevel = TypedSetting(
    Setting(
      "log.level", variable: "CALLGATE_LOG_LEVEL", flag: "--log-level", default: "info", example: "debug",
      "Minimum level in the log: `debug`, `info`, `warning` or `error`."),
    TextForm<LogSettings.Level>.choice)
  static let logFormat = TypedSetting(
    Setting(
      "log.format", variable: "CALLGATE_LOG_FORMAT", flag: "--log-format",
      note: "`json`; `text` on a terminal", example: "json",
      "Format of log and audit lines: `json` or `text`."),
    TextForm<LogSettings.Format>.choice)
  static let auditChain = TypedSetting(
    Setting(
      "log.audit.chain", default: "false", example: "true",
      "Whether each audit line ends with a code that reveals later changes. Needs the store key."),
    .boolean)
  static let auditFile = TypedSetting(
    Setting(
      "log.audit.file", example: "/var/log/callgate/audit.log",
      "File for audit lines, instead of stdout. SIGHUP reopens it."), NameText.path)
  static let auditRequired = TypedSetting(
    Setting(
      "log.audit.required", default: "false", example: "true",
      "Whether a request gets 503 `audit_unavailable` unless its audit line is on disk within a second. Needs "
        + "`log.audit.file`."),
    .boolean)

  // talkdesk

  package static let account = TypedSetting(
    Setting(
      "talkdesk.account", variable: "TD_ACCOUNT_NAME", example: "acme",
      "Talkdesk account: `acme` in `acme.talkdeskid.com`."), NameText.account)
  package static let region = TypedSetting(
    Setting(
      "talkdesk.region", variable: "TD_REGION", default: "us", example: "eu",
      "Account's region: `us`, `eu`, `ca` or `au`."),
    TextForm<Configuration.Region>.choice)
  package static let clientID = TypedSetting(
    Setting(
      "talkdesk.client_id", variable: "TD_CLIENT_ID", example: "6f3c5a0e8b1d4c7e",
      "OAuth client's id."), NameText.visible("a client id"))
  package static let keyID = TypedSetting(
    Setting(
      "talkdesk.key_id", variable: "TD_KEY_ID", example: "0d6b7c1f",
      "With a private key: the id that Talkdesk gave the key."), NameText.visible("a key id"))
  package static let keyAlgorithm = TypedSetting(
    Setting(
      "talkdesk.key_algorithm", variable: "TD_KEY_ALGORITHM", default: "ES256", example: "ES256",
      "Algorithm that Talkdesk gave with the private key: `ES256`, `ES384`, `ES512`, `PS256`, `PS384`, "
        + "`PS512` or `RS256`."), algorithm)
  package static let privateKey = TypedSetting(
    Setting(
      "talkdesk.private_key_file", variable: "TD_PRIVATE_KEY", .secret,
      example: "/run/secrets/talkdesk-credential",
      "Private key of an AppConnect installation, instead of a secret: PEM (PKCS#8 or SEC1, also with `\\n` "
        + "escapes) or its Base64."), any)
  package static let clientSecret = TypedSetting(
    Setting(
      "talkdesk.client_secret_file", variable: "TD_CLIENT_SECRET", .secret,
      example: "/run/secrets/talkdesk-credential",
      "Secret of your account's own OAuth client. Set this or a private key."), any)
  package static let scope = TypedSetting(
    Setting(
      "talkdesk.scope", variable: "TD_SCOPE", default: "callback:write", example: "callback:write",
      "OAuth scope of tokens. Apps can override it."), NameText.scope)
  static let tokenURL = TypedSetting(
    Setting(
      "talkdesk.token_url", variable: "TD_TOKEN_URL", note: "follows from account and region",
      example: "https://acme.talkdeskid.com/oauth/token", "Token endpoint's URL."),
    URLText.endpoint)
  static let apiURL = TypedSetting(
    Setting(
      "talkdesk.api_url", variable: "TD_API_URL", note: "follows from the region",
      example: "https://api.talkdeskapp.com",
      "Base URL of Talkdesk's API. The server appends `/calls/callback`."),
    URLText.base)
  static let audience = TypedSetting(
    Setting(
      "talkdesk.audience", variable: "TD_AUDIENCE", note: "the token URL",
      example: "https://acme.talkdeskid.com/oauth/token", "`aud` of client assertions."),
    NameText.visible("an audience"))
  static let nextKeyID = TypedSetting(
    Setting(
      "talkdesk.next_key.key_id", example: "5be0cd19",
      "Next key's id. The server tries the next key first, and uses the current key after `invalid_client`."
    ),
    NameText.visible("a key id"))
  static let nextClientID = TypedSetting(
    Setting(
      "talkdesk.next_key.client_id", note: "`talkdesk.client_id`", example: "1f83d9ab",
      "Next key's OAuth client. AppConnect gives a new one with each key."
    ),
    NameText.visible("a client id"))
  static let nextKeyAlgorithm = TypedSetting(
    Setting(
      "talkdesk.next_key.key_algorithm", note: "`talkdesk.key_algorithm`", example: "ES256",
      "Algorithm of the next key."), algorithm)
  static let nextKey = TypedSetting(
    Setting(
      "talkdesk.next_key.private_key_file", .secret, example: "/run/secrets/talkdesk-next.pem",
      "Next private key."), any)

  package static let caFile = TypedSetting(
    Setting(
      "outbound.ca_file", variable: "CALLGATE_CA_FILE", .file, example: "/etc/ssl/certs/company.pem",
      "PEM file of the certificate authorities to trust instead of the system's. Set it if a proxy in your "
        + "network inspects TLS."), NameText.path)

  // tokens

  static let share = TypedSetting(
    Setting(
      "tokens.share", default: "true", example: "false",
      "Whether requests share one token per scope."), .boolean)
  static let minimumRemaining = TypedSetting(
    Setting(
      "tokens.min_remaining", default: "120s", example: "120s",
      "Minimum time left on a shared token when it is issued, at most half its lifetime."),
    .duration(.zero ... .seconds(3600)))
  static let tokenDeadline = TypedSetting(
    Setting(
      "tokens.deadline", default: "10s", example: "10s",
      "Time limit of a token request, including retries."),
    .duration(.milliseconds(100) ... .seconds(60)))

  // callers

  package static let username = TypedSetting(
    Setting(
      nil, variable: "DEFAULT_USERNAME", example: "app-user",
      "User name of the HTTP Basic caller named `default`. `DEFAULT_USER` is an alias."),
    CallerText.username)
  package static let password = TypedSetting(
    Setting(
      nil, variable: "DEFAULT_PASSWORD", .secret, example: "/run/secrets/app-password",
      "Password of that caller."), any)
  static let allowAnonymous = TypedSetting(
    Setting(
      "allow_anonymous", variable: "CALLGATE_ALLOW_ANONYMOUS", default: "false",
      note: "`false`; `true` with `--sandbox`", example: "true",
      "Whether to accept requests without credentials, as the caller `anonymous`. Required if no caller is "
        + "configured."), .boolean)

  // callbacks

  package static let phoneNumber = TypedSetting(
    Setting(
      nil, variable: "TD_PHONE_NUMBER", holdsPhoneNumber: true, example: "+18500000000",
      "Default `talkdesk_phone_number` of callbacks, listed first in `callbacks.talkdesk_phone_numbers`."),
    PhoneNumberText.read)
  static let phoneNumbers = TypedSetting(
    Setting(
      "callbacks.talkdesk_phone_numbers", .list, holdsPhoneNumber: true, example: "\"+18500000000\"",
      "Account's numbers that callbacks may use. The first is the default."),
    PhoneNumberText.read)
  static let dedupeWindow = TypedSetting(
    Setting(
      "callbacks.dedupe_window", default: "60s", example: "60s",
      "How long a second callback by one caller to one number counts as a duplicate. `0s` allows duplicates."),
    .duration(.zero ... .seconds(30 * 86_400)))
  static let keyRetention = TypedSetting(
    Setting(
      "callbacks.key_retention", default: "24h", example: "24h",
      "How long the server remembers an `Idempotency-Key`."),
    .duration(.milliseconds(100) ... .seconds(365 * 86_400)))
  static let retention = TypedSetting(
    Setting(
      "callbacks.retention", default: "30d", example: "30d",
      "How long the server stores a callback's record."),
    .duration(.milliseconds(100) ... .seconds(3650 * 86_400)))
  static let callbackTimeout = TypedSetting(
    Setting(
      "callbacks.timeout", default: "20s", example: "20s",
      "Time limit of a callback after its body arrives."
    ),
    .duration(.milliseconds(100) ... .seconds(120)))
  static let concurrency = TypedSetting(
    Setting(
      "callbacks.concurrency", default: "32", example: "32",
      "Maximum number of callbacks in progress at once."),
    .number(1...10_000, of: "a count"))

  // cors

  static let origins = TypedSetting(
    Setting(
      "cors.origins", .list, example: "\"https://shop.example\"",
      "Origins whose web pages may call this server, such as `capacitor://localhost`."
    ),
    URLText.origin)

  // store

  static let databaseURL = TypedSetting(
    Setting(
      nil, variable: "DATABASE_URL", holdsSecret: true, example: "postgres://user:password@host/name",
      "PostgreSQL as the database, for several instances. Use `sslmode=verify-full`. Overrides `CALLGATE_STATE`."
    ),
    StoreText.postgres)
  static let state = TypedSetting(
    Setting(
      nil, variable: "CALLGATE_STATE", default: "callgate.sqlite3",
      note: "`callgate.sqlite3`; `memory` with `--sandbox`", example: "/data/callgate.sqlite3",
      "SQLite file of the database, or `memory`."), StoreText.state)
  static let storeURL = TypedSetting(
    Setting(
      "store.url", holdsSecret: true, note: "`sqlite:callgate.sqlite3`; `memory` with `--sandbox`",
      example: "sqlite:callgate.sqlite3",
      "Database: `sqlite:PATH`, `memory` or `postgres://…`. `DATABASE_URL` and `CALLGATE_STATE` override it."
    ), StoreText.read)

  package static let storeKey = TypedSetting(
    Setting(
      "store.key_file", variable: "CALLGATE_STORE_KEY", .secret, example: "/run/secrets/store-key",
      "Store key, 32 random bytes as Base64 or hex, encrypts values in the database. `callgate key generate "
        + "--store` prints one."), any)
  package static let previousStoreKey = TypedSetting(
    Setting(
      "store.previous_key_file", variable: "CALLGATE_STORE_PREVIOUS_KEY", .secret,
      example: "/run/secrets/store-key-previous",
      "During a rotation: the other store key, which only decrypts."), any)

  // limits

  package static let connections = TypedSetting(
    Setting(
      "limits.connections", default: "20000", example: "20000",
      "Maximum number of open connections."),
    .number(1...1_000_000, of: "a count"))
  static let headerBytes = TypedSetting(
    Setting(
      "limits.header_bytes", default: "16384", example: "16384",
      "Maximum bytes of a request's line and headers."),
    .number(1_024...1_048_576, of: "a number of bytes"))
  static let contentBytes = TypedSetting(
    Setting(
      "limits.content_bytes", default: "65536", example: "65536",
      "Maximum bytes of a request's body."),
    .number(1_024...16_777_216, of: "a number of bytes"))
  static let headerTimeout = TypedSetting(
    Setting(
      "limits.header_timeout", default: "10s", example: "10s",
      "Time limit to receive a request's line and headers."),
    .duration(.milliseconds(10) ... .seconds(300)))
  static let requestTimeout = TypedSetting(
    Setting(
      "limits.request_timeout", default: "30s", example: "30s",
      "Time limit to receive the whole request."),
    .duration(.milliseconds(10) ... .seconds(600)))
  static let idleTimeout = TypedSetting(
    Setting(
      "limits.idle_timeout", default: "95s", example: "95s",
      "How long a connection may wait for its next request."),
    .duration(.milliseconds(10) ... .seconds(3600)))
  package static let drainDelay = TypedSetting(
    Setting(
      "limits.drain_delay", variable: "CALLGATE_DRAIN_DELAY", default: "0s", example: "5s",
      "How long the server accepts requests after SIGTERM, while `/readyz` returns 503."),
    .duration(.zero ... .seconds(300)))
  static let drainTimeout = TypedSetting(
    Setting(
      "limits.drain_timeout", default: "25s", example: "25s",
      "How long running requests may take when the server stops."),
    .duration(.zero ... .seconds(600)))

  /// The settings outside sections with a shape of their own, each with one value or one list, in the order
  /// of the documents.
  package static let scalars: [Setting] =
    [
      config.setting,
      configText.setting,
      host.setting,
      port.setting,
      certificateFile.setting,
      tlsKeyFile.setting,
      hstsSubdomains.setting,
      trustedProxies.setting,
      forwardedHops.setting,
      sharePort.setting,
      externalURLs.setting,
      account.setting,
      region.setting,
      clientID.setting,
      clientSecret.setting,
      keyID.setting,
      privateKey.setting,
      keyAlgorithm.setting,
      scope.setting,
      tokenURL.setting,
      apiURL.setting,
      audience.setting,
      nextKeyID.setting,
      nextClientID.setting,
      nextKeyAlgorithm.setting,
      nextKey.setting,
      phoneNumber.setting,
    ] + signer.all + nextSigner.all + [
      caFile.setting,
      username.setting,
      password.setting,
      allowAnonymous.setting,
      databaseURL.setting,
      state.setting,
      storeURL.setting,
      storeKey.setting,
      previousStoreKey.setting,
      adminHost.setting,
      adminPort.setting,
      adminToken.setting,
      runbooks.setting,
      logLevel.setting,
      logFormat.setting,
      auditChain.setting,
      auditFile.setting,
      auditRequired.setting,
      share.setting,
      minimumRemaining.setting,
      tokenDeadline.setting,
      phoneNumbers.setting,
      dedupeWindow.setting,
      keyRetention.setting,
      retention.setting,
      callbackTimeout.setting,
      concurrency.setting,
      origins.setting,
    ] + mcp + notices + outcomes + live + [
      connections.setting,
      headerBytes.setting,
      contentBytes.setting,
      headerTimeout.setting,
      requestTimeout.setting,
      idleTimeout.setting,
      drainDelay.setting,
      drainTimeout.setting,
    ]

  // Forms that several settings share.

  /// Accepts any text, which other code checks.
  private static let any: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in text }

  private static func port(from lowest: Int) -> TextForm<UInt16> {
    let number = TextForm.number(lowest...65535, of: "a port")
    return TextForm(number.schema) { text throws(Refusal) in UInt16(try number.read(text)) }
  }

  private static let algorithm = TextForm.choice(of: talkdeskAlgorithms)

  /// The algorithms that Talkdesk accepts, and RS256.
  package static let talkdeskAlgorithms: [SignatureAlgorithm] = [
    .ES256, .ES384, .ES512, .PS256, .PS384, .PS512, .RS256,
  ]
}

/// The user names of HTTP Basic callers.
package enum CallerText {
  static let username: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard !text.utf8.contains(0x3A) else {
      throw Refusal(
        "\(quoted(text)) contains a colon, which ends the user name in HTTP Basic", "leave the colon out")
    }
    guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw Refusal("\(quoted(text)) is not a user name", "use 1 to 255 bytes without control characters")
    }
    return text
  }
}

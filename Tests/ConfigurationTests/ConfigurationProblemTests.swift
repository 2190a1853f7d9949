// Tests of the message that each mistake in a configuration gets.

import JOSE
import Testing

@testable import Configuration
@testable import RoomSupport

/// A mistake, and the one line that must report it.
struct Mistake: Sendable, CustomTestStringConvertible {
  let yaml: String?
  let changes: [String: String?]
  let problem: String

  /// A mistake in the file.
  init(_ yaml: String, _ problem: String) {
    self.yaml = yaml
    self.changes = [:]
    self.problem = problem
  }

  /// A mistake in variables.
  init(_ yaml: String?, _ changes: [String: String?], _ problem: String) {
    self.yaml = yaml
    self.changes = changes
    self.problem = problem
  }

  var testDescription: String { problem }
}

@Suite struct ConfigurationProblemTests {
  private static let digest = String(repeating: "0a", count: 32)
  private static let longPath = "/" + String(repeating: "d/", count: 60) + "x"
  private static let anyURL = "write it as https://HOST/PATH"

  static let sections: [Mistake] = [
    Mistake("liste: {}", "config.yaml:1:1: liste: unknown key — did you mean listen?"),
    Mistake(
      "zzz: 1",
      "config.yaml:1:1: zzz: unknown key — use one of admin, allow_anonymous, appointments, apps, attestation, availability, callbacks, callers, "
        + "cors, desks, external_urls, gms, limits, listen, log, mcp, notices, numbers, outbound, outcomes, rules, store, talkdesk, "
        + "tokens"
    ),
    Mistake("port: 1", "config.yaml:1:1: port: unknown key here — did you mean admin.port?"),
    Mistake(
      "dedupe_window: 1s",
      "config.yaml:1:1: dedupe_window: unknown key here — did you mean callbacks.dedupe_window?"),
    Mistake(
      "listen: { tls: { cert: x } }",
      "config.yaml:1:18: listen.tls.cert: unknown key — use one of certificate_file, hsts_subdomains, key_file"
    ),
    Mistake(
      "listen: 8080",
      "config.yaml:1:9: listen: is a text, not a section — write its keys below it, or { KEY: VALUE }"),
    Mistake(
      "listen: [8080]",
      "config.yaml:1:9: listen: is a list, not a section — write its keys below it, or { KEY: VALUE }"),
    // With unreadable YAML, missing callers are not reported as well.
    Mistake(
      "rules: [\n", ["DEFAULT_USERNAME": nil, "DEFAULT_PASSWORD": nil],
      "config.yaml:2:1: YAML: did not find expected node content, while parsing a flow node that began in line 2 "
        + "— check indentation, brackets and quotes here and on the line before"),
    Mistake("listen:", "config.yaml:1:1: listen: is empty — fill it in, or remove the line"),
    Mistake("apps:", "config.yaml:1:1: apps: is empty — fill it in, or remove the line"),
    Mistake(
      "log: { level: }", "config.yaml:1:8: log.level: is empty — fill it in, or remove the line"),
    Mistake(
      "log: { level: ~ }", "config.yaml:1:8: log.level: is empty — fill it in, or remove the line"),
    Mistake(
      "talkdesk: { account: null }",
      "config.yaml:1:13: talkdesk.account: is empty — fill it in, or remove the line"),
    Mistake(
      "log: { level: [info] }", "config.yaml:1:15: log.level: is a list, not a single value — write one value"
    ),
    Mistake(
      "log: { level: { a: b } }",
      "config.yaml:1:15: log.level: is a mapping, not a single value — write one value"),
    Mistake(
      "log: { level: verbose }",
      "config.yaml:1:15: log.level: \"verbose\" is unknown here — use one of debug, info, warning, error"),
    Mistake(
      "log: { format: xml }",
      "config.yaml:1:16: log.format: \"xml\" is unknown here — use one of json, text"),
    Mistake(
      "[a]", "config.yaml:1:1: is a list, not a mapping — write sections such as listen: and talkdesk:"),
    Mistake(
      "talkdesk: { private_key: x }",
      "config.yaml:1:13: talkdesk.private_key: unknown key — this file cannot hold a secret: did you mean "
        + "private_key_file, the path of a file?"),
    Mistake(
      "talkdesk: { Region: eu }", "config.yaml:1:13: talkdesk.Region: unknown key — did you mean region?"),
    Mistake(
      "rules: [{ name: a, kind: hours }]",
      "config.yaml:1:9: rule \"a\": has no timezone — give the time zone of the hours, as in \"timezone: Europe/Lisbon\""
    ),
    Mistake(
      "rules: { name: a }",
      "config.yaml:1:8: rules: is a mapping, not a list — begin each rule with \"- { name: …, kind: … }\""
    ),
    Mistake(
      "store: { url: mysql }",
      "config.yaml:1:15: store.url: names no store — write sqlite:PATH, memory or postgres://USER:PASSWORD@HOST/NAME"
    ),
    Mistake(
      "store: { url: \"sqlite:\" }",
      "config.yaml:1:15: store.url: names no file — write the path of a file, such as callgate.sqlite3"),
    Mistake(
      nil, ["CALLGATE_STATE": "memory\r"],
      "CALLGATE_STATE: is not memory: the control character U+000D follows the word — write memory alone"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": "memory # for now"],
      "CALLGATE_STATE: has \" #\" in it, which begins no comment here — write the path or memory alone; a path with \" #\" goes into store.url"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": "memory for now"],
      "CALLGATE_STATE: is not memory: a space follows the word — write memory alone"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": "/data/callgate.sqlite3\r"],
      "CALLGATE_STATE: ends with the control character U+000D — remove it"
    ),
    Mistake(nil, ["CALLGATE_STATE": " memory"], "CALLGATE_STATE: begins with a space — remove it"),
    Mistake(
      nil, ["CALLGATE_STATE": "~/callgate.sqlite3"],
      "CALLGATE_STATE: begins with ~, which is not expanded here — write the whole path"
    ),
    Mistake(
      nil, ["CALLGATE_CONFIG": "~/c.yaml"],
      "CALLGATE_CONFIG: begins with ~, which is not expanded here — write the whole path"
    ),
    Mistake(
      nil, ["DEFAULT_PASSWORD": nil, "DEFAULT_PASSWORD_FILE": "~/password"],
      "DEFAULT_PASSWORD_FILE: begins with ~, which is not expanded here — write the whole path"
    ),
    Mistake(
      "store: { url: \"sqlite:~/callgate.sqlite3\" }", ["CALLGATE_STATE": nil],
      "config.yaml:1:15: store.url: begins with ~, which is not expanded here — write the whole path"
    ),
    Mistake(
      "log: { audit: { file: ~/audit.log } }",
      "config.yaml:1:23: log.audit.file: begins with ~, which is not expanded here — write the whole path"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": "\u{201C}callgate.sqlite3\u{201D}"],
      "CALLGATE_STATE: begins with the quotation mark U+201C — remove it"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": "/data/call\u{1}gate.sqlite3"],
      "CALLGATE_STATE: contains the control character U+0001 — remove it"
    ),
    Mistake(
      nil, ["CALLGATE_CA_FILE": "/etc/ca.pem\u{A0}"],
      "CALLGATE_CA_FILE: ends with the character U+00A0, which looks like a space — remove it"
    ),
    Mistake(
      nil, ["CALLGATE_ADMIN_TOKEN_FILE": "/run/token\r"],
      #"CALLGATE_ADMIN_TOKEN_FILE: cannot read "/run/token\r": there is no such file — remove the control character U+000D at the end of the path"#
    ),
    Mistake(
      "log: { audit: { file: \"audit.log \" } }",
      "config.yaml:1:23: log.audit.file: ends with a space — remove it"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": ":memory:"],
      "CALLGATE_STATE: is a special name of SQLite, not the path of a file — write a path such as callgate.sqlite3, or memory to keep state until the server ends"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": "file:state?mode=ro"],
      "CALLGATE_STATE: is a special name of SQLite, not the path of a file — write a path such as callgate.sqlite3, or memory to keep state until the server ends"
    ),
    Mistake(
      nil, ["CALLGATE_STATE": "sqlite:x"],
      "CALLGATE_STATE: is a URL, not the path of a file — write a path or memory; a PostgreSQL URL goes into DATABASE_URL"
    ),
    Mistake(
      nil, ["DATABASE_URL": "mysql://u:p@h/d"],
      "DATABASE_URL: is not a PostgreSQL URL — write it as postgres://USER:PASSWORD@HOST/NAME, or unset it for SQLite"
    ),
    Mistake(
      nil, ["DATABASE_URL": "postgres://u:p@ss@h/d"],
      "DATABASE_URL: has a host with @ — encode @ as %40 and / as %2F in the password"),
    Mistake(
      nil, ["DATABASE_URL": "postgres://u:p@h:6543/d?sslmode=require&pgbouncer=true"],
      "DATABASE_URL: has a parameter that PostgreSQL does not know, pgbouncer — remove pgbouncer from the URL"
    ),
    Mistake(
      "store: { url: \"postgres://u:p@h/d?sslmode=strict\" }",
      "config.yaml:1:15: store.url: has an unknown sslmode — use disable, allow, prefer, require, verify-ca or verify-full, and encode @ as %40 and / as %2F in the password"
    ),
    Mistake(
      nil, ["CALLGATE_CONFIG": "/missing"],
      "CALLGATE_CONFIG: cannot read \"/missing\": there is no such file — check the path"),
    Mistake(
      nil, ["CALLGATE_CONFIG": longPath],
      "CALLGATE_CONFIG: cannot read \"\(longPath)\": there is no such file — check the path"),
    Mistake(
      nil, ["CALLGATE_CONFIG": "missing"],
      "CALLGATE_CONFIG: cannot read \"missing\": there is no such file — check the path; it is relative to the working directory"
    ),
    Mistake(
      nil, ["CALLGATE_CONFIG": "/etc/"],
      "CALLGATE_CONFIG: cannot read \"/etc/\": it is a directory — name a file in it"),
    Mistake(
      nil, ["CALLGATE_CONFIG": "/locked"],
      "CALLGATE_CONFIG: cannot read \"/locked\": Permission denied — make the file readable for the user the server runs as"
    ),
    Mistake(
      nil, ["CALLGATE_CONFIG": "/huge"],
      "CALLGATE_CONFIG: cannot read \"/huge\": it is larger than 1048576 bytes — name another file"),
  ]

  static let listening: [Mistake] = [
    Mistake(
      "listen: { host: example.com }",
      "config.yaml:1:17: listen.host: \"example.com\" is not an address to listen on — write an IP address: 0.0.0.0 for "
        + "every interface, 127.0.0.1 for this machine only"),
    Mistake(
      nil, ["PORT": "65536"], "PORT: \"65536\" is not a port from 0 to 65535 — write a whole number in digits"
    ),
    Mistake(
      nil, ["PORT": "+80"], "PORT: \"+80\" is not a port from 0 to 65535 — write a whole number in digits"),
    Mistake(
      nil, ["PORT": " 80"], "PORT: \" 80\" is not a port from 0 to 65535 — write a whole number in digits"),
    Mistake(
      "listen: { trusted_proxies: 10.0.0.0/8 }",
      "config.yaml:1:28: listen.trusted_proxies: is a text, not a list — write it as [10.0.0.0/8]"),
    Mistake(
      "listen: { trusted_proxies: [10.0.0.1/8] }",
      "config.yaml:1:29: listen.trusted_proxies: \"10.0.0.1/8\" has bits set after its first 8 — write \"10.0.0.0/8\" "
        + "for the network, or \"10.0.0.1\" for the single address"),
    Mistake(
      "listen: { trusted_proxies: [10.0.0.0/33] }",
      "config.yaml:1:29: listen.trusted_proxies: \"10.0.0.0/33\" is not a network of addresses — write it as "
        + "\"203.0.113.0/24\", \"2001:db8::/32\", or a single address"
    ),
    Mistake(
      "listen: { trusted_proxies: [heroku] }",
      "config.yaml:1:29: listen.trusted_proxies: \"heroku\" is not a network of addresses — write it as "
        + "\"203.0.113.0/24\", \"2001:db8::/32\", or a single address"
    ),
    Mistake(
      "listen: { trusted_proxies: [10.0.0.0/8, 10.0.0.0/8] }",
      "config.yaml:1:41: listen.trusted_proxies: lists an item twice — keep one of them"),
    Mistake(
      nil, ["CALLGATE_TRUSTED_PROXIES": "10.0.0.0/8,"],
      "CALLGATE_TRUSTED_PROXIES: \"\" is not a network of addresses — write it as \"203.0.113.0/24\", "
        + "\"2001:db8::/32\", or a single address"),
    Mistake(
      nil, ["CALLGATE_FORWARDED_HOPS": "1"],
      "CALLGATE_FORWARDED_HOPS: has no effect without trusted proxies: the server trusts X-Forwarded-For only from them — set "
        + "CALLGATE_TRUSTED_PROXIES (listen.trusted_proxies) to the proxies' address blocks"),
    Mistake(
      "listen: { tls: { hsts_subdomains: true } }",
      "config.yaml:1:35: listen.tls.hsts_subdomains: has no effect without a certificate — set listen.tls.certificate_file and "
        + "listen.tls.key_file, or let the proxy send Strict-Transport-Security"),
    Mistake(
      "listen: { trusted_proxies: [10.0.0.0/8], forwarded_hops: 17 }",
      "config.yaml:1:58: listen.forwarded_hops: \"17\" is not a count from 0 to 16 — write a whole number in digits"
    ),
    Mistake(
      "listen: { tls: { key_file: k.pem } }",
      "config.yaml:1:28: listen.tls.key_file: listen.tls.certificate_file is missing — give certificate and "
        + "key, or neither"),
    Mistake(
      "listen: { tls: { certificate_file: /key, key_file: /key } }",
      "config.yaml:1:36: listen.tls.certificate_file: names a file without a certificate — give the chain as PEM, the "
        + "server's own certificate first"),
    Mistake(
      "listen: { tls: { certificate_file: /pfx, key_file: /key } }",
      "config.yaml:1:36: listen.tls.certificate_file: names a PKCS#12 bundle, and not certificates as PEM — extract the "
        + "certificates with: openssl pkcs12 -nokeys -in FILE -out NEWFILE"),
    Mistake(
      "admin: { host: 0.0.0.0 }",
      "config.yaml:1:16: admin.host: opens /metrics and /admin beyond this machine without a token — use 127.0.0.1, "
        + "set CALLGATE_ADMIN_TOKEN (admin.token_file), or list admin.operators"),
    Mistake(
      "admin: { port: 8080 }",
      "config.yaml:1:16: admin.port: 8080 is the port of the public listener too — choose another port"),
    Mistake(
      nil, ["CALLGATE_ADMIN_TOKEN": "two words and more"],
      "CALLGATE_ADMIN_TOKEN: contains spaces or characters that a Bearer token cannot have — make one with: openssl rand -hex 32"
    ),
    Mistake(
      "limits: { connections: 0 }",
      "config.yaml:1:24: limits.connections: \"0\" is not a count from 1 to 1000000 — write a whole number in digits"
    ),
    Mistake(
      "limits: { header_bytes: 16k }",
      "config.yaml:1:25: limits.header_bytes: \"16k\" is not a number of bytes from 1024 to 1048576 — write a whole number in digits"
    ),
    Mistake(
      "limits: { content_bytes: 99999999999999999999 }",
      "config.yaml:1:26: limits.content_bytes: \"99999999999999999999\" is not a number of bytes from 1024 to 16777216 — "
        + "write a whole number in digits"),
    Mistake(
      "limits: { idle_timeout: 95 }",
      "config.yaml:1:25: limits.idle_timeout: \"95\" has no unit — write 95s for seconds (units: ms, s, m, h, d)"
    ),
    Mistake(
      "limits: { idle_timeout: 1.5s }",
      "config.yaml:1:25: limits.idle_timeout: \"1.5s\" is not a duration — write it as 500ms, 10s, 1m, 1h or 30d"
    ),
    Mistake(
      "limits: { idle_timeout: 2h }",
      "config.yaml:1:25: limits.idle_timeout: \"2h\" is out of range — choose from 10ms to 1h"),
    Mistake(
      "limits: { header_timeout: 31s }",
      "config.yaml:1:27: limits.header_timeout: 31s is longer than limits.request_timeout, 30s — the headers are part of "
        + "the request: choose a header_timeout no longer than request_timeout"),
    Mistake(
      nil, ["CALLGATE_DRAIN_DELAY": "-5s"],
      "CALLGATE_DRAIN_DELAY: \"-5s\" is not a duration — write it as 500ms, 10s, 1m, 1h or 30d"),
    Mistake(
      "cors: { origins: [\"https://münchen.example\"] }",
      "config.yaml:1:19: cors.origins: is not a URL: it has spaces, has characters that must be percent-encoded, or is too long"
        + " — write a host in Punycode, as xn--mnchen-3ya.example, and percent-encode the rest"
    ),
    Mistake(
      "cors: { origins: [\"*\"] }",
      "config.yaml:1:19: cors.origins: \"*\" would allow the pages of every site — list each origin: https://shop.example"
    ),
    Mistake(
      "cors: { origins: [\"https://Shop.example:443/\"] }",
      "config.yaml:1:19: cors.origins: \"https://Shop.example:443/\" is not an origin as browsers send it — write scheme, host and port only: "
        + "\"https://shop.example\""),
  ]

  static let talkdesk: [Mistake] = [
    Mistake(
      "talkdesk:\n  region: uk",
      "config.yaml:2:11: talkdesk.region: \"uk\" is unknown here — use one of us, eu, ca, au"),
    Mistake(
      nil, ["TD_ACCOUNT_NAME": "acme.talkdeskid.com"],
      "TD_ACCOUNT_NAME: \"acme.talkdeskid.com\" is not an account name — write only the first part of the account's "
        + "address, in lower case: acme for acme.talkdeskid.com"),
    Mistake(
      nil, ["TD_CLIENT_ID": "a b"],
      "TD_CLIENT_ID: is not a client id: 1 to 255 printable ASCII characters without spaces — copy it again, without "
        + "quotes, spaces or line breaks around it"),
    Mistake(
      nil, ["TD_PRIVATE_KEY": nil, "TD_KEY_ID": nil],
      "TD_CLIENT_SECRET or TD_PRIVATE_KEY: missing — set exactly one: the secret of your account's own OAuth client, or "
        + "the key of an AppConnect installation and its TD_KEY_ID"),
    Mistake(
      nil, ["TD_PRIVATE_KEY": "", "TD_CLIENT_SECRET": ""],
      "TD_CLIENT_SECRET or TD_PRIVATE_KEY: missing (set but empty) — set exactly one: the secret of your account's own "
        + "OAuth client, or the key of an AppConnect installation and its TD_KEY_ID"),
    Mistake(nil, ["TD_KEY_ID": nil], "TD_KEY_ID: missing — set it to the id Talkdesk gave the key"),
    Mistake(
      nil, ["TD_KEY_ALGORITHM": "RS384"],
      "TD_KEY_ALGORITHM: \"RS384\" is unknown here — did you mean \"ES384\"? Otherwise use one of ES256, ES384, ES512, PS256, PS384, PS512, RS256"
    ),
    Mistake(
      nil, ["TD_KEY_ALGORITHM": "PS256"],
      "TD_KEY_ALGORITHM: PS256 does not fit the key, which is P-256 — use ES256, or the key that belongs to PS256"
    ),
    Mistake(
      nil, ["TD_PRIVATE_KEY": Fixture.otherKey],
      "TD_KEY_ALGORITHM: ES256, the default, does not fit the key, which is P-384 — use ES384, or the key that belongs "
        + "to ES256"),
    Mistake(
      nil, ["TD_PRIVATE_KEY": "/run/secrets/key.pem"],
      "TD_PRIVATE_KEY: contains a path, not a key — set TD_PRIVATE_KEY_FILE to the path instead"),
    Mistake(
      nil, ["TD_PRIVATE_KEY": "not a key!"],
      "TD_PRIVATE_KEY: this is neither PEM nor Base64; give a PEM block or the Base64 of a PKCS#8 key on one line"
    ),
    Mistake(
      nil, ["TD_PRIVATE_KEY": nil, "TD_PRIVATE_KEY_FILE": "-----BEGIN PRIVATE KEY-----\\nabc"],
      "TD_PRIVATE_KEY_FILE: contains a key, not the path of a file — name a file here, or set the variable without _FILE"
    ),
    Mistake(
      nil, ["TD_PRIVATE_KEY": nil, "TD_PRIVATE_KEY_FILE": Fixture.key],
      "TD_PRIVATE_KEY_FILE: cannot read the file it names: there is no such file — check the path; it is relative to "
        + "the working directory"),
    Mistake(
      nil, ["TD_PRIVATE_KEY": nil, "TD_PRIVATE_KEY_FILE": "/empty"],
      "TD_PRIVATE_KEY_FILE: names \"/empty\", which is empty — put the secret into the file"),
    Mistake(
      nil, ["TD_CLIENT_SECRET": "s"],
      "TD_CLIENT_SECRET: a private key is set too (TD_PRIVATE_KEY) — keep the one Talkdesk gave you, and remove the other"
    ),
    Mistake(
      nil, ["TD_PRIVATE_KEY": nil, "TD_CLIENT_SECRET": "s\nt"],
      "TD_CLIENT_SECRET: contains characters that a client secret cannot have — copy it again, without line breaks"
    ),
    Mistake(
      "talkdesk: { next_key: { key_id: k2 } }",
      "config.yaml:1:33: talkdesk.next_key: has no private_key_file — give key_id and private_key_file"),
    Mistake(
      "talkdesk: { next_key: { private_key_file: /key } }",
      "config.yaml:1:43: talkdesk.next_key: has no key_id — give key_id and private_key_file"),
    Mistake(
      "talkdesk: { next_key: { key_id: key-1, private_key_file: /key } }",
      "config.yaml:1:33: talkdesk.next_key.key_id: is the id of the current key — give the id Talkdesk gave the new key"
    ),
    Mistake(
      "talkdesk: { next_key: { client_id: c2 } }",
      "config.yaml:1:36: talkdesk.next_key: has no private_key_file — give key_id and private_key_file"),
    Mistake(
      nil, ["CALLGATE_CA_FILE": "/missing"],
      "CALLGATE_CA_FILE: cannot read \"/missing\": there is no such file — check the path"),
    Mistake(
      nil, ["CALLGATE_CA_FILE": "/der"],
      "CALLGATE_CA_FILE: names a certificate in DER, and not certificates as PEM — convert it with: openssl x509 "
        + "-inform DER -in FILE -out NEWFILE"),
    Mistake(
      nil, ["CALLGATE_CA_FILE": "/key"],
      "CALLGATE_CA_FILE: names a file without a certificate — give the authorities' certificates as PEM"
    ),
    Mistake(
      "talkdesk: { next_key: { key_id: k2, private_key_file: /key, key_algorithm: ES512 } }",
      "config.yaml:1:76: talkdesk.next_key.key_algorithm: ES512 does not fit the key, which is P-256 — use ES256, or the "
        + "key that belongs to ES512"),
    Mistake(
      nil, ["TD_SCOPE": "a  b"],
      "TD_SCOPE: \"a  b\" is not a scope — write scope tokens separated by single spaces: callback:write "
        + "visual-sessions:execute"),
    Mistake(
      nil, ["TD_TOKEN_URL": "http://acme.talkdeskid.com/oauth/token"],
      "TD_TOKEN_URL: is plain http to another machine — use https; http is allowed for a loopback address only"
    ),
    Mistake(
      nil, ["TD_TOKEN_URL": "https://user:pass@acme.talkdeskid.com/"],
      "TD_TOKEN_URL: contains a user name or password — leave out everything up to the @"),
    Mistake(
      nil, ["TD_TOKEN_URL": "https://a/b?c"],
      "TD_TOKEN_URL: has a query — write the URL up to the question mark"),
    Mistake(
      nil, ["TD_TOKEN_URL": "https://a/b#c"],
      "TD_TOKEN_URL: has a fragment — leave out everything from the # on"),
    Mistake(nil, ["TD_TOKEN_URL": "acme.talkdeskid.com"], "TD_TOKEN_URL: is not a complete URL — \(anyURL)"),
    Mistake(nil, ["TD_TOKEN_URL": "ftp://a/b"], "TD_TOKEN_URL: is neither https nor http — \(anyURL)"),
    Mistake(nil, ["TD_TOKEN_URL": "https://a:0/"], "TD_TOKEN_URL: has no valid host and port — \(anyURL)"),
    Mistake(
      nil, ["TD_API_URL": "https://a/?x=1"],
      "TD_API_URL: has a query, and a path is appended to it — write the URL up to the question mark"),
    Mistake(
      "tokens: { deadline: 0s }",
      "config.yaml:1:21: tokens.deadline: \"0s\" is out of range — choose from 100ms to 1m"),
    Mistake(
      nil, ["TD_PHONE_NUMBER": "0800 123"],
      "TD_PHONE_NUMBER: is not a telephone number in E.164 — "
        + "Begin with + and the country calling code, and leave out spaces, dashes, dots and brackets, "
        + "as in +14155550123."),
    Mistake(
      "callbacks: { talkdesk_phone_numbers: [+18500000000, 18500000000] }",
      "config.yaml:1:53: callbacks.talkdesk_phone_numbers: is not a telephone number in E.164 — "
        + "Begin with + and the country calling code, as in +14155550123."),
    Mistake(
      "callbacks: { concurrency: 0 }",
      "config.yaml:1:27: callbacks.concurrency: \"0\" is not a count from 1 to 10000 — write a whole number in digits"
    ),
  ]

  static let callers: [Mistake] = [
    Mistake(
      nil, ["DEFAULT_PASSWORD": nil],
      "DEFAULT_USERNAME: is set without DEFAULT_PASSWORD — set both, or neither"),
    Mistake(
      nil, ["DEFAULT_USERNAME": nil],
      "DEFAULT_PASSWORD: is set without DEFAULT_USERNAME — set both, or neither"),
    Mistake(
      nil, ["DEFAULT_USERNAME": "a:b"],
      "DEFAULT_USERNAME: \"a:b\" contains a colon, which ends the user name in HTTP Basic — leave the colon out"
    ),
    Mistake(
      "callers: { a: b }",
      "config.yaml:1:10: callers: is a mapping, not a list — start each caller with - { id: … }"),
    Mistake("callers: [a]", "config.yaml:1:11: callers: is a text, not a mapping — write { KEY: VALUE }"),
    Mistake(
      "callers: [{ api_key: { sha256: \(digest) } }]",
      "config.yaml:1:11: callers: has no id — give it a name: id: ios-app"),
    Mistake(
      "callers: [{ id: a b, api_key: { sha256: \(digest) } }]",
      "config.yaml:1:17: callers.id: \"a b\" is not a caller's id — use 1 to 64 letters, digits, \"-\", \"_\" or \".\", not "
        + "starting with \".\""),
    Mistake(
      "callers: [{ id: anonymous, api_key: { sha256: \(digest) } }]",
      "config.yaml:1:17: callers.id: \"anonymous\" is the caller of requests without credentials — choose another id"
    ),
    Mistake(
      "callers: [{ id: default, api_key: { sha256: \(digest) } }]",
      "config.yaml:1:17: callers: another caller has the id \"default\" — default is the caller of DEFAULT_USERNAME; choose "
        + "another id"),
    Mistake(
      "callers:\n- { id: a, api_key: { sha256: \(digest) } }\n- { id: a, basic: { username: u, password_file: /key } }",
      "config.yaml:3:9: callers: another caller has the id \"a\" — give each its own"),
    Mistake(
      "callers:\n- { id: a, api_key: { sha256: \(digest) } }\n- { id: b, api_key: { sha256: \(digest) } }",
      "config.yaml:3:3: callers.b: accepts the same credentials as caller \"a\" — give each its own credential"
    ),
    Mistake(
      "callers: [{ id: a, basic: { username: app-user, password_file: /key } }]",
      "config.yaml:1:11: callers.a: accepts the same credentials as caller \"default\" — give each its own credential"
    ),
    Mistake(
      "callers: [{ id: a }]",
      "config.yaml:1:11: callers.a: has no credential — give it exactly one of basic, api_key, jwt"
    ),
    Mistake(
      "callers: [{ id: a, basic: {}, jwt: {} }]",
      "config.yaml:1:11: callers.a: has several credentials: basic, jwt — give it exactly one of basic, api_key, jwt"
    ),
    Mistake(
      "callers: [{ id: a, bsic: { username: u } }]",
      "config.yaml:1:20: callers.a.bsic: unknown key — did you mean basic?"),
    Mistake(
      "callers: [{ id: a, basic: { username: u } }]",
      "config.yaml:1:27: callers.a.basic: has no password — give it exactly one of password_sha256, password_file"
    ),
    Mistake(
      "callers: [{ id: a, basic: { password_file: /key } }]",
      "config.yaml:1:27: callers.a.basic: has no username — give it a username"),
    Mistake(
      "callers: [{ id: a, basic: { username: u, password: p } }]",
      "config.yaml:1:42: callers.a.basic.password: unknown key — this file cannot hold a secret: did you mean "
        + "password_file, the path of a file?"),
    Mistake(
      "callers: [{ id: a, basic: { username: u, password_file: /key, password_sha256: \(digest) } }]",
      "config.yaml:1:27: callers.a.basic: has several passwords: password_sha256, password_file — give it exactly one of "
        + "password_sha256, password_file"),
    Mistake(
      "callers: [{ id: a, basic: { username: u, password_file: /key, strong: true } }]",
      "config.yaml:1:71: callers.a.basic.strong: is only for password_sha256: the server reads the length of "
        + "password_file itself — remove it"),
    Mistake(
      "callers: [{ id: a, basic: { username: u, password_variable: SHOP, strong: false } }]",
      ["SHOP": "correct horse battery"],
      "config.yaml:1:75: callers.a.basic.strong: is only for password_sha256: the server reads the length of "
        + "password_variable itself — remove it"),
    Mistake(
      "callers: [{ id: a, api_key: { sha256: \(digest.uppercased()) } }]",
      "config.yaml:1:39: callers.a.api_key.sha256: is not a SHA-256 digest of 64 lower-case hexadecimal digits — make one "
        + "with: printf %s 'THE SECRET' | sha256sum"),
    Mistake(
      "callers: [{ id: a, api_key: {} }]",
      "config.yaml:1:29: callers.a.api_key: has no sha256 — give the key's digest: printf %s 'THE KEY' | sha256sum"
    ),
    Mistake(
      "callers: [{ id: a, jwt: { audience: a, jwks_url: \"https://h/j\" } }]",
      "config.yaml:1:25: callers.a.jwt: has no issuer — give the exact iss of its tokens"),
    Mistake(
      "callers: [{ id: a, jwt: { issuer: i, jwks_url: \"https://h/j\" } }]",
      "config.yaml:1:25: callers.a.jwt: has no audience — give the aud its tokens carry for this server"),
    Mistake(
      "callers: [{ id: a, jwt: { issuer: i, audience: a } }]",
      "config.yaml:1:25: callers.a.jwt: has no keys to verify with — give it exactly one of jwks_url, jwks_file, "
        + "hs256_secret_file"),
    Mistake(
      "callers: [{ id: a, jwt: { issuer: i, audience: a, jwks_url: \"https://h/j\", jwks_file: /set } }]",
      "config.yaml:1:25: callers.a.jwt: has several sources of keys: jwks_url, jwks_file — give it exactly one of "
        + "jwks_url, jwks_file, hs256_secret_file"),
    Mistake(
      "callers: [{ id: a, jwt: { issuer: i, audience: a, jwks_url: \"http://h/j\" } }]",
      "config.yaml:1:61: callers.a.jwt.jwks_url: is plain http to another machine — use https; http is allowed for a "
        + "loopback address only"),
    Mistake(
      "callers: [{ id: a, jwt: { issuer: i, audience: a, jwks_file: /key } }]",
      "config.yaml:1:62: callers.a.jwt.jwks_file: names a file that is not a JWK set: the key set is not JSON: byte 0: a value is missing — give "
        + "{\"keys\": […]}"),
    Mistake(
      "callers: [{ id: a, jwt: { issuer: i, audience: a, jwks_file: /emptyset } }]",
      "config.yaml:1:62: callers.a.jwt.jwks_file: names a JWK set without a usable public key — use P-256, P-384, P-521, "
        + "RSA or Ed25519 keys"),
    Mistake(
      "callers: [{ id: a, jwt: { issuer: i, audience: a, hs256_secret_file: /short } }]",
      "config.yaml:1:70: callers.a.jwt.hs256_secret_file: this secret has 40 bits; HS256 needs at least 256 — use a longer secret: "
        + "openssl rand -hex 32"),
  ]

  static let apps: [Mistake] = [
    Mistake("apps: []", "config.yaml:1:7: apps: is a list, not a mapping — write { KEY: VALUE }"),
    Mistake(
      "apps: { shop: }",
      "config.yaml:1:15: apps.shop: is empty — fill it in, write {} if that is meant, or remove the line"
    ),
    Mistake(
      "apps: { \"my shop\": {} }",
      "config.yaml:1:9: apps: \"my shop\" is not an app's id — use 1 to 64 letters, digits, \"-\", \"_\" or \".\", not starting "
        + "with \".\""),
    Mistake(
      "apps: { shop: { callers: [defualt] } }",
      "config.yaml:1:27: apps.shop.callers[0]: there is no caller \"defualt\" — did you mean default?"),
    Mistake(
      "apps: { shop: { callers: [anonymous] } }",
      "config.yaml:1:27: apps.shop.callers[0]: there is no caller \"anonymous\" — list it under callers, or remove it here"
    ),
    Mistake(
      "apps: { shop: { callers: [] } }",
      "config.yaml:1:26: apps.shop.callers: is empty, so no caller could use the app — list a caller, or remove the line to allow "
        + "every caller"),
    Mistake(
      "apps: { shop: { callers: [default, default] } }",
      "config.yaml:1:36: apps.shop.callers: lists an item twice — keep one of them"),
    Mistake(
      "apps: { shop: { scopes: x } }", "config.yaml:1:17: apps.shop.scopes: unknown key — did you mean scope?"
    ),
    Mistake(
      "apps: { shop: { talkdesk_phone_numbers: [555] } }",
      "config.yaml:1:42: apps.shop.talkdesk_phone_numbers[0]: is not a telephone number in E.164 — "
        + "Begin with + and the country calling code, as in +14155550123."),
    Mistake(
      "apps: { shop: { context_schema: { fields: { a: { data_type: number } } } } }",
      "config.yaml:1:61: apps.shop.context_schema.fields.a.data_type: \"number\" is unknown here — use one of phone, "
        + "text, url"),
    Mistake(
      "apps: { shop: { context_schema: { fields: { a: { max_length: 0 } } } } }",
      "config.yaml:1:62: apps.shop.context_schema.fields.a.max_length: \"0\" is not a number of characters from 1 to 16384 "
        + "— write a whole number in digits"),
    Mistake(
      "apps: { shop: { context_schema: { fields: { a: { required: yes } } } } }",
      "config.yaml:1:60: apps.shop.context_schema.fields.a.required: \"yes\" is neither true nor false — write true or false"
    ),
    Mistake(
      "apps: { shop: { context_schema: { fields: { a: {} }, add: { a: x } } } }",
      "config.yaml:1:33: apps.shop.context_schema: \"a\" is listed under fields and under add — "
        + "keep one of the two"),
    Mistake(
      "apps: { shop: { context_schema: { add: { a: \"x\\ty\" } } } }",
      "config.yaml:1:45: apps.shop.context_schema.add.a: contains control characters — leave out line breaks, tabs and the like"
    ),
    Mistake(
      "apps: { shop: { context_schema: { add: { a: \(String(repeating: "x", count: 256)) } } } }",
      "config.yaml:1:45: apps.shop.context_schema.add.a: is longer than 255 characters — shorten it"
    ),
    Mistake(
      "apps: { shop: { context_schema: { other: ignore } } }",
      "config.yaml:1:42: apps.shop.context_schema.other: \"ignore\" is unknown here — use one of refuse, allow"
    ),
  ]

  private static let files: [String: ConfigurationFiles.Content] = [
    "/key": Fixture.content(Fixture.key), "/empty": Fixture.content("\n"), "/short": Fixture.content("short"),
    "/emptyset": Fixture.content("{\"keys\":[]}"), "/set": Fixture.content("{\"keys\":[]}"),
    "/huge": ConfigurationFiles.Content(bytes: Array(repeating: 0x20, count: 1_048_577)),
    "/pfx": ConfigurationFiles.Content(bytes: [0x30, 7, 2, 1, 3, 0x30, 0, 0x30, 0]),
    "/der": ConfigurationFiles.Content(bytes: [0x30, 9, 0x30, 2, 0xA0, 0, 0x30, 0, 3, 1, 0]),
  ]

  @Test(arguments: sections + listening + talkdesk + callers + apps)
  func `a mistake is named with its place and what mends it`(_ mistake: Mistake) {
    let problems = Fixture.problems(
      mistake.yaml, environment: Fixture.changed(mistake.changes), files: Self.files)
    #expect(problems.contains(mistake.problem), "\(problems)")
  }

  @Test(arguments: sections + listening + talkdesk + callers + apps)
  func `one mistake is one problem`(_ mistake: Mistake) {
    let problems = Fixture.problems(
      mistake.yaml, environment: Fixture.changed(mistake.changes), files: Self.files)
    #expect(problems.count == 1, "\(problems)")
  }
}

// How `callgate doctor` checks the store, the issuers' keys, Google's attestation services, the remote
// policies and the admin access.

import AskingGoogle
import Callers
import Configuration
import Deciding
import Documents
import Gate
import Glibc
import HTTP
import JSON
import Notices
import Platform
import Sealing
import Store
import Stores
import Upstream

extension Doctor {
  /// Checks everything that requests depend on besides tokens: the admin access, the store, other providers,
  /// issuers' keys and remote policies.
  mutating func lookAround() async {
    await reportAdmin()
    await reportStore()
    await reportDesks()
    await reportScreening()
    await reportKeySets()
    await reportPolicies()
    await reportNotices()
  }

  private mutating func reportAdmin() async {
    let admin = configuration.admin
    switch (admin.listener, admin.token) {
    case (nil, _) where admin.namesOperators:
      report.ok("admin", "on the public port, with an operator's token")
    case (nil, nil):
      report.ok("admin", "no admin interface: neither admin.port nor CALLGATE_ADMIN_TOKEN is set")
    case (nil, _?): report.ok("admin", "on the public port, with the admin token")
    case (let listener?, _):
      let host = listener.host.contains(":") ? "[\(listener.host)]" : listener.host
      report.ok(
        "admin",
        "http://\(host):\(listener.port), \(listener.isLoopback && !admin.namesOperators ? "no token needed from this machine" : "with a token")"
      )
      await reportAttention(listener)
    }
  }

  /// Repeats a running server's warnings about its configuration, because some mistakes show only in
  /// requests. Reports nothing if no server responds: it may not run yet, or may run elsewhere.
  private mutating func reportAttention(_ listener: Configuration.Admin.Listener) async {
    guard listener.port != 0, let address = IPAddress(listener.host) else { return }
    let wildcards = [IPAddress(v4: 0): "127.0.0.1", IPAddress(v6High: 0, low: 0): "[::1]"]
    let host = wildcards[address] ?? (address.isV4 ? "\(address)" : "[\(address)]")
    let destination = AdminDestination(
      url: "http://\(host):\(listener.port)",
      token: listener.isLoopback && !configuration.admin.namesOperators ? nil : configuration.admin.token)
    let entries: [(text: String, action: String)]
    do throws(AdminClient.Failure) {
      entries = try await AdminClient(destination, transport: transport).attention(
        "configuration", within: .seconds(2))
    } catch { return }
    for entry in entries { report.warn("configuration", entry.text, fix: entry.action) }
  }

  // MARK: Store

  private mutating func reportStore() async {
    let kind = configuration.store.kind
    switch configuration.store {
    case .memory: return report.ok("store", "memory: a restart loses all state")
    case .sqlite(let path):
      // The check must not create the file.
      guard exists(path) else {
        guard DiskLife.ofFile(path) != .missing else {
          return report.fail(
            "store", "SQLite: the folder of \(quoted(path: path)) does not exist",
            fix: "create the folder, writable for the server's user, or set CALLGATE_STATE",
            .configuration)
        }
        guard Self.mayAdd(to: path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".") else {
          return report.fail(
            "store", "SQLite: this user may not create the file \(quoted(path: path))",
            fix: Self.remedy(.refused, "SQLite"), .configuration)
        }
        report.ok("store", "SQLite: the file \(quoted(path: path)) does not exist yet; serve creates it")
        return report(keysInUse: [])
      }
    case .postgres: break
    }
    let name = kind == "postgres" ? "PostgreSQL" : "SQLite"
    let store = configuration.store.open()
    do throws(StoreError) {
      let version = try await store.inspect()
      report.ok(
        "store",
        version < StoreSchema.latest
          ? "\(name) responds; its schema has version \(version), and serve updates it to \(StoreSchema.latest)"
          : "\(name) responds, and this user may write to it; schema version \(version)")
      report(keysInUse: version < StoreSchema.latest ? [] : try await store.keys())
      if configuration.outcomes != nil {
        report(registered: version < StoreSchema.latest ? [] : try await store.triggers())
      }
    } catch {
      let failure = StoreFailure(error, of: kind)
      report.fail(
        "store", "\(name): \(error.message)", fix: Self.remedy(error.kind, name),
        failure.isTemporary ? .unreachable : .configuration)
    }
    await store.close()
  }

  private mutating func report(keysInUse keys: [KeyInUse]) {
    switch KeyRuling(keys, holding: configuration.storeKeys, at: Instant(SystemClock().unixTime)) {
    case .refused(let refusal):
      report.fail("store key", refusal.message, fix: refusal.remedy, .configuration)
    case .usable(let changes):
      guard let current = configuration.storeKeys?.current.id else { return }
      report.ok("store key", changes.description(of: current, in: keys))
    }
  }

  /// Whether this user may add a file to a folder. False on a read-only file system too.
  private static func mayAdd(to folder: String) -> Bool {
    unsafe faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0
  }

  private func exists(_ path: String) -> Bool {
    do {
      _ = try ConfigurationFiles.system.read(path, 0)
      return true
    } catch {
      if case .missing = error { return false }
      return true
    }
  }

  private static func remedy(_ kind: StoreError.Kind, _ name: String) -> String {
    switch kind {
    case .unavailable:
      "check that the database is running and that this machine can reach it; "
        + (name == "PostgreSQL" ? "until then serve answers 503" : "serve does not start without it")
    case .damaged: "restore the last backup (docs/operate/operate.md), or name another database"
    case .readOnly: "make it writable for this user; with PostgreSQL, name the primary server"
    case .full: "free space on its disk"
    case .incompatible:
      "a newer release made this schema: use that release, or restore the backup taken before it"
    case .refused where name == "SQLite":
      "run doctor as the server's user; that user must own the file and may write to its folder"
    case .refused:
      "check user, password and database in DATABASE_URL; if the role lacks a privilege, grant it as the database's owner"
    case .rejected, .misconfigured: "correct DATABASE_URL or CALLGATE_STATE"
    }
  }

  // MARK: Issuers

  private mutating func reportKeySets() async {
    for caller in configuration.callers {
      guard case .jwt(let issuer) = caller.proof, case .url(let url, _) = issuer.keys else { continue }
      await reportKeySet(
        url, of: "\(caller.id): the issuer's",
        fix:
          "check callers.\(caller.id).jwt.jwks_url; until the keys can be read, this caller's users get 503")
    }
    if case .url(let url, _) = configuration.admin.jwt?.issuer.keys {
      await reportKeySet(
        url, of: "operators: the issuer's",
        fix: "check admin.jwt.jwks_url; until the keys can be read, operators with a JWT get 503")
    }
    if let setting = configuration.appCheck {
      await reportKeySet(
        setting.keysURL, of: "App Check: Google's",
        fix:
          "let this machine reach the host; until the keys can be read, apps with mode enforce get 503")
    }
    if let setting = configuration.numbers?.firebase {
      await reportKeySet(
        setting.keysURL, of: "phone number verification: Google's",
        fix: "let this machine reach the host; until the keys can be read, callbacks with a proof get 503")
    }
    if let settings = configuration.appCheck?.consumption {
      let consumer = AppCheckConsumer(settings, transport: transport, time: clock) { _ in }
      if let failure = await consumer.service.check() {
        report.fail(
          "app check", failure.verdict.reason ?? "Google issued no access token",
          fix: Self.clockFirst(failure)
            + "check attestation.app_check, and that this machine can reach Google; until then no phone can enroll with a token",
          .unreachable)
      } else {
        report.ok(
          "app check",
          "Google issued an access token; the first enrollment confirms that App Check tokens can be consumed"
        )
      }
    }
    if let settings = configuration.play?.settings {
      let decoder = PlayIntegrityDecoder(settings, transport: transport, time: clock) { _ in }
      if let failure = await decoder.service.check() {
        report.fail(
          "play integrity", failure.verdict.reason ?? "Google issued no access token",
          fix: Self.clockFirst(failure)
            + "check attestation.play_integrity, and that this machine can reach Google; until then apps with mode enforce get 503",
          .unreachable)
      } else {
        report.ok(
          "play integrity", "Google issued an access token; the first enrollment confirms Play Integrity")
      }
    }
  }

  private mutating func reportKeySet(_ url: String, of whose: String, fix: String) async {
    let source = KeySource(url: url, transport: transport, time: clock) { _ in }
    await report.examine(source, at: url, of: whose, fix: fix)
  }

  // MARK: Remote policies

  private mutating func reportPolicies() async {
    for rule in configuration.policy.rules where rule.mode != .off {
      guard case .remote(let remote) = rule.kind else { continue }
      let name = KeySource.name(of: remote.url)
      let request = OutboundRequest(
        method: .post, url: remote.url,
        fields: ["Content-Type": "application/json", "Accept": "application/json"],
        content: JSONValue(remote.query(about: trial)).serialized(),
        timeout: .milliseconds(remote.timeoutMilliseconds), maximumContentLength: 64 * 1024)
      do throws(TransportError) {
        let response = try await transport.send(request)
        if response.status != 200 {
          reportPolicy(rule, remote, "\(name) responds with status \(response.status)")
        } else if Self.decides(remote, response.content) {
          report.ok("remote policy", "\(rule.name): \(name) decided a trial request")
        } else {
          report.warn(
            "remote policy", "\(rule.name): \(name) returned no decision on a trial request",
            fix:
              "make it respond with \(remote.dialect.answers) to every query; until then on_failure applies"
          )
        }
      } catch {
        reportPolicy(rule, remote, error.words(about: TalkdeskHost.host(of: remote.url)))
      }
    }
  }

  private mutating func reportPolicy(_ rule: Rule, _ remote: RemoteRule, _ found: String) {
    let fix = "check the rule's url and timeout (\(remote.timeoutMilliseconds) ms)"
    if remote.onFailure == .deny, rule.mode == .enforce {
      report.fail(
        "remote policy", "\(rule.name): \(found)", fix: "\(fix); until it responds, the rule denies",
        .unreachable)
    } else {
      report.warn(
        "remote policy", "\(rule.name): \(found)",
        fix: "\(fix); until it responds, the rule allows requests")
    }
  }

  /// The facts of a trial request.
  private var trial: Facts {
    Facts.unknown(.access, at: Instant(clock.unixTime))
  }

  private static func decides(_ remote: RemoteRule, _ content: [UInt8]) -> Bool {
    do throws(JSONError) {
      return remote.answer(reading: FactValue(try JSONValue(parsing: content))) != .undecided
    } catch {
      return false
    }
  }
}

extension RemoteRule.Dialect {
  /// The responses that count as a decision.
  fileprivate var answers: String {
    switch self {
    case .opa: "true, false or {\"allow\": …}"
    case .authzen: "{\"decision\": …}"
    }
  }
}

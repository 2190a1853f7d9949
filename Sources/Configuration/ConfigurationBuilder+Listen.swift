// Reads and checks the settings for listeners, the admin interface, logging, limits and the store.

import Documents
package import JOSE
import Records

extension ConfigurationBuilder {
  /// Reads `listen`, with `HOST`, `PORT` and the sandbox's own rules.
  mutating func listen() -> Configuration.Listen {
    let proxies = list(Settings.trustedProxies)
    let hops = stated(Settings.forwardedHops)
    if let hops, hops > 0, proxies.isEmpty, !hasItems(Settings.trustedProxies),
      let place = place(of: Settings.forwardedHops)
    {
      problems.add(
        place, Settings.forwardedHops.setting.name,
        Refusal(
          "has no effect without trusted proxies: the server trusts X-Forwarded-For only from them",
          "set CALLGATE_TRUSTED_PROXIES (listen.trusted_proxies) to the proxies' address blocks"))
    }
    return Configuration.Listen(
      host: host(), port: value(Settings.port), tls: tls(), trustedProxies: proxies,
      forwardedHops: hops ?? (proxies.isEmpty ? 0 : 1), sharePort: value(Settings.sharePort))
  }

  /// Reads `cors.origins`.
  mutating func allowedOrigins() -> [String] { list(Settings.origins) }

  private mutating func host() -> String {
    guard let address = stated(Settings.host) else {
      return purpose == .sandbox ? "127.0.0.1" : value(Settings.host).host
    }
    if purpose == .sandbox, !address.isLoopback, let place = place(of: Settings.host), !place.isFlag {
      problems.add(
        place, Settings.host.setting.name,
        Refusal(
          "the sandbox serves requests without credentials, so it listens beyond this machine only with --host",
          "use 127.0.0.1, or add --host \(address.host)"))
    }
    return address.host
  }

  /// Reads `admin`: the operators, their listener and token.
  /// - Parameter externalURL: The first URL under which clients reach this server.
  mutating func admin(beside listen: Configuration.Listen, at externalURL: String?) -> Configuration.Admin {
    let token = adminToken()
    let runbooks = stated(Settings.runbooks) ?? "\(externalURL ?? "")/docs/runbook"
    let statedPlace = place(of: Settings.adminHost) ?? place(of: Settings.adminPort)
    let address = value(Settings.adminHost)
    let port = value(Settings.adminPort)
    var admin = Configuration.Admin(
      listener: nil, token: token, operators: operators(beside: token), jwt: operatorIssuer(),
      runbooks: runbooks)
    guard let statedPlace else { return admin }
    if !address.isLoopback, partial.entries[Settings.adminToken.setting] == nil, !mentionsOperators {
      problems.add(
        statedPlace, Settings.adminHost.setting.name,
        Refusal(
          "opens /metrics and /admin beyond this machine without a token",
          "use 127.0.0.1, set CALLGATE_ADMIN_TOKEN (admin.token_file), or list admin.operators"))
    }
    if port != 0, port == listen.port, overlaps(address.host, listen.host) {
      problems.add(
        place(of: Settings.adminPort) ?? statedPlace, Settings.adminPort.setting.name,
        Refusal("\(port) is the port of the public listener too", "choose another port"))
    }
    admin.listener = Configuration.Admin.Listener(
      host: address.host, port: port, isLoopback: address.isLoopback)
    return admin
  }

  private func overlaps(_ a: String, _ b: String) -> Bool {
    a == b || ["0.0.0.0", "::"].contains(a) || ["0.0.0.0", "::"].contains(b)
  }

  /// Reads the admin token. Nil if there is none, if it is invalid, or if the purpose opens no secrets.
  package mutating func adminToken() -> Secret? {
    guard purpose.opensListenerSecrets, let (bytes, place) = secret(Settings.adminToken) else { return nil }
    let name = Settings.adminToken.setting.name
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      problems.add(
        place, name,
        Refusal(
          "contains spaces or characters that a Bearer token cannot have",
          "make one with: openssl rand -hex 32"))
      return nil
    }
    if bytes.count < 16 {
      problems.note(place, "is shorter than 16 characters; make one with: openssl rand -hex 32")
    }
    return Secret(bytes)
  }

  /// Reads `log`.
  mutating func log() -> LogSettings {
    LogSettings(
      level: value(Settings.logLevel),
      format: stated(Settings.logFormat) ?? (sources.writesToTerminal ? .text : .json))
  }

  /// Reads `log.audit`.
  mutating func audit(_ log: LogSettings) -> Configuration.Audit {
    let audit = Configuration.Audit(
      chain: value(Settings.auditChain), file: stated(Settings.auditFile),
      isRequired: value(Settings.auditRequired))
    func place(_ setting: Setting) -> DocumentPlace? { partial.entries[setting]?.place }
    if audit.chain, purpose.opensStoreKey, purpose != .sandbox, self.place(of: Settings.storeKey) == nil,
      let place = place(Settings.auditChain.setting)
    {
      problems.add(place, Settings.auditChain.setting.name, .needsStoreKey)
    }
    if audit.chain, audit.file == nil, log.format == .text, let place = place(Settings.auditChain.setting) {
      problems.add(
        place, Settings.auditChain.setting.name,
        Refusal(
          "needs audit lines in JSON, and log.format is text", "set log.audit.file, or log.format: json"))
    }
    if audit.isRequired, audit.file == nil, let place = place(Settings.auditRequired.setting) {
      problems.add(
        place, Settings.auditRequired.setting.name,
        Refusal("needs a file: what is written to stdout may be lost", "set log.audit.file"))
    }
    return audit
  }

  /// Refuses an audit file that belongs to the store or the configuration, because appended lines would
  /// damage it. SQLite's files `-wal`, `-shm` and `-journal` belong to the store too.
  mutating func judgeAuditFile(_ audit: Configuration.Audit, _ store: Configuration.Store) {
    guard let path = audit.file, let place = place(of: Settings.auditFile) else { return }
    let own = sources.identify(path)
    func isOwn(_ path: String) -> Bool { own.isSame(as: sources.identify(path)) }
    var owner: String?
    if case .sqlite(let path) = store {
      let whole = sources.identify(path).path
      if ["", "-wal", "-shm", "-journal"].contains(where: { isOwn(whole + $0) }) { owner = "the store" }
    }
    if files.keys.contains(where: isOwn) { owner = "the configuration" }
    if let owner {
      problems.add(
        place, Settings.auditFile.setting.name,
        Refusal("is a file of \(owner), and audit lines would damage it", "name a file of its own"))
    }
  }

  /// Reads `limits`.
  mutating func limits() -> Configuration.Limits {
    let limits = Configuration.Limits(
      connections: value(Settings.connections), headerBytes: value(Settings.headerBytes),
      contentBytes: value(Settings.contentBytes), headerTimeout: value(Settings.headerTimeout),
      requestTimeout: value(Settings.requestTimeout), idleTimeout: value(Settings.idleTimeout),
      drainDelay: value(Settings.drainDelay), drainTimeout: value(Settings.drainTimeout))
    if limits.headerTimeout > limits.requestTimeout,
      let place = place(of: Settings.headerTimeout) ?? place(of: Settings.requestTimeout)
    {
      problems.add(
        place, Settings.headerTimeout.setting.name,
        Refusal(
          "\(DurationText.text(of: limits.headerTimeout)) is longer than limits.request_timeout, "
            + DurationText.text(of: limits.requestTimeout),
          "the headers are part of the request: choose a header_timeout no longer than request_timeout"))
    }
    return limits
  }

  /// Reads `store`, with `DATABASE_URL` and `CALLGATE_STATE`.
  mutating func store() -> Configuration.Store {
    let database = stated(Settings.databaseURL)
    let state = stated(Settings.state)
    let url = stated(Settings.storeURL)
    if purpose == .sandbox {
      // The sandbox must never touch the quotas and stops of production.
      let unused = [
        (database, place(of: Settings.databaseURL)), (state, place(of: Settings.state)),
        (url, place(of: Settings.storeURL)),
      ]
      for (store, place) in unused {
        guard let store, let place else { continue }
        if case .memory = store { continue }
        problems.note(place, "not used, because of --sandbox: its state is in memory only")
      }
      return .memory
    }
    if database != nil, let place = place(of: Settings.state) {
      problems.note(place, "not used, because DATABASE_URL is set")
    }
    return database ?? state ?? url ?? value(Settings.state)
  }
}

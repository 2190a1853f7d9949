// The summary that `callgate check` prints: the main settings, and where each one was set.

import Callers
import Documents
import Gate
import JOSE
import TLS
import Talkdesk

/// A valid configuration in a few lines for operators: what it does, its rules, and each setting with its
/// source. The lines show no secret and no whole telephone number.
public struct ConfigurationSummary: Sendable, CustomStringConvertible {
  public let lines: [String]

  /// Describes a configuration.
  public init(_ configuration: Configuration) {
    lines =
      Self.effects(configuration) + Self.rules(configuration.policy.rules)
      + [Self.brakes(configuration.policy)] + Self.appointments(configuration)
      + Self.statements(configuration.origins)
  }

  /// The lines as one text.
  public var description: String { lines.joined(separator: "\n") }

  private static func effects(_ configuration: Configuration) -> [String] {
    let listen = configuration.listen
    let host = listen.host.contains(":") ? "[\(listen.host)]" : listen.host
    var facts = [("listen", "\(listen.tls == nil ? "http" : "https")://\(host):\(listen.port)")]
    if let identity = listen.tls?.identity {
      let leaf = identity.certificate
      facts.append(("certificate", "\(leaf.subject) (\(identity.keyType)), chain of \(identity.chain.count)"))
      facts.append(("good for", leaf.names.isEmpty ? "no name" : leaf.names))
      facts.append(("valid until", ConfigurationBuilder.date(leaf.notAfter)))
    }
    if let admin = configuration.admin.listener {
      facts.append(
        ("admin", "http://\(admin.host.contains(":") ? "[\(admin.host)]" : admin.host):\(admin.port)"))
    }
    let operators =
      configuration.admin.operators.map { "\($0.name) (\($0.role.rawValue))" }
      + (configuration.admin.jwt.map { ["JWTs of \($0.issuer.issuer)"] } ?? [])
    if !operators.isEmpty { facts.append(("operators", operators.joined(separator: ", "))) }
    if let upstream = configuration.talkdesk.upstream {
      facts.append(("token URL", upstream.tokenURL))
      facts.append(("API URL", upstream.apiURL))
      facts.append(("credential", credential(upstream)))
    }
    facts.append(("scope", configuration.talkdesk.scope))
    var callers = configuration.callers.map { "\($0.id) (\(kind($0.proof)))" }
    if configuration.allowAnonymous { callers.append("anonymous, without credentials") }
    facts.append(("callers", callers.isEmpty ? "none" : callers.joined(separator: ", ")))
    facts.append(
      ("apps", configuration.apps.isEmpty ? "none" : configuration.apps.map(\.id).joined(separator: ", ")))
    if let gms = configuration.gms {
      let services = gms.services.map { "\($0.key) (app \($0.value.app))" }
      facts.append(("gms", services.sorted().joined(separator: ", ")))
    }
    if let mcp = configuration.mcp {
      let tools = Configuration.MCP.Tool.allCases.filter(mcp.tools.contains).map(\.rawValue)
      facts.append(
        (
          "mcp",
          "\(tools.joined(separator: ", ")) for \(mcp.callers?.joined(separator: ", ") ?? "every caller")"
        ))
    }
    if !configuration.desks.isEmpty {
      facts.append(("desks", configuration.desks.map { "\($0.id) (\($0.url))" }.joined(separator: ", ")))
    }
    facts.append(("store", store(configuration.store)))
    switch configuration.store {
    case _ where configuration.storeKeys != nil, .memory: break
    case .sqlite, .postgres:
      facts.append(
        (
          "numbers",
          "stored as hashes; without a store key, a stolen database reveals which numbers are blocked, proven or screened"
        ))
    }
    return aligned(facts)
  }

  private static func statements(_ origins: [SettingOrigin]) -> [String] {
    guard !origins.isEmpty else { return ["set: nothing, all defaults"] }
    return ["set:"]
      + origins.map { origin in
        let instead = origin.overridden.map { ", in place of \($0)" } ?? ""
        return "  \(origin.name) = \(origin.value)  (\(origin.place)\(instead))"
      }
  }

  /// A table of the rules, in their order.
  private static func rules(_ rules: [Rule]) -> [String] {
    guard !rules.isEmpty else { return ["rules: none; numbers of the default ranges are refused"] }
    let rows = rules.map { rule in
      let whom = [rule.apps.map { "apps \(list($0))" }, rule.callers.map { "callers \(list($0))" }]
        .compactMap { $0 }.joined(separator: "; ")
      return [
        rule.name, rule.kind.word.rawValue,
        list(Action.allCases.filter(rule.actions.contains).map(\.rawValue)), rule.mode.rawValue,
        whom.isEmpty ? "everyone" : whom,
      ]
    }
    let table = [["name", "kind", "on", "mode", "for"]] + rows
    let widths = (0..<4).map { column in table.map { $0[column].count }.max() ?? 0 }
    return ["rules:"]
      + table.map { row in
        "  "
          + zip(row, widths).map { $0.padding(to: $1) + "  " }.joined() + row[4]
      }
  }

  /// The line with the limits of the brakes, and the names of those that are off.
  private static func brakes(_ policy: Policy) -> String {
    let brakes = policy.brakes
    let figures = policy.possibleBrakes.compactMap { brake in
      brakes[brake] == 0 ? nil : "\(brakes[brake]) \(brake.measure)"
    }
    let off = policy.possibleBrakes.filter { brakes[$0] == 0 }.map(\.ruleName)
    return "safety limits on callbacks: " + (figures.isEmpty ? "none" : list(figures))
      + (off.isEmpty ? "" : "; off: \(list(off))")
  }

  /// The lines about booked callbacks; empty if none can be booked.
  private static func appointments(_ configuration: Configuration) -> [String] {
    guard let appointments = configuration.appointments else { return [] }
    func text(_ span: Duration) -> String { DurationText.text(of: span) }
    let confirm = appointments.confirm.map {
      [
        "confirm: asked \(text($0.before)) before; without an answer \($0.silence.rawValue); "
          + "put off by \(text($0.snooze)), at most \($0.snoozes) times"
      ]
    }
    return [
      "appointments: \(appointments.perSlot) per slot of \(text(appointments.slot)), "
        + "from \(text(appointments.earliest)) to \(text(appointments.horizon)) ahead, "
        + "\(appointments.perNumber) per owner and number, at most \(text(appointments.late)) late"
    ] + (confirm ?? [])
  }

  private static func list(_ words: [String]) -> String { words.joined(separator: ", ") }

  private static func aligned(_ facts: [(name: String, value: String)]) -> [String] {
    let width = (facts.map(\.name.count).max() ?? 0) + 2
    return facts.map { $0.name + ":" + String(repeating: " ", count: width - $0.name.count - 1) + $0.value }
  }

  private static func credential(_ upstream: Configuration.Upstream) -> String {
    switch upstream.authentication {
    case .secret: "client \(upstream.clientID) with a client secret"
    case .key(let key, let next):
      "client \(upstream.clientID) with key \(describe(key))" + (next.map { ", next \(describe($0))" } ?? "")
    }
  }

  private static func describe(_ key: Configuration.SigningKey) -> String {
    let place =
      switch key.source {
      case .key(let key): "\(key.kind), SHA-256 \(key.publicKey.fingerprint.prefix(16))…"
      case .signer(let settings, _): "\(settings.key) at \(settings.address)"
      }
    return "\(key.id) (\(key.algorithm.rawValue), \(place))"
      + (key.clientID.map { " of client \($0)" } ?? "")
  }

  private static func kind(_ proof: ConfiguredCaller.Proof) -> String {
    switch proof {
    case .basic: "basic"
    case .apiKey: "api_key"
    case .jwt: "jwt"
    }
  }

  private static func store(_ store: Configuration.Store) -> String {
    switch store {
    case .memory: "memory"
    case .sqlite(let path): "SQLite, \(quoted(path: path))"
    case .postgres: "PostgreSQL"
    }
  }
}

extension Brake {
  /// What the limit counts.
  fileprivate var measure: String {
    switch self {
    case .number: "per number and day (UTC)"
    case .burst: "per 5 minutes"
    case .hour: "per hour"
    case .lookups: "lookups of numbers per hour"
    }
  }
}

extension String {
  /// The text padded with spaces to a width in columns.
  fileprivate func padding(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}

// Composes the text of each file that `callgate init` writes.

import Callers
import Configuration
import Gate
import JOSE
import JSON
import Talkdesk

/// The texts of the files that `callgate init` writes.
struct SetupDocuments {
  let answers: SetupAnswers
  /// The folder for the files, as an absolute path.
  let folder: String

  static let configurationName = "callgate.yaml"
  static let testsName = "tests.yaml"
  static let secretsName = "secrets"
  static let credentialName = "secrets/talkdesk-credential"
  static let passwordName = "secrets/app-password"
  static let adminTokenName = "secrets/admin-token"
  static let storeKeyName = "secrets/store-key"
  static let username = "app-user"

  /// `callgate.yaml`.
  var configuration: String {
    """
    \(ConfigurationReference.Schema.callgate.modeline)
    # Callgate for the Talkdesk account \(answers.account), made by callgate init. Edit this file freely. A running server
    # reloads it. If the new version has a problem, the server keeps the old one. docs/operate/configuration.md explains every key.
    # Check the file with: callgate check \(Self.configurationName)

    # The public port. Passwords are readable on the way to it, unless TLS protects them: keep it on this machine behind a proxy
    # that speaks https, or set listen.tls (docs/operate/deploy.md).
    listen: { host: \(Self.scalar(answers.listen.host)) }

    talkdesk:
      account: \(Self.scalar(answers.account))
      region: \(answers.region.rawValue)
      client_id: \(Self.scalar(answers.clientID))
    \(credential)\(accountScope)

    # Clients that may send requests. The app sends this name and password by HTTP Basic. Give each app a caller of its own.
    callers:
      - id: app
        basic: { username: \(Self.username), password_file: \(path(Self.passwordName)) }

    \(apps)callbacks:
    \(numbers)
      # Limits that always hold, here with their defaults; 0 switches one off.
      # brakes: { number_per_day: 6, per_5m: 500, per_hour: 1000 }

    # Rules: which requests are allowed, and when (docs/build/rules.md). \(Self.testsName) has tests for them.
    \(rules)

    \(admin)

    # Quotas, callbacks and the kill switch survive restarts in this file. Several instances share a PostgreSQL instead. The key
    # seals values in it: keep a copy of the key apart from the store's backups.
    store:
      url: \(Self.scalar("sqlite:\(folder)/callgate.sqlite3"))
      key_file: \(path(Self.storeKeyName))

    """
  }

  /// The lines with the account's scope; empty if it is the default.
  private var accountScope: String {
    guard answers.tokens == .sdk else { return "" }
    return """

        # The scope of tokens for Talkdesk's Mobile SDK. Callbacks that this server requests always have callback:write.
        scope: "\(TokenScopes.mobileSDK)"
      """
  }

  /// The lines with an app for each of two kinds of tokens; empty if only one kind is used.
  private var apps: String {
    guard answers.tokens == .both else { return "" }
    return """
      # Two kinds of tokens: GET /access?app=callbacks for the Callback API, GET /access?app=sdk for Talkdesk's Mobile SDK.
      apps:
        callbacks: { scope: "\(TokenScopes.callbackWrite)" }
        sdk: { scope: "\(TokenScopes.mobileSDK)" }


      """
  }

  private var admin: String {
    let words = """
      # Operators: /admin/ in a browser, metrics, and callgate status, stop, resume and reload. This listener is for this machine
      # only. The token opens the same on the public port.
      """
    guard answers.adminToken != nil else {
      return "\(words)\n# admin: { port: 9091 }"
    }
    return "\(words)\nadmin: { port: 9091, token_file: \(path(Self.adminTokenName)) }"
  }

  private var credential: String {
    switch answers.authentication {
    case .secret:
      "  client_secret_file: \(path(Self.credentialName))"
    case .key(let key, _):
      """
        key_id: \(Self.scalar(key.id))
        key_algorithm: \(key.algorithm.rawValue)
        private_key_file: \(path(Self.credentialName))
      """
    }
  }

  private var numbers: String {
    guard let number = answers.phoneNumber else {
      return """
          dedupe_window: 60s
          # The account's numbers that callbacks may use; the first is the default.
          # talkdesk_phone_numbers: ["+14155550100"]
        """
    }
    return """
        # The account's numbers that callbacks may use; the first is the default.
        talkdesk_phone_numbers: ["\(number)"]
      """
  }

  private var rules: String {
    guard let hours = answers.hours else {
      return """
        # rules:
        #   - name: opening-hours
        #     kind: hours
        #     on: callback
        #     timezone: America/New_York
        #     weekly: { mon-fri: "09:00-18:00" }
        """
    }
    let weekly = hours.weekly.map { entry in
      let windows = entry.windows.map { "\"\($0)\"" }
      return
        "\(Self.scalar(entry.days)): \(windows.count == 1 ? windows[0] : "[\(windows.joined(separator: ", "))]")"
    }
    return """
      rules:
        - name: \(SetupHours.ruleName)
          kind: hours
          on: callback
          timezone: \(Self.scalar(hours.timezone))
          weekly: { \(weekly.joined(separator: ", ")) }
          # closed: ["2026-12-25"]
      """
  }

  /// The content of `tests.yaml`. All its tests pass.
  /// - Parameter now: The time from which to look for an opening.
  func tests(now: Instant) -> String {
    var tests =
      answers.tokens == .both
      ? ["callbacks", "sdk"].map { "{ name: a token for \($0), caller: app, app: \($0), expect: allow }" }
      : ["{ name: the app gets a token, caller: app, expect: allow }"]
    var opening = ""
    if let schedule = answers.hours?.schedule, let times = Self.times(of: schedule, after: now) {
      opening = ", at: \"\(times.open.text)\""
      tests += [
        "{ name: open on \(times.open.name), \(Self.callback), at: \"\(times.open.text)\", expect: allow }",
        "{ name: closed from \(times.closed.name), \(Self.callback), at: \"\(times.closed.text)\", expect: deny, "
          + "code: closed }",
      ]
    } else {
      tests.append("{ name: the app asks for a callback, \(Self.callback), expect: allow }")
    }
    tests += [
      "{ name: a premium number, action: callback, caller: app, phone: \"+19005550100\"\(opening), expect: deny, "
        + "code: number_not_allowed }",
      "{ name: a request without the password, caller: anonymous, expect: deny, code: unauthenticated }",
    ]
    return """
      \(ConfigurationReference.Schema.tests.modeline)
      # Tests for the rules of \(Self.configurationName). Add a test for each rule: docs/build/rules.md explains them.
      #   callgate rules test --config \(Self.configurationName) \(Self.testsName)
      tests:
      \(tests.map { "  - \($0)\n" }.joined())
      """
  }

  private static let callback = "action: callback, caller: app, phone: \"+14155550100\""

  /// A time as a test writes it (`text`), and as people say it (`name`).
  private struct Time {
    var text: String
    var name: String

    init?(_ seconds: Int64, in zone: Zone) {
      guard let local = zone.localSeconds(at: seconds) else { return nil }
      let date = CivilDate(dayNumber: Int((Double(local) / 86_400).rounded(.down)))
      let wall = Instant(seconds: local).rfc3339.dropLast()
      let minutes = abs(local - seconds) / 60
      func digits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
      text = "\(wall)\(local < seconds ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
      name = "\(Self.days[date.weekday]) at \(wall.suffix(8).prefix(5))"
    }

    private static let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
  }

  /// The next opening and its end; nil if the schedule never opens or never closes.
  private static func times(of schedule: Schedule, after now: Instant) -> (open: Time, closed: Time)? {
    let start =
      schedule.isOpen(at: now.seconds) == true ? schedule.nextChange(after: now.seconds) : now.seconds
    guard let open = start.flatMap(schedule.nextOpen), let closed = schedule.nextChange(after: open),
      let openTime = Time(open, in: schedule.zone), let closedTime = Time(closed, in: schedule.zone)
    else { return nil }
    return (openTime, closedTime)
  }

  /// The credential's file: the secret, or the key as PEM, with a final newline.
  func credentialFile() throws(KeyError) -> [UInt8] {
    switch answers.authentication {
    case .secret(let secret): secret.exposedBytes() + [0x0A]
    case .key(let key, _):
      switch key.source {
      case .key(let key): try key.pem().exposedBytes()
      // The interview asks only for a file or a secret, never for an external signer.
      case .signer: preconditionFailure("init with a signer")
      }
    }
  }

  /// `.gitignore` with the lines for secrets and state; nil if all are there.
  ///
  /// Other lines stay as they are, octet for octet, in any encoding. New lines end as the first one does.
  static func ignored(beside existing: [UInt8]) -> [UInt8]? {
    let lines = existing.split(separator: 0x0A).map { $0.last == 0x0D ? $0.dropLast() : $0 }
    let missing = ["/secrets/", "/callgate.sqlite3*"].filter { wanted in
      !lines.contains { $0.elementsEqual(wanted.utf8) }
    }
    guard !missing.isEmpty else { return nil }
    let hasReturns = existing.firstIndex(of: 0x0A).map { $0 > 0 && existing[$0 - 1] == 0x0D } ?? false
    let end: [UInt8] = hasReturns ? [0x0D, 0x0A] : [0x0A]
    let isUnended = !existing.isEmpty && existing.last != 0x0A
    return existing + (isUnended ? end : []) + missing.flatMap { Array($0.utf8) + end }
  }

  private func path(_ name: String) -> String { Self.scalar("\(folder)/\(name)") }

  /// A text as YAML: plain if every parser reads it as text, otherwise in quotation marks.
  static func scalar(_ text: String) -> String {
    let isSafe = text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x2F, 0x5F: true
      default: false
      }
    }
    let starts = text.utf8.first.map {
      $0 == 0x2F || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
    }
    let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
    if isSafe, starts == true, !words.contains(text.lowercased()) { return text }
    return String(decoding: JSONValue.string(text).serialized(), as: UTF8.self)
  }
}

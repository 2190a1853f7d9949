// Declares the keys of a rule in the configuration, for its reader, for spelling suggestions and for the JSON
// Schema.

package import Documents
import Texts

/// The keys of a rule: those of all rules, and those of each kind.
enum RuleKeys {
  static let name = Key<String>.one(
    "name", .text, required: "give the rule a name, as in \"name: opening-hours\"",
    "The rule's name: in logs, in audit lines and in responses to clients.")
  static let kind = Key<Rule.Kind.Word>.one(
    "kind", .choice,
    required: "use one of \(Rule.Kind.Word.allCases.map(\.rawValue).joined(separator: ", "))",
    "The kind of check.")
  static let on = Key<Action>.many("on", .choice, "The actions that the rule applies to.")
  static let mode = Key<Rule.Mode>.one(
    "mode", .choice, "`enforce` decides, `audit` records what it would deny, `off` switches the rule off.")

  static func apps(_ known: Set<String>? = nil) -> Key<String> {
    .many("apps", name(among: known), "The apps that the rule applies to. Without it: all.")
  }

  static func callers(_ known: Set<String>? = nil) -> Key<String> {
    .many(
      "callers", caller(among: known),
      "The callers that the rule applies to, `anonymous` and `installation` among them. Without it: all.")
  }

  /// The form of a caller's id: a configured id, `anonymous` or `installation`.
  static func caller(among known: Set<String>?) -> TextForm<String> {
    name(among: known.map { $0.union([Facts.anonymous, Facts.installationCaller]) })
  }

  /// The form of a name: one of the known names, or any name if `known` is nil.
  static func name(among known: Set<String>?) -> TextForm<String> {
    TextForm { text throws(Refusal) in
      if let known, !known.contains(exactly: text) { throw .unknown(text, known: known.sorted()) }
      return text
    }
  }

  // Hours.

  static let timezone = Key<String>.one(
    "timezone", .text, required: "give the time zone of the hours, as in \"timezone: Europe/Lisbon\"",
    zoneMeaning)
  static let weekly = NestedKey(
    "weekly", .named(.texts(.text)), "The opening hours of each weekday: `mon-fri: \"09:00-18:00\"`.")
  static let closed = Key<CivilDate>.many("closed", date, "Dates without opening hours: `\"2026-12-25\"`.")
  static let open = NestedKey(
    "open", .named(.texts(.text)), "The opening hours of single dates: `\"2026-12-24\": \"09:00-12:00\"`.")

  static let date = TextForm { text throws(Refusal) in
    guard let date = CivilDate(text) else {
      throw Refusal("\(quoted(text)) is not a date", "write it as \"2026-12-25\"")
    }
    return date
  }

  static let window = TextForm { text throws(Refusal) in try OpeningWindow(text) }

  // Rates and quotas.

  static let key = Key<AllowanceScope>.one(
    "key", .choice,
    required: "use one of " + AllowanceScope.allCases.map(\.rawValue).joined(separator: ", "),
    "Each caller, subject, installation, app, address or number has a count of its own; `global` has one for all."
  )
  static let limit = Key<Int64>.one(
    "limit", .wholeNumber, required: "give the number of allowed requests, as in \"limit: 30\"",
    "The number of allowed requests.")
  static let span = Key<Duration>.one(
    "per",
    TextForm(.duration) { text throws(Refusal) in
      guard Quota.Period(rawValue: text) == nil else {
        throw Refusal(
          "\(quoted(text)) is not a duration",
          "for calendar periods use \"kind: quota\"; for a rate write it as 24h")
      }
      return try TextForm.duration.read(text)
    }, required: "give the time span, as in \"per: 1m\"",
    "The time in which the rule allows `limit` requests.")
  static let burst = Key<Int64>.one("burst", .wholeNumber, "The most requests at once.")
  static let period = Key<Quota.Period>.one(
    "per", .choice, required: "use one of day, week, month", "The calendar period of `limit`.")
  static let quotaZone = Key<String>.one("timezone", .text, zoneMeaning)
  static let onStoreFailure = Key<FailurePolicy>.one(
    "on_store_failure", .choice, "The decision while the store does not respond.")

  private static let zoneMeaning = "The time zone by its IANA name: `Europe/Lisbon`."

  // Numbers and addresses.

  static let allowedPrefixes = Key<String>.many("allow", .text, "Prefixes of numbers: `\"+351\"`.")
  static let deniedPrefixes = Key<String>.many("deny", .text, "Prefixes of numbers: `\"+351\"`.")
  static let defaultDeny = Key<Bool>.one(
    "default_deny", .boolean, "Whether premium, short and satellite numbers are denied, too.")
  static let allowedNetworks = Key<String>.many("allow", .text, "Address blocks: `203.0.113.0/24`.")
  static let deniedNetworks = Key<String>.many("deny", .text, "Address blocks: `203.0.113.0/24`.")

  // Claims, fields and remote policies.

  static let require = NestedKey(
    "require", .named(.texts(.text)), "Claims and their accepted values: `tier: [gold]`.")
  static let field = Key<String>.one(
    "field", .text, required: "name the header, as in \"field: X-App-Version\"", "The header's name.")
  static let equals = Key<String>.one("equals", .text, "The accepted value.")
  static let among = Key<String>.many("in", .text, "The accepted values.")
  static let atLeast = Key<String>.one("at_least", .text, "The lowest accepted version.")
  static let url = Key<String>.one(
    "url", .text, required: "give the address of the policy", "The policy's address.")
  static let timeout = Key<Duration>.one("timeout", .duration, "How long to wait for the policy.")
  static let onFailure = Key<FailurePolicy>.one(
    "on_failure", .choice, "The decision when the policy gives no usable response.")
  static let dialect = Key<RemoteRule.Dialect>.one(
    "dialect", .choice,
    "The form of queries: `opa` for Open Policy Agent's data API, `authzen` for OpenID AuthZEN 1.0.")

  static let leastAgents = Key<Int64>.one(
    "at_least", .wholeNumber, "How many agents have to be available; 1 without it.")
  static func consentTexts(_ known: [String]? = nil) -> Key<String> {
    .many(
      "texts",
      TextForm { text throws(Refusal) in
        if let known, !known.contains(exactly: text) { throw .unknown(text, known: known) }
        return text
      }, "The names of the texts that suffice. Without it: all of `numbers.consent.texts`.")
  }

  static let onStale = Key<FailurePolicy>.one(
    "on_stale", .choice, "The decision while the number of agents is not known.")

  static let screeningTimeout = Key<Duration>.one(
    "timeout", .duration, "How long all lookups of a request may take together; `3s` without it.")
  static let onScreeningFailure = Key<FailurePolicy>.one(
    "on_failure", .choice, "The decision when Talkdesk gives no verdict; `allow` without it.")

  // MARK: All of them

  static let common: [any DeclaredKey] = [name, kind, on, apps(), callers(), mode]

  static let requirements = ["equals", "in", "at_least"]

  /// The keys of rules of a kind, beside `common`.
  static func keys(of kind: Rule.Kind.Word) -> [any DeclaredKey] {
    switch kind {
    case .hours: [timezone, weekly, closed, open]
    case .rate: [key, limit, span, burst, onStoreFailure]
    case .quota: [key, limit, period, quotaZone, onStoreFailure]
    case .numbers: [allowedPrefixes, deniedPrefixes, defaultDeny]
    case .addresses: [allowedNetworks, deniedNetworks]
    case .claims: [require]
    case .field: [field, equals, among, atLeast]
    case .remote: [url, dialect, timeout, onFailure]
    case .agents: [leastAgents, onStale]
    case .ownNumber: []
    case .consent: [consentTexts()]
    case .screened: [screeningTimeout, onScreeningFailure]
    }
  }

  static let kinds = Rule.Kind.Word.allCases.map { kind in
    Shape.Variant(kind.rawValue, keys(of: kind), exactlyOne: kind == .field ? requirements : [])
  }
}

extension Policy {
  /// The shape of `rules`.
  package static let shape = Shape.list(.variants(RuleKeys.common, by: RuleKeys.kind.name, RuleKeys.kinds))
}

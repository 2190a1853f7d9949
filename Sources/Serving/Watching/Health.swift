// Liveness and readiness of the server, determined without a request to Talkdesk.

import AskingGoogle
import Callers
import ChatDesk
import Configuration
package import HTTP
import HTTPServer
package import JSON
import Notices
import Platform
import PushDelivery
package import Records
package import Store
import Synchronization
package import Tokens

/// The health checks. Platforms use them to decide whether to send requests to this instance.
package final class Health: Sendable {
  /// Liveness: the process works. Must not depend on Talkdesk, or an outage there would restart healthy
  /// servers.
  package static let alive = PreparedResponse(
    Response(
      status: .ok, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: Array(#"{"status":"pass"}"#.utf8)))

  private let tokens: TokenSource
  private let store: StoreHealth
  private let generations: Generations
  private let attention: AttentionList
  private let audit: AuditTrail?
  private let draining = Atomic<Bool>(false)

  package init(
    tokens: TokenSource, store: StoreHealth, generations: Generations, attention: AttentionList,
    audit: AuditTrail? = nil
  ) {
    self.attention = attention
    self.tokens = tokens
    self.store = store
    self.generations = generations
    self.audit = audit
  }

  /// Makes `/readyz` report from now on that this instance is shutting down.
  package func beginDrain() { draining.store(true, ordering: .relaxed) }

  /// The response of `/readyz`, which says whether this instance can serve. Trouble at a service that the
  /// server calls, such as Talkdesk or an issuer of callers' tokens, is only a warning: an outage there must
  /// not take every instance out of service.
  package func readiness() -> Response {
    let isDraining = draining.load(ordering: .relaxed)
    let problems = upstreamProblems
    let word = word(problems)
    var checks: JSONObject = [
      "configuration": ["status": "pass"],
      "process": ["status": isDraining ? "fail" : "pass"],
      "store": ["status": isStoreWell ? "pass" : "fail"],
      "clock": clock,
    ]
    if let status = talkdesk {
      checks["key"] = .object(Self.keys(status))
      checks["talkdesk_id"] = [
        "status": status.isWell ? "pass" : "warn", "scopes": .array(status.scopes.map(Self.check)),
      ]
    }
    if let audit { checks["audit"] = ["status": audit.isFailing ? "warn" : "pass"] }
    for (name, desk) in generations.current.desks {
      checks["desk:\(name)"] = .object(Self.check(desk.source.status))
      if let tickets = desk.tickets?.source {
        checks["tickets:\(name)"] = ["status": tickets.isWell ? "pass" : "warn"]
      }
    }
    for (name, keys) in issuers { checks["issuer:\(name)"] = .object(Self.check(keys.status)) }
    if let appCheck {
      var check = Self.check(appCheck.status)
      if generations.current.consumer?.service.status.outage != nil { check["status"] = "warn" }
      checks["attestation:app_check"] = .object(check)
    }
    if let play = generations.current.play?.decoder.service.status {
      checks["attestation:play_integrity"] = ["status": play.outage == nil ? "pass" : "warn"]
    }
    if let senders {
      for platform in senders.platforms {
        checks["notices:\(platform.rawValue)"] = .object(Self.check(senders, platform))
      }
    }
    if !problems.isEmpty {
      checks["upstreams"] = [
        "status": "warn", "attention": .array(problems.map { .string($0.rawValue) }),
      ]
    }
    let document: JSONValue = ["status": .string(word), "checks": .object(checks)]
    return Response(
      status: word == "fail" ? .serviceUnavailable : .ok,
      fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      content: document.serialized())
  }

  /// The worst check: `pass`, `warn` or `fail`. An instance fails while it shuts down, without its store, and
  /// with a wrong clock. Without its store, it can neither count requests nor see a stop. With a wrong clock,
  /// it counts at the wrong time and gets the end of deduplication windows, tokens and callers' JWTs wrong.
  /// The same is true before the clocks are compared.
  package var word: String { word(upstreamProblems) }

  /// The codes of present problems with services that the server calls, each once.
  private var upstreamProblems: [Attention.Code] {
    var codes: [Attention.Code] = []
    for entry in attention.entries() where entry.code.concernsUpstream && codes.last != entry.code {
      codes.append(entry.code)
    }
    return codes
  }

  private func word(_ problems: [Attention.Code]) -> String {
    let clocks = store.clockStanding
    guard !draining.load(ordering: .relaxed), isStoreWell, store.isClockRight else { return "fail" }
    let isTalkdeskWell = talkdesk.map { $0.isWell && !$0.hasRefusedCredential } ?? true
    let hasIssuers = issuers.allSatisfy { $0.keys.status.isWell } && appCheck?.status.isWell != false
    let sends = senders.map { senders in senders.platforms.allSatisfy { Self.sends(senders, $0) } } ?? true
    let hasDesks = generations.current.desks.values.allSatisfy { desk in
      desk.source.status.isWell && desk.tickets?.source.isWell != false
    }
    let isWell =
      isTalkdeskWell && hasIssuers && hasDesks && clocks == .agrees && sends && problems.isEmpty
      && audit?.isFailing != true
    return isWell ? "pass" : "warn"
  }

  /// Whether the store works and the server knows the stops in it.
  private var isStoreWell: Bool { store.failure == nil && attention.runtime.stops.isKnown }

  /// The check of this machine's clock, with its lead over the store's clock if that is known.
  private var clock: JSONValue {
    var check: JSONObject = ["status": .string(store.clockStanding.word)]
    if let ahead = store.clockAhead {
      check["difference_seconds"] = .number(JSONNumber(ahead.components.seconds))
    }
    return .object(check)
  }

  /// The state of Talkdesk's tokens; nil for a server without a Talkdesk account, which serves chat desks
  /// only.
  private var talkdesk: TokenSourceStatus? {
    let generation = generations.current
    return generation.configuration.talkdesk.upstream == nil
      ? nil : generation.scopes.configured(tokens.status)
  }

  private var senders: NoticeSenders? { generations.current.push?.senders }

  private var issuers: [(name: String, keys: KeySource)] { generations.current.issuers }

  /// The keys of App Check; nil if no app uses its tokens.
  private var appCheck: KeySource? { generations.current.appCheck?.keys }

  /// The state of the keys of an issuer or of App Check. Without keys, the server refuses all their tokens.
  private static func check(_ status: KeySource.Status) -> JSONObject {
    var check: JSONObject = [
      "status": status.isWell ? "pass" : "warn", "keys": .number(JSONNumber(Int64(status.keys))),
    ]
    if let age = status.age { check["age_seconds"] = .number(JSONNumber(max(0, age.components.seconds))) }
    return check
  }

  /// The state of a chat desk. The result names no user.
  private static func check(_ status: SessionSource.Status) -> JSONObject {
    var check: JSONObject = ["status": status.isWell ? "pass" : "warn"]
    if let latest = status.latest { check["last_request"] = .string(latest.label) }
    if let age = status.latestAge {
      check["last_request_age_seconds"] = .number(JSONNumber(max(0, age.components.seconds)))
    }
    if let rest = status.coolDown {
      check["cool_down_seconds"] = .number(JSONNumber(rest.components.seconds))
    }
    return check
  }

  /// The state of a sender of push notifications: `stopped` if the provider refuses the server's settings,
  /// `cool_down_seconds` while the provider wants no notifications.
  private static func check(_ senders: NoticeSenders, _ platform: PushPlatform) -> JSONObject {
    var check: JSONObject = ["status": sends(senders, platform) ? "pass" : "warn"]
    if senders.isStopped(platform) { check["stopped"] = true }
    if let rest = senders.rest(platform) {
      check["cool_down_seconds"] = .number(JSONNumber(Int64(rest.wholeSecondsRoundedUp)))
    }
    return check
  }

  private static func sends(_ senders: NoticeSenders, _ platform: PushPlatform) -> Bool {
    !senders.isStopped(platform) && senders.rest(platform) == nil
  }

  /// The check of the keys: the key in use and the state of each key. Warns if Talkdesk ID refused a key or a
  /// scope.
  package var keys: JSONObject { Self.keys(generations.current.scopes.configured(tokens.status)) }

  private static func keys(_ status: TokenSourceStatus) -> JSONObject {
    let isRefused = status.hasRefusedCredential || status.scopes.contains(where: \.isRefused)
    var check: JSONObject = ["status": isRefused ? "warn" : "pass"]
    if let serving = status.servingCredential { check["serving"] = .string(serving) }
    check["keys"] = .array(
      status.credentials.map { credential in
        var key: JSONObject = [
          "key_id": .string(credential.name), "role": .string(credential.role.rawValue),
          "state": .string(credential.state.rawValue),
        ]
        if let age = credential.age {
          key["age_seconds"] = .number(JSONNumber(max(0, age.components.seconds)))
        }
        if let wait = credential.retryIn {
          key["retry_in_seconds"] = .number(JSONNumber(max(0, wait.components.seconds)))
        }
        return .object(key)
      })
    return check
  }

  /// The state of each chat desk.
  package var desks: [JSONValue] {
    generations.current.desks.sorted { $0.key < $1.key }.map { name, desk in
      let status = desk.source.status
      var check = Self.check(status)
      check["desk"] = .string(name)
      check["users"] = .number(JSONNumber(Int64(status.users)))
      if let tickets = desk.tickets?.source { check["tickets"] = tickets.isWell ? "pass" : "warn" }
      return .object(check)
    }
  }

  /// The state of each scope's tokens.
  package var scopes: [JSONValue] { talkdesk?.scopes.map(Self.check) ?? [] }

  /// The state of one scope's last exchange. The result names keys by id, and contains no token.
  private static func check(_ scope: TokenSourceStatus.Scope) -> JSONValue {
    var check: JSONObject = ["scope": .string(scope.scope)]
    func seconds(_ name: String, _ duration: Duration?) {
      guard let duration else { return }
      check[name] = .number(JSONNumber(max(0, duration.components.seconds)))
    }
    if let last = scope.lastRequest {
      check["last_exchange"] = .string(last.label)
      check["key_id"] = .string(last.credential)
    }
    seconds("last_exchange_age_seconds", scope.lastRequestAge)
    seconds("token_expires_in_seconds", scope.expiresIn)
    seconds("cool_down_seconds", scope.coolDown?.remaining)
    return .object(check)
  }
}

extension StoreHealth.ClockStanding {
  fileprivate var word: String {
    switch self {
    case .agrees: "pass"
    case .differs: "warn"
    case .unknown, .isWrong: "fail"
    }
  }
}

extension TokenSourceStatus.Scope {
  /// Whether Talkdesk ID refused the credential or the scope at the last exchange.
  fileprivate var isRefused: Bool {
    if case .failure(.refused) = lastRequest?.outcome { true } else { false }
  }
}

// The counters of a running server and their metric names.

package import API
import Gate
import HTTP
import HTTPServer
package import Metrics
import Notices
package import Platform
import Synchronization
package import Tokens
package import Trust

/// The counters of all metrics. One instance lives as long as the process, across reloads.
///
/// Counters that change with every request are in memory of their own loop. Counters of rare events have a
/// lock.
package final class ServiceMetrics: Sendable {
  /// The services whose requests `callgate_upstream_requests_total` counts.
  package enum Upstream: String, CaseIterable, Sendable {
    case talkdeskID = "talkdesk_id"
    case callbackAPI = "callback_api"
    /// Servers that publish keys: identity providers of callers and operators, and Google for App Check and
    /// for proofs of numbers.
    case jwks
    /// Remote policies.
    case policy
    /// Sendbird's platform API.
    case sendbird
    /// Talkdesk's phone validation.
    case phoneValidation = "phone_validation"
    /// Talkdesk's do-not-call lists.
    case doNotCall = "do_not_call"
  }

  // MARK: Counted for every request

  /// Number of event loops that count.
  let lanes: Int
  let requests: RequestCounters
  let decisions: DecisionCounters
  private let tokenCache: LaneCounters
  private let connections: LaneCounters
  /// Lookups of numbers by result. Shown if `numbers.screening` is configured.
  package let screenings = EventCounter(
    "callgate_number_screenings_total", "Numbers looked up before they were called, by result.",
    labels: ["result"], series: [["allowed"], ["refused"], ["unknown"], ["failed"]])
  /// The calls of AI agents' tools.
  package let agentCalls = AgentCalls()
  /// For each attestation type, the counters of its results and of its failures by reason.
  private let attestations, attestationFaults: [LaneCounters]
  private let proofs, proofFaults: LaneCounters

  // MARK: Rare events

  private let upstreamRequests = EventCounter(
    "callgate_upstream_requests_total",
    "Requests to Talkdesk, Sendbird, issuers and remote policies, by outcome.",
    labels: ["upstream", "outcome"], series: upstreamSeries)
  private let upstreamDurations = EventHistogram(
    "callgate_upstream_request_duration_seconds",
    "Duration of requests to Talkdesk, Sendbird, issuers and remote policies.", label: "upstream",
    words: Upstream.allCases.map(\.rawValue))
  /// The upstreams on the metrics page: the first four always, others once they are configured.
  private let shownUpstreams = Mutex<Set<Upstream>>([.talkdeskID, .callbackAPI, .jwks, .policy])
  private let upstreamSuccesses = Mutex<[Upstream: UnixTime]>([:])
  /// Callbacks by outcome: `accepted`, `failed` or `unknown`; for appointments that end without a call also
  /// `cancelled` or `expired`.
  package let callbacks = EventCounter(
    "callgate_callbacks_total", "Callbacks sent to Talkdesk, and appointments that have ended, by outcome.",
    labels: ["status"], series: [["accepted"], ["failed"], ["unknown"], ["cancelled"], ["expired"]])
  /// Delay from an appointment's time until the server sends it to Talkdesk.
  package let appointmentLateness = EventHistogram(
    "callgate_appointment_lateness_seconds",
    "Delay between an appointment's time and the request to Talkdesk.")
  /// Requests by the result of `own_number`. Shown if numbers can be proven.
  package let numberProofs = EventCounter(
    "callgate_number_proofs_total", "Callback requests that had to prove their number, by result.",
    labels: ["result"], series: NumberResult.allCases.map { [$0.rawValue] })
  /// Push notifications by provider and outcome. Shown if a provider is configured.
  package let notices = EventCounter(
    "callgate_notices_total", "Push notifications by provider and outcome.", labels: ["provider", "outcome"],
    series: PushPlatform.allCases.map(\.rawValue).flatMap { provider in
      ["taken", "device_gone", "not_taken", "refused", "stopped", "resting"].map { [provider, $0] }
    })
  /// Push notifications about callbacks by action and outcome. Shown if a provider is configured.
  package let callbackNotices = EventCounter(
    "callgate_callback_notices_total", "Push notifications about callbacks by action and outcome.",
    labels: ["action", "outcome"],
    series: ["confirm", "changed", "expired", "calling"].flatMap { action in
      ["taken", "again", "dropped"].map { [action, $0] }
    })
  /// Devices that GMS clients named but that get no push notifications. Shown if there are GMS clients.
  package let ignoredDevices = EventCounter(
    "callgate_ignored_devices_total",
    "Devices that GMS clients named but that get no push notifications: their system or token is unknown, or has no provider."
  )
  /// Delay from the time when a callback's push notification is due until the server sends it.
  package let noticeLateness = EventHistogram(
    "callgate_notice_lateness_seconds",
    "Delay between a push notification's time and the request to its provider.")
  /// Connections of clients that the server closed because all together held too much memory.
  let closedForMemory = EventCounter(
    "callgate_connections_closed_total",
    "Connections of clients closed because all connections together held too much memory, by reason.",
    labels: ["reason"], series: MemoryReason.allCases.map { [$0.rawValue] })
  /// TLS handshakes of clients by result: `ok` or `failed`.
  package let tlsHandshakes = EventCounter(
    "callgate_tls_handshakes_total", "TLS handshakes of clients, by result.", labels: ["result"],
    series: [["ok"], ["failed"]])
  private let reloads = EventCounter(
    "callgate_configuration_reloads_total", "Reloads of the configuration, by result.",
    labels: ["result"], series: [["ok"], ["failed"]])
  /// Whether the last reload succeeded; true before the first.
  private let isLastReloadGood = Atomic<Bool>(true)
  private let loadedAt = Atomic<Int64>(0)
  private let parts = Mutex<[@Sendable (inout MetricsText) -> Void]>([])
  /// The present problems, recorded by the code that meets them.
  package let troubles = Troubles()

  /// Makes counters that are all 0.
  /// - Parameters:
  ///   - loops: How many loops the server runs on.
  ///   - routes: The values of the label `route`, by their numbers.
  ///   - audited: The actions that endpoints audit.
  package init(loops: Int, routes: [String], audited: Set<AuditedAction>) {
    lanes = loops
    requests = RequestCounters(routes: routes, lanes: loops)
    // Brakes refuse only what makes a phone ring now.
    let braked = audited.intersection([.callback, .connect]).map {
      ($0.rawValue, [Problem.Code.rateLimited.rawValue] as Set)
    }
    alwaysShown = [
      // No alert concerns what operators do.
      "": Dictionary(
        uniqueKeysWithValues: audited.subtracting([.stop, .resume, .reload, .block, .unblock, .read]).map {
          ($0.rawValue, Self.codesOfAlerts)
        }),
      Brake.burst.ruleName: Dictionary(uniqueKeysWithValues: braked),
      Brake.hour.ruleName: Dictionary(uniqueKeysWithValues: braked),
    ]
    decisions = DecisionCounters(
      actions: AuditedAction.allCases.map(\.rawValue),
      codes: [.init("", decision: "allow")]
        + Problem.Code.allCases.map { .init($0.rawValue, decision: $0.isError ? "error" : "deny") },
      lanes: loops)
    tokenCache = LaneCounters(
      label: "outcome", words: TokenCacheOutcome.allCases.map(\.rawValue), lanes: loops)
    attestations = AttestationType.allCases.map { _ in
      LaneCounters(label: "result", words: AttestationResult.others.map(\.word), lanes: loops)
    }
    attestationFaults = AttestationType.allCases.map { _ in
      LaneCounters(label: "reason", words: AttestationFault.allCases.map(\.rawValue), lanes: loops)
    }
    proofs = LaneCounters(label: "result", words: ProofResult.others.map(\.word), lanes: loops)
    proofFaults = LaneCounters(label: "reason", words: ProofFault.allCases.map(\.rawValue), lanes: loops)
    connections = LaneCounters(label: "event", words: ["opened", "closed"], lanes: loops)
    decisions.register([Rule.defaultNumbers, Rule.blocked] + Brake.allCases.map(\.ruleName))
  }

  /// Adds series for the rules of a configuration.
  package func register(rules: some Sequence<String>) { decisions.register(rules) }

  /// Adds a part to the metrics page, such as a gauge. No other part may write the same families.
  package func addPart(_ part: @escaping @Sendable (inout MetricsText) -> Void) {
    parts.withLock { $0.append(part) }
  }

  // MARK: Events

  @inline(__always) func answered(_ answer: AnswerReport, loop: Int) {
    requests.count(
      route: answer.route, method: answer.method, status: answer.status, nanoseconds: answer.nanoseconds,
      lane: loop)
  }

  /// Counts a connection that was opened or closed.
  func connection(opened: Bool, loop: Int) { connections.add(to: opened ? 0 : 1, lane: loop) }

  /// Counts an outcome of the cache of Talkdesk tokens: of a request, of a renewal, or of a dropped token.
  @inline(__always) package func tokenCache(_ outcome: TokenCacheOutcome, lane: Int?) {
    tokenCache.add(to: outcome.number, lane: lane)
  }

  /// Counts a checked attestation.
  package func attested(_ attestation: AuditedAttestation, lane: Int) {
    let (counters, index) = place(of: attestation)
    counters.add(to: index, lane: lane)
  }

  private func place(of attestation: AuditedAttestation) -> (LaneCounters, Int) {
    let type = AttestationType.allCases.firstIndex(of: attestation.type) ?? 0
    return if case .failed(let fault) = attestation.result {
      (attestationFaults[type], AttestationFault.allCases.firstIndex(of: fault) ?? 0)
    } else {
      (attestations[type], AttestationResult.others.firstIndex(of: attestation.result) ?? 0)
    }
  }

  /// How many attestations had this result.
  package func count(of attestation: AuditedAttestation) -> Int {
    let (counters, index) = place(of: attestation)
    return counters.total(index)
  }

  /// The checks since the server started: attestations of each type, and DPoP proofs (`key`). A failed check
  /// refuses the request if the app enforces it, and is only recorded if the app audits it. A proof without a
  /// fresh nonce does not count, because its client retries with one.
  package var trust: [(kind: String, judged: Int, failed: Int)] {
    let attested = AttestationType.allCases.map { type in
      (
        kind: type.rawValue,
        counts: AttestationResult.every.map { ($0 == .passed, count(of: .init(type: type, result: $0))) }
      )
    }
    let proved =
      ProofResult.others.enumerated().map { ($1 == .passed, proofs.total($0)) }
      + ProofFault.allCases.enumerated().filter { $1 != .noNonce && $1 != .wrongNonce }
      .map { (false, proofFaults.total($0.offset)) }
    return (attested + [(kind: "key", counts: proved)]).compactMap { kind, counts in
      let judged = counts.reduce(0) { $0 + $1.1 }
      return judged == 0 ? nil : (kind, judged, counts.reduce(judged) { $0 - ($1.0 ? $1.1 : 0) })
    }
  }

  /// Writes the counters of checked attestations, for servers whose apps use attestation.
  package func appendAttestations(to text: inout MetricsText) {
    text.family(
      "callgate_attestations_total", .counter,
      "Requests whose attestation the server checked, by type, result and reason.")
    for type in AttestationType.allCases {
      let usual = AttestationResult.all(of: type)
      for result in usual + AttestationResult.every.filter({ !usual.contains($0) }) {
        let count = count(of: AuditedAttestation(type: type, result: result))
        // A result that is unexpected for its type is shown only if it was counted.
        guard count > 0 || usual.contains(result) else { continue }
        text.sample(
          [("type", type.rawValue), ("result", result.word), ("reason", result.reason ?? "none")], count)
      }
    }
  }

  /// Counts the result of a DPoP proof, for a caller with a key or an installation that could have one.
  package func proved(_ result: ProofResult, lane: Int) {
    if case .failed(let fault) = result {
      proofFaults.add(to: ProofFault.allCases.firstIndex(of: fault) ?? 0, lane: lane)
    } else {
      proofs.add(to: ProofResult.others.firstIndex(of: result) ?? 0, lane: lane)
    }
  }

  /// Writes the results of DPoP proofs, for servers whose callers may have keys.
  package func appendProofs(to text: inout MetricsText) {
    text.family(
      "callgate_proofs_total", .counter,
      "DPoP proofs that the server checked, by result and reason.")
    for (index, result) in ProofResult.others.enumerated() {
      text.sample([("result", result.word), ("reason", "none")], proofs.total(index))
    }
    for (index, fault) in ProofFault.allCases.enumerated() {
      text.sample(
        [("result", ProofResult.failed(fault).word), ("reason", fault.rawValue)], proofFaults.total(index))
    }
  }

  /// Counts a finished request to another service.
  ///
  /// - Parameters:
  ///   - outcome: One of the upstream's `outcomes`. Any other word counts as `other`.
  ///   - success: When it succeeded; nil if it did not.
  package func asked(_ upstream: Upstream, outcome: String, took duration: Duration, success: UnixTime?) {
    upstreamRequests.count(upstream.rawValue, outcome)
    upstreamDurations.observe(upstream.rawValue, nanoseconds: duration.nanosecondsClamped)
    if let success { upstreamSuccesses.withLock { $0[upstream] = success } }
  }

  /// Shows the series of an upstream from now on, even if nothing was counted yet.
  package func show(_ upstream: Upstream) { shownUpstreams.withLock { _ = $0.insert(upstream) } }

  /// Records when the current configuration was loaded, also for the first one.
  package func configurationLoaded(at time: UnixTime) { loadedAt.store(time.seconds, ordering: .relaxed) }

  package func reloaded(_ isSuccess: Bool) {
    reloads.count(isSuccess ? "ok" : "failed")
    isLastReloadGood.store(isSuccess, ordering: .relaxed)
  }

  // MARK: The operator page

  /// The results of requests to one upstream since the server started.
  package struct UpstreamHealth: Sendable {
    package let name: String
    /// The outcomes that occurred, with their counts.
    package let outcomes: [(name: String, count: Int)]
    package let lastSuccess: UnixTime?
  }

  /// The upstreams that got a request since the server started.
  package var upstreams: [UpstreamHealth] {
    let successes = upstreamSuccesses.withLock { $0 }
    return Upstream.allCases.compactMap { upstream in
      let outcomes = Self.upstreamSeries.filter { $0[0] == upstream.rawValue }.compactMap { series in
        let count = upstreamRequests.total(upstream.rawValue, series[1])
        return count > 0 ? (name: series[1], count: count) : nil
      }
      guard !outcomes.isEmpty else { return nil }
      return UpstreamHealth(name: upstream.rawValue, outcomes: outcomes, lastSuccess: successes[upstream])
    }
  }

  // MARK: The metrics page

  /// Writes the counters of this type, then the added parts.
  package func append(to text: inout MetricsText) {
    requests.appendAnswers(
      "callgate_http_requests_total",
      "Responses by route, method and status, including responses to malformed requests.",
      to: &text)
    requests.appendDurations(
      "callgate_http_request_duration_seconds", "Time from the whole request to its response.", to: &text)
    decisions.appendDecisions(
      "callgate_decisions_total", "Decisions about tokens and callbacks, one per audit line.",
      always: alwaysShown, to: &text)
    decisions.appendObjections(
      "callgate_rule_objections_total", "Requests that a rule in audit mode would have denied.", to: &text)
    tokenCache.append(
      "callgate_token_cache_total", "Token requests by outcome.", to: &text)
    let shown = Set(shownUpstreams.withLock { $0 }.map(\.rawValue))
    upstreamRequests.append(to: &text) { shown.contains($0[0]) }
    upstreamDurations.append(to: &text) { shown.contains($0) }
    let successes = upstreamSuccesses.withLock { $0 }
    text.family(
      "callgate_upstream_last_success_timestamp_seconds", .gauge,
      "Time of the last success.")
    for upstream in Upstream.allCases {
      guard let time = successes[upstream] else { continue }
      text.sample([("upstream", upstream.rawValue)], time.asSeconds)
    }
    callbacks.append(to: &text)
    appointmentLateness.append(to: &text)
    let (opened, closed) = (connections.total(0), connections.total(1))
    text.family("callgate_connections", .gauge, "Open connections of clients.")
    text.sample(max(0, opened - closed))
    text.family("callgate_connections_opened_total", .counter, "Connections of clients accepted so far.")
    text.sample(opened)
    closedForMemory.append(to: &text)
    tlsHandshakes.append(to: &text)
    reloads.append(to: &text)
    text.family(
      "callgate_configuration_last_reload_successful", .gauge,
      "Whether the last reload succeeded; 1 before the first.")
    text.sample(isLastReloadGood.load(ordering: .relaxed) ? 1 : 0)
    text.family(
      "callgate_configuration_last_load_timestamp_seconds", .gauge,
      "When the current configuration was loaded.")
    text.sample(Int(loadedAt.load(ordering: .relaxed)))
    for part in parts.withLock({ $0 }) { part(&text) }
  }

  /// Codes whose series start at 0, because alerts compare their growth.
  private static let codesOfAlerts: Set<String> = [
    "", "unauthenticated", "invalid_token", "internal", "upstream_refused", "upstream_failed",
    "upstream_unavailable", "store_unavailable", "upstream_timeout",
  ]
  /// The codes of the decision series that start at 0, by rule and action.
  private let alwaysShown: [String: [String: Set<String>]]

  private static let upstreamSeries = Upstream.allCases.flatMap { upstream in
    upstream.outcomes.map { [upstream.rawValue, $0] }
  }
}

extension ServiceMetrics.Upstream {
  /// The outcomes of requests to this upstream. Each has a series from the start.
  var outcomes: [String] {
    switch self {
    case .talkdeskID:
      [
        "success", "refused", "rate_limited", "unavailable", "unusable_reply", "timed_out", "unreachable",
        "signing_failed",
      ]
    case .callbackAPI:
      [
        "accepted", "rejected", "unauthorized", "forbidden", "rate_limited", "unavailable", "unreachable",
        "refused", "unknown",
      ]
    case .jwks, .policy, .phoneValidation, .doNotCall:
      ["success", "refused", "failed", "timed_out", "unreachable", "cancelled", "overloaded"]
    case .sendbird:
      [
        "success", "unknown_user", "known_user", "refused", "rate_limited", "unavailable", "failed",
        "unusable_reply", "timed_out", "unreachable",
      ]
    }
  }
}

/// Counts the connections and responses of a server.
package final class ServerCounting: ServerObserver {
  let metrics: ServiceMetrics
  /// Whether to count connections: those of clients count, those of operators do not.
  let countsConnections: Bool

  package init(metrics: ServiceMetrics, countsConnections: Bool) {
    self.metrics = metrics
    self.countsConnections = countsConnections
  }

  func connectionOpened(loop: Int) {
    if countsConnections { metrics.connection(opened: true, loop: loop) }
  }

  func connectionClosed(loop: Int) {
    if countsConnections { metrics.connection(opened: false, loop: loop) }
  }

  func connectionClosed(for reason: MemoryReason, loop: Int) {
    if countsConnections { metrics.closedForMemory.count(reason.rawValue) }
  }

  func answered(_ answer: AnswerReport, loop: Int) { metrics.answered(answer, loop: loop) }
}

extension Problem.Code {
  /// Whether the code reports a failure of this server or of an upstream, rather than a refusal.
  package var isError: Bool { status.code >= 500 }

  /// The index of the code among all codes.
  var number: Int { Self.inOrder.firstIndex(of: self) ?? 0 }

  private static let inOrder = allCases
}

extension TokenCacheOutcome {
  /// The index of the outcome among all outcomes.
  fileprivate var number: Int {
    switch self {
    case .hit: 0
    case .miss: 1
    case .joined: 2
    case .renewal: 3
    case .coolingDown: 4
    case .overloaded: 5
    case .invalidated: 6
    }
  }
}

extension UnixTime {
  /// Seconds since the epoch with a fraction, for timestamp gauges.
  package var asSeconds: Double { Double(seconds) + Double(nanoseconds) / 1e9 }
}

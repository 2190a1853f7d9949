// `GET /metrics`: writes all metrics for Prometheus.

import API
package import Callers
import Deciding
package import Delivery
import Gate
package import HTTP
import Metrics
import Platform
package import Records
package import Store
package import Tokens

/// Writes the page that Prometheus scrapes, from memory of this process only.
package struct MetricsPage: Sendable {
  let metrics: ServiceMetrics
  let tokens: TokenSource
  let stops: StopBoard
  let blocked: BlockedNumbers
  let store: StoreHealth
  let throttle: LoginThrottle
  let brakes: BrakeWatch
  let generations: Generations
  let health: Health
  /// How many log and audit lines were lost.
  let lostLines: @Sendable () -> Int
  /// The maximum number of simultaneous connections of clients.
  let connectionLimit: Int

  package init(
    metrics: ServiceMetrics, tokens: TokenSource, stops: StopBoard, blocked: BlockedNumbers,
    store: StoreHealth,
    throttle: LoginThrottle, brakes: BrakeWatch, generations: Generations, health: Health,
    lostLines: @escaping @Sendable () -> Int, connectionLimit: Int
  ) {
    self.metrics = metrics
    self.tokens = tokens
    self.stops = stops
    self.blocked = blocked
    self.store = store
    self.throttle = throttle
    self.brakes = brakes
    self.generations = generations
    self.health = health
    self.lostLines = lostLines
    self.connectionLimit = connectionLimit
  }

  /// The maximum number of scopes to show. More would make every scrape larger.
  private static let mostScopes = 64

  /// The page as a response.
  package func response() -> Response {
    Response(
      status: .ok, fields: ["Content-Type": MetricsText.contentType, "Cache-Control": "no-store"],
      content: text())
  }

  /// The text of the page.
  func text() -> [UInt8] {
    var text = MetricsText()
    text.family("callgate_build_info", .gauge, "The running version; always 1.")
    text.sample([("version", Version.current)], 1)
    metrics.append(to: &text)
    appendState(to: &text)
    appendBrakes(to: &text)
    appendTokens(to: &text)
    ProcessUsage.now().append(to: &text)
    return text.bytes
  }

  private func appendState(to text: inout MetricsText) {
    text.family("callgate_ready", .gauge, "Whether /readyz returns 200.")
    text.sample(health.word == "fail" ? 0 : 1)
    text.family("callgate_connections_limit", .gauge, "The most connections of clients at once.")
    text.sample(connectionLimit)
    text.family(
      "callgate_configuration_generation", .gauge, "The current configuration, counted from 1 at startup.")
    text.sample(generations.current.number)
    text.family("callgate_store_up", .gauge, "Whether the server can read and write its database.")
    text.sample(store.failure == nil ? 1 : 0)
    text.family(
      "callgate_store_errors_total", .counter, "Failed database operations, by kind of failure.")
    let errors = store.errors
    for kind in StoreError.Kind.allCases { text.sample([("kind", kind.rawValue)], errors[kind] ?? 0) }
    if let ahead = store.clockAhead {
      text.family(
        "callgate_clock_difference_seconds", .gauge,
        "How far this machine's clock is ahead of the database server's; negative if it is behind.")
      text.sample(Double(ahead.nanosecondsClamped) / 1e9)
    }
    text.family("callgate_stops", .gauge, "Stops by operators, by scope.")
    let scopes = stops.stops.list.map(\.target.parts.scope)
    for scope in ["all", "app", "caller"] {
      text.sample([("scope", scope)], scopes.count { $0 == scope })
    }
    text.family("callgate_blocked_numbers", .gauge, "Phone numbers that operators have blocked.")
    text.sample(blocked.count)
    text.family(
      "callgate_logins_throttled_total", .counter,
      "Logins refused with 429, because too many had failed at their address.")
    text.sample(throttle.refusals)
    text.family(
      "callgate_log_lines_lost_total", .counter,
      "Log and audit lines lost because their reader or disk was too slow.")
    text.sample(lostLines())
  }

  private func appendBrakes(to text: inout MetricsText) {
    let policy = generations.current.decider.policy
    text.family(
      "callgate_brake_used_ratio", .gauge,
      "Share of the safety limit in use, from 0 to 1. At 1 the server refuses callbacks.")
    for brake in policy.possibleBrakes {
      guard let ratio = brakes.usedRatio(brake, policy.brakes) else { continue }
      text.sample([("brake", brake.rawValue)], ratio)
    }
  }

  private func appendTokens(to text: inout MetricsText) {
    let status = generations.current.scopes.configured(tokens.status)
    let scopes = status.scopes.prefix(Self.mostScopes)
    text.family(
      "callgate_token_expires_in_seconds", .gauge, "Remaining life of each scope's cached token.")
    for scope in scopes {
      guard let left = scope.expiresIn else { continue }
      text.sample([("scope", scope.scope)], Double(left.nanosecondsClamped) / 1e9)
    }
    text.family(
      "callgate_token_cool_down_seconds", .gauge,
      "Remaining cool-down of each scope after a failure of Talkdesk ID; 0 without one.")
    for scope in scopes {
      text.sample(
        [("scope", scope.scope)], Double(scope.coolDown?.remaining.nanosecondsClamped ?? 0) / 1e9)
    }
    text.family(
      "callgate_credential_info", .gauge,
      "Credentials by role and by Talkdesk ID's last response; always 1.")
    for credential in status.credentials {
      text.sample(
        [
          ("key_id", credential.name), ("role", credential.role.rawValue),
          ("state", credential.state.rawValue),
        ], 1)
    }
  }
}

extension ProcessUsage {
  /// Writes the gauges of the process under the names that Prometheus' own client libraries use.
  fileprivate func append(to text: inout MetricsText) {
    text.family("process_cpu_seconds_total", .counter, "User and system time of this process.")
    text.sample(cpuSeconds)
    text.family("process_resident_memory_bytes", .gauge, "Resident memory.")
    text.sample(residentBytes)
    text.family("process_virtual_memory_bytes", .gauge, "Virtual memory.")
    text.sample(virtualBytes)
    text.family("process_open_fds", .gauge, "Open file descriptors.")
    text.sample(openDescriptors)
    text.family("process_max_fds", .gauge, "The most open file descriptors at once.")
    text.sample(maximumDescriptors)
    text.family("process_start_time_seconds", .gauge, "When this process started.")
    text.sample(startTime)
  }
}

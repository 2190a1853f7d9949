// Keeps the session tokens of all chat desks across reloads, and logs and counts what Sendbird answers.

import ChatDesk
import Configuration
import HTTP
import Metrics
import Platform
import Records
import Synchronization
import Tokens

/// A chat desk as requests are served with it.
struct ServedDesk: Sendable {
  let name: String
  let source: SessionSource
  let userIDs: UserIDForm
}

/// The chat desks' part of what outlives a configuration.
final class ChatDesks: Sendable {
  private struct Entry {
    let applicationID: String
    let url: String
    let source: SessionSource
  }

  /// What happened to requests for session tokens, in the order of their counters.
  private static let outcomes: [TokenCacheOutcome] = [.hit, .miss, .joined, .coolingDown]

  private let transport: any HTTPTransport
  private let metrics: ServiceMetrics
  private let log: Log
  private let clock: any TimeSource
  private let counters: LaneCounters
  private let entries = Mutex<[String: Entry]>([:])

  init(
    transport: any HTTPTransport, metrics: ServiceMetrics, log: Log, clock: any TimeSource, loops: Int
  ) {
    self.transport = transport
    self.metrics = metrics
    self.log = log
    self.clock = clock
    counters = LaneCounters(label: "outcome", words: Self.outcomes.map(\.rawValue), lanes: loops)
  }

  /// Takes a configuration's desks into use, by their names. A desk of the same application keeps its tokens.
  func use(_ configuration: Configuration) -> [String: ServedDesk] {
    entries.withLock { entries in
      var next: [String: Entry] = [:]
      var served: [String: ServedDesk] = [:]
      for desk in configuration.desks {
        let settings = SendbirdSettings(desk, configuration.tokens)
        let source: SessionSource
        if let old = entries[desk.id], old.applicationID == desk.applicationID, old.url == desk.url {
          source = old.source
          source.reconfigure(settings)
        } else {
          source = self.source(desk.id, settings)
        }
        next[desk.id] = Entry(applicationID: desk.applicationID, url: desk.url, source: source)
        served[desk.id] = ServedDesk(name: desk.id, source: source, userIDs: desk.userIDs)
      }
      entries = next
      return served
    }
  }

  /// Forgets the session tokens that are kept. For the sandbox.
  func forgetTokens() {
    let sources = entries.withLock { $0.values.map(\.source) }
    for source in sources { source.forgetTokens() }
  }

  private func source(_ name: String, _ settings: SendbirdSettings) -> SessionSource {
    metrics.show(.sendbird)
    return SessionSource(
      SendbirdAPI(settings, transport: transport, time: clock), time: clock,
      observe: { [weak self] in self?.note($0, name) },
      count: { [counters] outcome, lane in
        counters.add(to: Self.outcomes.firstIndex(of: outcome) ?? 0, lane: lane)
      })
  }

  /// Counts and logs one request to Sendbird: never a token, a user or Sendbird's words.
  private func note(_ report: SendbirdReport, _ name: String) {
    let isSuccess = report.failure == nil
    metrics.asked(
      .sendbird, outcome: report.label, took: report.duration, success: isSuccess ? clock.unixTime : nil)
    let isExpected =
      isSuccess || report.failure?.concern == .unknownUser || report.failure?.concern == .knownUser
    log.write(
      isExpected ? .debug : .warning,
      isExpected ? "Sendbird answered" : "a request to Sendbird failed",
      [
        "desk": name, "purpose": report.purpose.rawValue, "outcome": report.label,
        "error.type": isExpected ? "" : report.label,
        "error.message": isExpected ? "" : report.failure?.cause.words(for: "Sendbird") ?? "",
        "http.response.status_code": report.failure?.cause.status.map { String($0) } ?? "",
        "duration_ms": String(report.duration.nanosecondsClamped / 1_000_000),
      ], trace: report.trace)
  }

  /// Writes the metrics of the desks, if there are any. No label names a user.
  func append(to text: inout MetricsText) {
    let sources = entries.withLock { $0.mapValues(\.source) }.sorted { $0.key < $1.key }
    guard !sources.isEmpty else { return }
    counters.append("callgate_desk_token_cache_total", "Requests for session tokens by outcome.", to: &text)
    let statuses = sources.map { (name: $0.key, status: $0.value.status) }
    text.family("callgate_desk_users", .gauge, "Users whose session tokens the server keeps.")
    for (name, status) in statuses { text.sample([("desk", name)], status.users) }
    text.family(
      "callgate_desk_cool_down_seconds", .gauge,
      "Remaining cool-down after a failure of Sendbird; 0 without one.")
    for (name, status) in statuses {
      text.sample([("desk", name)], Double(status.coolDown?.nanosecondsClamped ?? 0) / 1e9)
    }
  }
}

// Stores the session tokens of all chat desks across reloads, and logs and counts Sendbird's responses.

package import ChatDesk
import Configuration
package import HTTP
package import Metrics
package import Platform
package import Records
import Store
import Synchronization
import Tokens

/// A chat desk as the current configuration serves it.
package struct ServedDesk: Sendable {
  /// The name in the configuration.
  package let name: String
  /// The source of the desk's session tokens.
  package let source: SessionSource
  /// How the desk makes the ids of its users.
  package let userIDs: UserIDForm
  /// The desk's tickets; nil if it has no token for them.
  package let tickets: Tickets?

  /// The source and the counter of a desk's tickets.
  package struct Tickets: Sendable {
    /// Opens tickets.
    package let source: TicketSource
    /// Counts tickets by outcome.
    package let counter: EventCounter
  }
}

/// The chat desks, which outlive a configuration together with their session tokens.
package final class ChatDesks: Sendable {
  private struct Entry {
    let applicationID: String
    let url: String
    let source: SessionSource
    let deskURL: String
    let tickets: TicketSource?
  }

  /// The outcomes of requests for session tokens, in the order of their counters.
  private static let outcomes: [TokenCacheOutcome] = [.hit, .miss, .joined, .coolingDown]

  private let transport: any HTTPTransport
  private let metrics: ServiceMetrics
  private let log: Log
  private let clock: any TimeSource
  private let counters: LaneCounters
  private let tickets = EventCounter(
    "callgate_tickets_total", "Tickets requested from chat desks, by outcome.", labels: ["status"],
    series: [["accepted"], ["failed"], ["unknown"]])
  private let entries = Mutex<[String: Entry]>([:])

  package init(
    transport: any HTTPTransport, metrics: ServiceMetrics, log: Log, clock: any TimeSource, loops: Int
  ) {
    self.transport = transport
    self.metrics = metrics
    self.log = log
    self.clock = clock
    counters = LaneCounters(label: "outcome", words: Self.outcomes.map(\.rawValue), lanes: loops)
  }

  /// Applies the desks of a configuration, and returns them by name. A desk keeps its session tokens if its
  /// name, application and URL are unchanged and its tokens' lifetime did not become shorter.
  func use(_ configuration: Configuration) -> [String: ServedDesk] {
    entries.withLock { entries in
      var next: [String: Entry] = [:]
      var served: [String: ServedDesk] = [:]
      for desk in configuration.desks {
        let settings = SendbirdSettings(desk, configuration.tokens)
        let source: SessionSource
        var tickets: TicketSource?
        if let old = entries[desk.id], old.applicationID == desk.applicationID, old.url == desk.url {
          source = old.source
          source.reconfigure(settings)
          if settings.desk != nil, old.deskURL == desk.deskURL { tickets = old.tickets }
          tickets?.reconfigure(settings)
        } else {
          source = self.source(desk.id, settings)
        }
        if settings.desk != nil, tickets == nil {
          tickets = TicketSource(api(settings), time: clock) { [weak self] in self?.note($0, desk.id) }
        }
        next[desk.id] = Entry(
          applicationID: desk.applicationID, url: desk.url, source: source, deskURL: desk.deskURL,
          tickets: tickets)
        served[desk.id] = ServedDesk(
          name: desk.id, source: source, userIDs: desk.userIDs,
          tickets: tickets.map { ServedDesk.Tickets(source: $0, counter: self.tickets) })
      }
      entries = next
      return served
    }
  }

  /// Logs and counts tickets that became `unknown`: their process has ended or could not write their outcome.
  func recovered(_ count: Int) {
    guard count > 0 else { return }
    log.write(
      .warning, "tickets marked unknown; the server will not resend them",
      ["tickets": count])
    tickets.count(StoredCallback.Status.unknown.rawValue, by: count)
  }

  /// Removes all session tokens. For the sandbox.
  package func forgetTokens() {
    let sources = entries.withLock { $0.values.map(\.source) }
    for source in sources { source.forgetTokens() }
  }

  /// The longest remaining cool-downs of Sendbird's hosts, for sessions and for tickets; nil without one. For
  /// the sandbox.
  package var coolDowns: (sessions: Duration?, tickets: Duration?) {
    let entries = entries.withLock { Array($0.values) }
    return (
      entries.compactMap(\.source.status.coolDown).max(), entries.compactMap { $0.tickets?.coolDown }.max()
    )
  }

  /// Ends all cool-downs. For the sandbox.
  package func endCoolDowns() {
    for entry in entries.withLock({ Array($0.values) }) {
      entry.source.endCoolDowns()
      entry.tickets?.endCoolDowns()
    }
  }

  private func source(_ name: String, _ settings: SendbirdSettings) -> SessionSource {
    metrics.show(.sendbird)
    return SessionSource(
      api(settings), time: clock,
      observe: { [weak self] in self?.note($0, name) },
      count: { [counters] outcome, lane in
        counters.add(to: Self.outcomes.firstIndex(of: outcome) ?? 0, lane: lane)
      })
  }

  private func api(_ settings: SendbirdSettings) -> SendbirdAPI {
    SendbirdAPI(settings, transport: transport, time: clock)
  }

  /// Counts and logs one request to Sendbird. The log never contains a token, a user or Sendbird's own words.
  private func note(_ report: SendbirdReport, _ name: String) {
    let isSuccess = report.failure == nil
    metrics.asked(
      .sendbird, outcome: report.label, took: report.duration, success: isSuccess ? clock.unixTime : nil)
    let isExpected =
      isSuccess || report.failure?.concern == .unknownUser || report.failure?.concern == .knownUser
    if !isExpected { metrics.troubles.began(.desk, name, at: clock.unixTime) }
    log.write(
      isExpected ? .debug : .warning,
      isExpected ? "Sendbird answered" : "a request to Sendbird failed",
      [
        "desk": name, "purpose": report.purpose.rawValue, "outcome": report.label,
        "error.type": isExpected ? "" : report.label,
        "error.message": isExpected ? "" : report.failure?.cause.words(for: "Sendbird") ?? "",
        "http.response.status_code": report.failure?.cause.status,
        "duration_ms": report.duration.nanosecondsClamped / 1_000_000,
      ], trace: report.trace)
  }

  /// Writes the metrics of the desks, if there are any. No label names a user.
  package func append(to text: inout MetricsText) {
    let sources = entries.withLock { $0.mapValues(\.source) }.sorted { $0.key < $1.key }
    guard !sources.isEmpty else { return }
    tickets.append(to: &text)
    counters.append("callgate_desk_token_cache_total", "Requests for session tokens by outcome.", to: &text)
    let statuses = sources.map { (name: $0.key, status: $0.value.status) }
    text.family("callgate_desk_users", .gauge, "Users whose session tokens the server has cached.")
    for (name, status) in statuses { text.sample([("desk", name)], status.users) }
    text.family(
      "callgate_desk_cool_down_seconds", .gauge,
      "Remaining cool-down after a failure of Sendbird; 0 without one.")
    for (name, status) in statuses {
      text.sample([("desk", name)], Double(status.coolDown?.nanosecondsClamped ?? 0) / 1e9)
    }
  }
}

// Measures how much time metrics add to one request, and how long the metrics page takes.

import HTTP
import Metrics
import Platform

/// What counting costs the requests that are counted.
enum MetricsFigures {
  private static let routes = [
    "other", "refused", "/access", "/token/{app}", "/livez", "/readyz", "/metrics",
  ]

  static func measure(seconds: Double) -> [Figure] {
    [
      .nanoseconds("metrics, all that one request counts", rate: request(seconds, rule: nil)),
      .nanoseconds(
        "metrics, all that one request denied by a rule counts", rate: request(seconds, rule: "daily")),
      .perSecond("metrics, pages of seven busy routes", rate: page(seconds)),
    ]
  }

  /// An answer with the clock read for its duration, a decision, and a hit of the token cache, as for each `GET /access`.
  private static func request(_ seconds: Double, rule: String?) -> Double {
    let clock = SystemClock()
    let (requests, decisions, cache) = tables()
    var number = 0
    let rate = Stopwatch.rate(seconds: seconds) {
      number &+= 1
      let lane = number & 1
      let start = clock.now
      decisions.count(action: 0, code: rule == nil ? 0 : 1, rule: rule, lane: lane)
      cache.add(to: 0, lane: lane)
      requests.count(
        route: 2, method: .get, status: rule == nil ? 200 : 429,
        nanoseconds: clock.now.nanoseconds - start.nanoseconds, lane: lane)
    }
    precondition(cache.total(0) == number, "a count was lost")
    return rate
  }

  private static func page(_ seconds: Double) -> Double {
    let (requests, decisions, cache) = tables()
    for route in routes.indices {
      for status in [200, 401, 429, 503] {
        requests.count(route: UInt8(route), method: .get, status: status, nanoseconds: 10_000, lane: 0)
      }
    }
    return Stopwatch.rate(seconds: seconds) {
      var text = MetricsText()
      requests.appendAnswers("requests_total", "Answers.", to: &text)
      requests.appendDurations("request_duration_seconds", "Durations.", to: &text)
      decisions.appendDecisions("decisions_total", "Decisions.", to: &text)
      cache.append("token_cache_total", "Tokens.", to: &text)
      keep(text.bytes.count)
    }
  }

  private static func tables() -> (RequestCounters, DecisionCounters, LaneCounters) {
    let decisions = DecisionCounters(
      actions: ["access", "callback"],
      codes: [.init("", decision: "allow"), .init("quota_exhausted", decision: "deny")], lanes: 2)
    decisions.register(["hours", "daily", "per-caller"])
    return (
      RequestCounters(routes: routes, lanes: 2), decisions,
      LaneCounters(label: "outcome", words: ["hit", "miss"], lanes: 2)
    )
  }
}

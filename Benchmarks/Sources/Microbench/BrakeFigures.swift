// Measures how much time the built-in limits add to a callback decided in memory.

import Delivery
import Gate
import Platform
import Records
import Store

/// What brakes add to a callback in memory.
enum BrakeFigures {
  /// How often the two policies are measured, in turns.
  private static let turns = 5

  static func measure(seconds: Double) throws -> [Figure] {
    [
      try measure(rules, "brakes, on a callback with one more allowance, state in memory", seconds / 2),
      try measure(Array("[]".utf8), "brakes, on a callback without a rule, state in memory", seconds / 2),
    ]
  }

  private static func measure(_ rules: [UInt8], _ label: String, _ seconds: Double) throws -> Figure {
    let most = Brakes(numberPerDay: Brakes.maximum, perFiveMinutes: Brakes.maximum, perHour: Brakes.maximum)
    let policies = try [Brakes.off, most].map { try RuleFigures.policy(rules, brakes: $0) }
    let counts = Counts()
    // Nothing is written while so little of a brake is used.
    let sink = LogSink(lanes: 1) { _ in preconditionFailure("a brake was half used") }
    let log = Log(sink: sink, lane: 0, level: .warning, format: .json, clock: SystemClock())
    let watch = BrakeWatch(log: log, clock: SystemClock())
    let numbers = try (0..<4096).map { try E164("+1415555\(1000 + $0)") }
    var next = 0
    var now = Instant(seconds: 1_795_176_000)
    var differences: [Double] = []
    for _ in 0..<turns {
      let costs = policies.map { policy in
        1e9
          / Stopwatch.rate(seconds: seconds / Double(2 * turns)) {
            now.nanoseconds += 1000
            if now.nanoseconds == 1_000_000_000 { now = Instant(seconds: now.seconds + 1) }
            next = (next + 1) % numbers.count
            // What the gateway does between the request and Talkdesk (Calling+Considering).
            let facts = Facts(
              action: .callback, callerID: "app-users", subject: "ann", installation: nil, appID: "shop",
              address: IPAddress(v4: 0xCB00_7109), phone: numbers[next], claims: [], fields: [], instant: now,
              at: nil, agents: nil, number: nil)
            var evaluation = policy.evaluation(of: facts)
            guard case .decided(let decision) = evaluation.next(PresumedStates()) else {
              preconditionFailure("the benchmark's own request was refused")
            }
            let outcome = counts.take(decision.charges, at: now)
            guard case .granted(let settled, let grant) = decision.settled(outcome, at: now) else {
              preconditionFailure("not every allowance was taken")
            }
            watch.taken(grant.receipts, contact: nil, at: now)
            keep(settled.verdicts.count)
            keep(grant.receipts)
          }
      }
      differences.append(costs[1] - costs[0])
    }
    differences.sort()
    return .microseconds(label, rate: 1e9 / differences[turns / 2])
  }

  /// An allowance that has to be taken anyway.
  private static let rules = Array(
    #"[{"name":"daily","kind":"quota","key":"caller","limit":1000000000,"per":"day"}]"#.utf8)
}

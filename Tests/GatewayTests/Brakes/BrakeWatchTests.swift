// Tests of the warnings and metrics about the built-in limits.

import Gate
import HTTP
import HTTPServer
import JSON
import Platform
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import Gateway
@testable import Records

/// What the log and the metrics say about brakes, by a clock that the tests move.
@Suite struct BrakeWatchTests {
  /// A clock that moves only when a test moves it.
  private final class HandClock: TimeSource {
    private let seconds = Atomic<Int64>(1_795_003_200)  // 2026-11-18T12:00:00Z
    var now: MonotonicTime { MonotonicTime(nanoseconds: 0) }
    var unixTime: UnixTime { UnixTime(seconds: seconds.load(ordering: .relaxed), nanoseconds: 0) }
    func sleep(until: MonotonicTime) async throws {}
    func move(_ span: Int64) { seconds.add(span, ordering: .relaxed) }
  }

  /// Decides on callbacks as the gateway does, and records the warnings.
  private struct Bench {
    let clock = HandClock()
    let output = RunningService.Output()
    let sink: LogSink
    let watch: BrakeWatch
    let policy: Policy
    let ledger: AllowanceLedger

    init(_ brakes: Brakes, store: any Store = memoryStore()) {
      let sink = LogSink(lanes: 1, write: output.write)
      self.sink = sink
      let log = Log(sink: sink, lane: 0, level: .info, format: .json, clock: clock)
      watch = BrakeWatch(log: log, clock: clock)
      policy = Policy(brakes: brakes)
      ledger = AllowanceLedger(store: store)
    }

    /// Requests a callback to the number with these last digits. Returns the receipts; nil if the callback is
    /// refused.
    @discardableResult func call(_ last: Int = 0) async throws -> [AllowanceReceipt]? {
      let digits = String(last)
      let number = try E164("+1415555" + String(repeating: "0", count: 4 - digits.count) + digits)
      let now = Instant(clock.unixTime)
      let facts = Facts(action: .callback, callerID: "a", address: nil, phone: number, instant: now)
      let decision = policy.decide(facts, states: PresumedStates())
      let taking = await ledger.take(decision.charges, at: now)
      switch decision.settled(taking.outcome, at: now) {
      case .granted(_, let grant):
        watch.taken(grant.receipts, contact: number.masked, at: now)
        return grant.receipts
      case .refused(let settled):
        watch.refused(try #require(settled.denial), by: policy.brakes, contact: number.masked, at: now)
        return nil
      }
    }

    /// Each warning's brake, and the end of its message.
    func warnings() throws -> [String] {
      sink.start { _ in [] }
      _ = sink.close(within: .seconds(5))
      return try output.lines().map { line in
        let isFull = line["message"]?.string?.hasPrefix("half") == false
        return "\(line["brake"]?.string ?? "-") \(isFull ? 100 : 50)"
      }
    }

    func ratio(_ brake: Brake) -> Double? { watch.usedRatio(brake, policy.brakes) }
  }

  @Test func `half and all of a brake are said once in its window`() async throws {
    let bench = Bench(Brakes(numberPerDay: 0, perFiveMinutes: 10, perHour: 0))
    for number in 0..<4 { try await bench.call(number) }
    #expect(bench.ratio(.burst) == 0.4 && bench.ratio(.hour) == nil && bench.ratio(.number) == nil)
    for number in 4..<20 { try await bench.call(number) }
    #expect(bench.ratio(.burst) == 1)
    // Within the window, no warning is repeated.
    bench.clock.move(299)
    for number in 20..<40 { try await bench.call(number) }
    // After the window, each warning may come again. A jump past both thresholds logs one line.
    bench.clock.move(301)
    #expect(bench.ratio(.burst) == 0)
    for number in 40..<60 { try await bench.call(number) }
    #expect(
      try bench.warnings() == ["brake-burst 50", "brake-burst 100", "brake-burst 50", "brake-burst 100"])
  }

  @Test func `each brake speaks for itself, and names its figure`() async throws {
    let bench = Bench(Brakes(numberPerDay: 0, perFiveMinutes: 4, perHour: 4))
    for number in 0..<2 { try await bench.call(number) }
    #expect(try bench.warnings() == ["brake-hour 50", "brake-burst 50"])
    let line = try #require(try bench.output.lines().first)
    #expect(line["level"]?.string == "warning" && line["limit"] == 4 && line["per"]?.string == "1h")
  }

  @Test func `a number's brake speaks at most once a minute, and of the masked number`() async throws {
    let bench = Bench(Brakes(numberPerDay: 2, perFiveMinutes: 0, perHour: 0))
    #expect(try await bench.call(1) != nil)
    #expect(try await bench.call(1) != nil, "the last one")
    #expect(try await bench.call(1) == nil)
    for number in 2..<9 { for _ in 0..<3 { try await bench.call(number) } }
    bench.clock.move(60)
    for _ in 0..<3 { try await bench.call(9) }
    #expect(try bench.warnings() == ["brake-number 100", "brake-number 100"])
    let contacts = try bench.output.lines().map { $0["contact"]?.string }
    #expect(contacts == ["+*********01", "+*********09"])
  }

  @Test func `what is given back is no longer in use`() async throws {
    let bench = Bench(Brakes(numberPerDay: 0, perFiveMinutes: 10, perHour: 20))
    var receipts: [[AllowanceReceipt]] = []
    for number in 0..<4 { receipts.append(try #require(try await bench.call(number))) }
    #expect(bench.ratio(.burst) == 0.4 && bench.ratio(.hour) == 0.2)
    for taken in receipts[1...] {
      bench.watch.gaveBack(taken)
      await bench.ledger.giveBack(taken, at: Instant(bench.clock.unixTime))
    }
    #expect(bench.ratio(.burst) == 0.1 && bench.ratio(.hour) == 0.05)
    try await bench.call(5)
    #expect(bench.ratio(.burst) == 0.2)
    // The ratio also falls as time passes.
    bench.clock.move(30)
    #expect(bench.ratio(.burst) == 0.1)
    bench.clock.move(3600)
    #expect(bench.ratio(.burst) == 0 && bench.ratio(.hour) == 0)
  }

  @Test func `what time gave back already is not given back again`() async throws {
    let bench = Bench(Brakes(numberPerDay: 0, perFiveMinutes: 10, perHour: 0))
    let first = try #require(try await bench.call(1))
    bench.clock.move(29)
    try await bench.call(2)
    #expect(bench.ratio(.burst) == 0.2)
    bench.watch.gaveBack(first)
    bench.clock.move(2)
    #expect(bench.ratio(.burst) == 0.1, "of the first a second was left, and the second goes on")
  }

  @Test func `after the sandbox's clock went back nothing is in use`() async throws {
    let bench = Bench(Brakes(numberPerDay: 0, perFiveMinutes: 10, perHour: 10))
    bench.clock.move(600)
    try await bench.call(1)
    bench.clock.move(-600)
    #expect(bench.ratio(.burst) == 1, "until that time comes")
    bench.watch.forget()
    #expect(bench.ratio(.burst) == 0 && bench.ratio(.hour) == 0)
  }

  @Test func `a refusal shows that others have used the brake`() async throws {
    let bench = Bench(Brakes(numberPerDay: 0, perFiveMinutes: 10, perHour: 0))
    let now = Instant(bench.clock.unixTime)
    let denial = Denial(code: .rateLimited, rule: "brake-burst", retryAfter: 1)
    bench.watch.refused(denial, by: bench.policy.brakes, contact: nil, at: now)
    #expect(bench.ratio(.burst) == 1)
    // A refusal by another rule, or by the store's failure, does not count as a brake.
    for other in [
      Denial(code: .rateLimited, rule: "mine"), Denial(code: .storeUnavailable, rule: "brake-hour"),
      Denial(code: .closed, rule: nil),
    ] {
      bench.watch.refused(other, by: Brakes(), contact: nil, at: now)
    }
    #expect(bench.watch.usedRatio(.hour, Brakes()) == 0)
    #expect(try bench.warnings() == ["brake-burst 100"])
  }

  @Test func `after a restart the gauge shows what is kept`() async throws {
    let store = memoryStore()
    let before = Bench(Brakes(numberPerDay: 0, perFiveMinutes: 10, perHour: 20), store: store)
    for number in 0..<5 { try await before.call(number) }
    let after = Bench(before.policy.brakes, store: store)
    #expect(after.ratio(.burst) == 0)
    await after.watch.restore(after.policy, after.ledger)
    #expect(after.ratio(.burst) == 0.5 && after.ratio(.hour) == 0.25)
    let distant = ScriptedStore(sharing: .instances)
    distant.setDown(true)
    let unlucky = Bench(before.policy.brakes, store: distant)
    await unlucky.watch.restore(unlucky.policy, unlucky.ledger)
    #expect(unlucky.ratio(.burst) == 0)
  }

  @Test func `the largest figures are counted, too`() async throws {
    let most = Brakes(numberPerDay: Brakes.maximum, perFiveMinutes: Brakes.maximum, perHour: Brakes.maximum)
    let bench = Bench(most)
    for _ in 0..<3 { #expect(try await bench.call() != nil) }
    let ratios = (try #require(bench.ratio(.burst)), try #require(bench.ratio(.hour)))
    #expect(ratios.0 > 0 && ratios.1 < 0.000_001)
    #expect(try bench.warnings() == [])
  }
}

// Watches how much of the safety limits (brakes) on callbacks and number lookups is used: logs a warning when
// half of a limit, or all of it, is used, and feeds a gauge.

package import Gate
package import Platform
package import Records
package import Store
import Synchronization

/// Tracks the use of the brakes in this instance. The watch outlives configurations, and uses no lock.
package final class BrakeWatch: Sendable {
  /// The state of one brake. Times are nanoseconds since the epoch; 0 means none.
  private final class Gauge: Sendable {
    /// The time at which a rate will be entirely unused again, as this instance last saw it in the store.
    /// Refusals and returned allowances change it in between.
    let earned = Atomic<Int64>(0)
    /// The times of the last log lines for half of the limit and for the full limit.
    let halfLoggedAt = Atomic<Int64>(0)
    let fullLoggedAt = Atomic<Int64>(0)
  }

  private let number = Gauge()
  private let burst = Gauge()
  private let hour = Gauge()
  private let lookups = Gauge()
  private let log: Log
  private let clock: any TimeSource

  /// Creates a watch that has seen no callbacks.
  package init(log: Log, clock: any TimeSource) {
    self.log = log
    self.clock = clock
  }

  private func gauge(_ brake: Brake) -> Gauge {
    switch brake {
    case .number: number
    case .burst: burst
    case .hour: hour
    case .lookups: lookups
    }
  }

  // MARK: Use

  /// Reads the current use from the store, to include the time before a restart and other instances.
  package func restore(_ policy: Policy, _ ledger: AllowanceLedger) async {
    let charges = policy.sharedBrakes
    guard !charges.isEmpty else { return }
    do throws(StoreError) {
      let states = try await ledger.states(of: charges)
      for charge in charges {
        guard let brake = charge.brake, case .state(let state) = states.lookup(charge.key) else { continue }
        gauge(brake).earned.max(state.mark, ordering: .relaxed)
      }
    } catch {
      // The first callback also shows the use.
    }
  }

  /// Updates the gauges after a callback or a number lookup used allowances, including those of brakes.
  /// - Parameter contact: The number to call, masked; nil for a lookup.
  @inline(__always) package func taken(_ receipts: [AllowanceReceipt], contact: String?, at now: Instant) {
    for receipt in receipts.reversed() {
      // Brakes come last.
      guard let brake = receipt.brake else { return }
      let limit = receipt.plan.full
      switch receipt.plan {
      case .quota:
        if receipt.taken.count >= limit { logExhaustedNumber(limit, contact, at: now.nanosecondsSinceEpoch) }
      case .rate:
        let gauge = gauge(brake)
        gauge.earned.max(receipt.taken.mark, ordering: .relaxed)
        // The store checked the limit after the request arrived. At the earlier time, more would seem to be
        // used.
        let time = max(now, Instant(clock.unixTime)).nanosecondsSinceEpoch
        let used = Self.used(until: receipt.taken.mark, at: time, brake, limit)
        if used * 2 >= limit { logUsage(brake, gauge, isFull: used >= limit, limit, at: time) }
      }
    }
  }

  /// Updates the gauges after allowances were given back. Subtracts only what has not been earned back over
  /// time.
  package func gaveBack(_ receipts: [AllowanceReceipt]) {
    let time = Instant(clock.unixTime).nanosecondsSinceEpoch
    for receipt in receipts {
      guard let brake = receipt.brake, case .rate(let rate) = receipt.plan else { continue }
      let rest = receipt.taken.mark - max(receipt.taken.mark - rate.per / rate.limit, time)
      if rest > 0 { gauge(brake).earned.subtract(rest, ordering: .relaxed) }
    }
  }

  /// Updates the gauges after a callback was refused, perhaps by a brake.
  package func refused(_ denial: Denial, by brakes: Brakes, contact: String?, at now: Instant) {
    guard denial.code == .rateLimited || denial.code == .quotaExhausted,
      let brake = Brake.allCases.first(where: { $0.ruleName == denial.rule })
    else { return }
    let limit = brakes[brake]
    let time = now.nanosecondsSinceEpoch
    guard brake != .number else { return logExhaustedNumber(limit, contact, at: time) }
    let gauge = gauge(brake)
    // Other instances may have used more than this instance has seen. No further request fits, so count the
    // limit as full.
    let least = time.addingClamped(brake.nanoseconds &- brake.nanoseconds / limit &+ 1)
    gauge.earned.max(least, ordering: .relaxed)
    logUsage(brake, gauge, isFull: true, limit, at: time)
  }

  /// Resets the gauges. The sandbox's clock was set back, and the ledger forgot what was used at later times.
  package func forget() {
    for brake in Brake.allCases { gauge(brake).earned.store(0, ordering: .relaxed) }
  }

  // MARK: For the gauge

  /// The share of a brake that is in use, from 0 to 1; nil if the brake is off, and for the brake on each
  /// number.
  package func usedRatio(_ brake: Brake, _ brakes: Brakes) -> Double? {
    let limit = brakes[brake]
    guard limit > 0, brake != .number else { return nil }
    let used = Self.used(
      until: gauge(brake).earned.load(ordering: .relaxed),
      at: Instant(clock.unixTime).nanosecondsSinceEpoch, brake, limit)
    return Double(min(used, limit)) / Double(limit)
  }

  /// The number of callbacks or lookups in use. One whose share is partly earned back still counts.
  private static func used(until earned: Int64, at time: Int64, _ brake: Brake, _ limit: Int64) -> Int64 {
    let span = brake.nanoseconds
    let rest = min(max(earned - time, 0), span)
    guard rest > 0 else { return 0 }
    // rest × limit / span, rounded up: at most 3.6 × 10¹² times 10⁹.
    let (high, low) = rest.multipliedFullWidth(by: limit)
    let (quotient, remainder) = span.dividingFullWidth((high, low))
    return quotient + (remainder > 0 ? 1 : 0)
  }

  // MARK: Log lines

  private func logUsage(_ brake: Brake, _ gauge: Gauge, isFull: Bool, _ limit: Int64, at time: Int64) {
    let isDue =
      isFull
      ? Self.isDue(gauge.fullLoggedAt, within: brake.nanoseconds, at: time)
      : Self.isDue(gauge.halfLoggedAt, within: brake.nanoseconds, at: time)
    guard isDue else { return }
    // Skip the line for half, because it would say less.
    if isFull { gauge.halfLoggedAt.store(time, ordering: .relaxed) }
    log.write(
      .warning,
      isFull
        ? "a safety limit has been reached: the server refuses further \(brake == .lookups ? "lookups of numbers" : "callbacks")"
        : "half of a safety limit has been used",
      ["brake": brake.ruleName, "limit": limit, "per": brake.period])
  }

  private func logExhaustedNumber(_ limit: Int64, _ contact: String?, at time: Int64) {
    guard Self.isDue(number.fullLoggedAt, within: 60_000_000_000, at: time) else { return }
    log.write(
      .warning, "a number has reached its daily limit of callbacks: the server refuses more",
      [
        "brake": Brake.number.ruleName, "limit": limit, "per": Brake.number.period,
        "contact": contact ?? "",
      ])
  }

  /// Whether a line may be written again; if so, records the time. Also true after the clock was set back.
  private static func isDue(_ lastLogged: borrowing Atomic<Int64>, within span: Int64, at time: Int64) -> Bool
  {
    let last = lastLogged.load(ordering: .relaxed)
    guard last == 0 || time < last || time - last >= span else { return false }
    return lastLogged.compareExchange(expected: last, desired: time, ordering: .relaxed).exchanged
  }
}

extension Brake {
  /// The period of the limit, in nanoseconds.
  fileprivate var nanoseconds: Int64 { seconds.multipliedClamped(by: 1_000_000_000) }

  /// The period as logs show it.
  fileprivate var period: String {
    switch self {
    case .number: "day"
    case .burst: "5m"
    case .hour, .lookups: "1h"
    }
  }
}

extension Log {
  /// Logs which brakes are switched off.
  package func write(brakesOf policy: Policy) {
    let off = policy.possibleBrakes.filter { policy.brakes[$0] == 0 }.map(\.ruleName)
    guard !off.isEmpty else { return }
    write(
      .warning, "these safety limits are switched off",
      ["brakes": off.joined(separator: ", ")])
  }
}

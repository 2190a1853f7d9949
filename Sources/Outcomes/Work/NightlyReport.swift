// Asks for the report of calls once a night, and finds the callbacks of its calls.

package import Gate
package import Platform
package import Records
package import Store
import Synchronization

/// The report of calls as the second source of outcomes: it has what events did not tell, and what died with a process.
///
/// One instance asks for it each night. Where it fails, it is tried again in the same night.
package final class NightlyReport: Sendable {
  /// Why there is no report, in words for operators.
  package struct Failure: Error, Sendable {
    let words: String

    package init(_ words: String) { self.words = words }
  }

  /// Gets the report of a span, and hands its octets on; false ends it.
  package typealias Fetch =
    @Sendable (_ from: Instant, _ to: Instant, _ take: @escaping @Sendable ([UInt8]) -> Bool)
    async throws(Failure)
    -> Void

  /// How often the time is looked at.
  private static let interval = Duration.seconds(5)
  /// Instances begin within this time, so that one that has no access to Talkdesk is not always the first.
  private static let spread = Duration.seconds(10)
  /// The pauses between tries.
  private static let pauses: [Duration] = [.seconds(600), .seconds(1800), .seconds(3600)]
  /// How many calls of a report are matched. Further ones are left out.
  static let mostCalls = 500_000

  private let desk: OutcomeDesk
  private let ledger: AllowanceLedger
  private let clock: any TimeSource
  private let log: Log
  private let settings: @Sendable () -> OutcomeSettings?
  private let fetch: Fetch

  /// A job that has not begun.
  package init(
    _ desk: OutcomeDesk, _ ledger: AllowanceLedger, clock: any TimeSource, log: Log,
    settings: @escaping @Sendable () -> OutcomeSettings?, fetch: @escaping Fetch
  ) {
    self.desk = desk
    self.ledger = ledger
    self.clock = clock
    self.log = log
    self.settings = settings
    self.fetch = fetch
  }

  private var now: Instant { Instant(clock.unixTime) }

  /// Works until the task is cancelled.
  package func run() async {
    var due: (time: Instant, settings: ReportSettings)?
    while await clock.hasSlept(until: clock.now + Self.interval) {
      guard let wanted = settings()?.report else {
        due = nil
        continue
      }
      guard let current = due, current.settings == wanted else {
        due = wanted.next(after: now).map { ($0, wanted) }
        if let due { log.write(.info, "the next report of calls is due", ["at": due.time.rfc3339]) }
        continue
      }
      guard now >= current.time else { continue }
      due = nil
      guard await clock.hasSlept(until: clock.now + Self.spread * .random(in: 0..<1)) else { return }
      await report(until: current.time, wanted)
    }
  }

  /// The report of the 24 hours before a time, unless another instance has it.
  private func report(until end: Instant, _ report: ReportSettings) async {
    for attempt in 0...Self.pauses.count {
      // It counts for its own day: a try after midnight must not take the next night's.
      let taking = await ledger.take([ReportLimit.charge(in: report.zone)], at: end)
      guard case .taken(let receipts) = taking.outcome else {
        if case .refused = taking.outcome { return }
        guard await pauses(attempt) else { return }
        continue
      }
      do throws(Failure) {
        return try await work(from: end.advanced(by: .seconds(-86_400)), to: end)
      } catch {
        await ledger.giveBack(receipts, at: end)
        log.write(
          .warning, "the report of calls failed", ["detail": error.words, "try": attempt + 1])
        guard await pauses(attempt) else { return }
      }
    }
  }

  private func pauses(_ attempt: Int) async -> Bool {
    guard attempt < Self.pauses.count else { return false }
    return await clock.hasSlept(until: clock.now + Self.pauses[attempt])
  }

  /// What is saved of a report while it arrives.
  private struct Arrival: Sendable {
    var entries = ReportEntries()
    var fault: ReportEntries.Fault?
    var calls: [EndedCall] = []
    var count = 0
  }

  private func work(from start: Instant, to end: Instant) async throws(Failure) {
    guard let settings = settings() else { return }
    let arrival = Mutex(Arrival())
    let now = now
    do throws(Failure) {
      try await fetch(start, end) { bytes in
        arrival.withLock { arrival in
          do throws(ReportEntries.Fault) {
            for entry in try arrival.entries.take(bytes) {
              arrival.count += 1
              guard arrival.calls.count < Self.mostCalls else { continue }
              if let call = CallEvent.reported(entry, by: settings, at: now) { arrival.calls.append(call) }
            }
            return true
          } catch {
            arrival.fault = error
            return false
          }
        }
      }
    } catch {
      switch arrival.withLock({ $0.fault }) {
      case .tooLarge: throw Failure("it is larger than \(ReportEntries.mostReportBytes >> 20) MiB")
      case .malformed: throw Failure("it is not as documented")
      case nil: throw error
      }
    }
    let found = arrival.withLock { $0 }
    let matched = await desk.take(reported: found.calls)
    log.write(
      .info, "the report of calls was read", ["calls": found.count, "outcomes": matched])
    guard found.entries.isWhole else { throw Failure("it broke off") }
  }
}

// Requests the report of calls once a night, and matches its calls to callbacks.

package import Gate
package import HTTP
package import Platform
package import Records
package import Store

/// The nightly report of calls, the second source of outcomes. It also contains calls whose events never
/// arrived, and calls that were lost when a process ended.
///
/// One instance requests the report each night (`ReportTurn`). Calls are matched while the report downloads,
/// so memory use does not grow with the report's size.
package final class NightlyReport: Sendable {
  /// The reason why there is no report, in words for operators.
  package struct Failure: Error, Sendable {
    let words: String

    package init(_ words: String) { self.words = words }
  }

  /// Downloads the report of a time span, and passes its octets to `take`, which returns false to end the
  /// download. `hold` pauses the download.
  package typealias Fetch =
    @Sendable (
      _ from: Instant, _ to: Instant, _ hold: ContentHold, _ take: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(Failure) -> Void

  /// The average time between two checks of the clock. It varies, so that an instance without access to
  /// Talkdesk is not always the first.
  private static let interval = Duration.seconds(5)
  /// The maximum number of calls that match several callbacks and wait for another attempt. Further calls are
  /// left out.
  static let mostOpen = 10_000

  private let desk: OutcomeDesk
  private let store: any ReportStore
  private let isClockRight: @Sendable () -> Bool
  private let clock: any TimeSource
  private let log: Log
  private let settings: @Sendable () -> OutcomeSettings?
  private let fetch: Fetch
  private let mostBytes: Int
  /// The name of this instance in the shared state.
  private let holder = String(UInt64.random(in: .min ... .max), radix: 16)

  /// Creates a job that does nothing before `run`.
  ///
  /// - Parameters:
  ///   - isClockRight: Whether this process may decide by its clock (`StoreHealth.isClockRight`). If not, it
  ///     leaves the report to others.
  ///   - mostBytes: The maximum size of a report, in octets.
  package init(
    _ desk: OutcomeDesk, _ store: any ReportStore, clock: any TimeSource, log: Log,
    isClockRight: @escaping @Sendable () -> Bool, settings: @escaping @Sendable () -> OutcomeSettings?,
    mostBytes: Int = ReportEntries.mostReportBytes, fetch: @escaping Fetch
  ) {
    self.desk = desk
    self.store = store
    self.isClockRight = isClockRight
    self.clock = clock
    self.log = log
    self.settings = settings
    self.mostBytes = mostBytes
    self.fetch = fetch
  }

  private var now: Instant { Instant(clock.unixTime) }

  /// Requests each report when it is due, until the task is canceled.
  package func run() async {
    var announced: Instant?
    /// The last time at which a report was due, if nothing is left to do about it.
    var over: Instant?
    repeat {
      guard let report = settings()?.report else {
        (announced, over) = (nil, nil)
        continue
      }
      let next = report.next(after: now)
      if let next, next != announced {
        log.write(.info, "the next report of calls is due", ["at": next.rfc3339])
      }
      announced = next
      guard let due = report.last(by: now), due != over, isClockRight() else { continue }
      if await look(due) { over = due }
    } while await clock.hasSlept(until: clock.now + Self.interval * .random(in: 0.5..<1.5))
  }

  /// Ends the lease of this instance, so that another one can request the report. Call this after `run`.
  package func end() async {
    do throws(StoreError) {
      try await store.updateReport { [holder] in (ReportTurn.released($0, as: holder), ()) }
    } catch {
      // The lease expires.
    }
  }

  /// Requests the report that was due last, if it is this instance's turn.
  ///
  /// - Returns: Whether nothing is left to do.
  private func look(_ due: Instant) async -> Bool {
    let turn: ReportTurn
    do throws(StoreError) {
      turn = try await store.updateReport { [now, holder] in
        ReportTurn.next($0, due: due, at: now, as: holder)
      }
    } catch {
      // The store's health shows the failure. If the lease was saved nevertheless, the next check finds it.
      return false
    }
    switch turn {
    case .rests: return true
    case .waits: return false
    case .asks(let start, let end, let failed): return await report(from: start, to: end, failed: failed)
    }
  }

  private func report(from start: Instant, to end: Instant, failed: Int) async -> Bool {
    do throws(Failure) {
      try await work(from: start, to: end)
    } catch {
      guard !Task.isCancelled else { return false }
      log.write(
        .warning, "the report of calls failed", ["detail": error.words, "try": failed.addingClamped(1)])
      // With a wrong clock, the pause would start at a wrong time.
      guard isClockRight() else {
        await self.end()
        return false
      }
      await save { [now, holder] in ReportTurn.failed($0, to: end, at: now, as: holder) }
      return false
    }
    await save { [holder] in ReportTurn.read($0, to: end, as: holder) }
    return true
  }

  /// Saves the result of an attempt, and repeats that for the time of the lease while the store fails. An
  /// unsaved result would mean another request for the same report after the lease, which costs much and
  /// changes nothing.
  private func save(_ change: @escaping @Sendable (ReportState?) -> ReportState?) async {
    let last = clock.now + ReportTurn.lease
    repeat {
      do throws(StoreError) { return try await store.updateReport { (change($0), ()) } } catch {}
    } while await clock.hasSlept(until: clock.now + Self.interval) && clock.now < last
  }

  // MARK: One report

  private func work(from start: Instant, to end: Instant) async throws(Failure) {
    guard let settings = settings() else { throw Failure("it is no longer configured") }
    let feed = ReportFeed(settings, at: now, most: mostBytes)
    async let fetched = fetched(feed, from: start, to: end)
    var known = 0
    var open: [EndedCall] = []
    for await calls in feed.calls {
      let matched = await desk.match(reported: calls)
      known = known.addingClamped(matched.known)
      let room = matched.several.prefix(Self.mostOpen - open.count)
      open += room
      desk.leaveAmbiguous(matched.several.count - room.count)
      feed.matched(calls.count)
    }
    let failure = await fetched
    known = known.addingClamped(await settle(open, known: known))
    guard !Task.isCancelled else { throw Failure("cancelled") }
    log.write(.info, "the report of calls was read", ["calls": feed.count, "outcomes": known])
    switch feed.fault {
    case .malformed: throw Failure("it is not as documented")
    case .tooLarge:
      // Another attempt would stop at the same point.
      log.write(
        .error, "the report of calls is too large: the rest of it was not read",
        ["detail": "it is larger than \(mostBytes >> 20) MiB"])
    case nil:
      if let failure { throw failure }
      guard feed.isWhole else { throw Failure("it broke off") }
    }
  }

  private func fetched(_ feed: ReportFeed, from start: Instant, to end: Instant) async -> Failure? {
    defer { feed.end() }
    do throws(Failure) {
      try await fetch(start, end, feed.hold) { feed.take($0) }
      return nil
    } catch {
      return error
    }
  }

  /// Tries calls again that match several callbacks. Once one call has its callback, only one may be left for
  /// another call.
  ///
  /// - Parameter known: The number of outcomes from all other calls.
  /// - Returns: The number of further outcomes.
  private func settle(_ open: [EndedCall], known: Int) async -> Int {
    var open = open
    var (more, last) = (0, known)
    while last > 0, !open.isEmpty, !Task.isCancelled {
      let matched = await desk.match(reported: open)
      last = matched.known
      more = more.addingClamped(last)
      open = matched.several
    }
    desk.leaveAmbiguous(open.count)
    return more
  }
}

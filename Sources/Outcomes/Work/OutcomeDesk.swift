// Processes Talkdesk's events after they were acknowledged.

import API
import Gate
package import HTTPServer
import Installations
package import Platform
package import Records
package import Store
import Synchronization

/// The request that delivered an event to the webhook, or the arrival of calls from a report.
package struct HookedEvent: Sendable {
  /// The ID of the request that delivered the event; a new ID for calls from a report.
  package let requestID: RequestID
  package let address: IPAddress?
  package let received: MonotonicTime

  package init(requestID: RequestID, address: IPAddress?, received: MonotonicTime) {
    self.requestID = requestID
    self.address = address
    self.received = received
  }
}

/// Accepts events at once, and matches them to callbacks afterwards. Waiting events are lost when the process
/// ends.
package final class OutcomeDesk: Sendable {
  /// The maximum number of waiting events.
  package static let mostWaiting = 1000
  /// The number of events that are matched at the same time, so that a store commits several together.
  private static let together = 32
  /// The time between two checks for calls to try again.
  private static let interval = Duration.milliseconds(500)
  /// The pauses between attempts while the store fails.
  private static let pauses: [Duration] = [.milliseconds(100), .milliseconds(500), .seconds(2), .seconds(5)]

  private struct Waiting: Sendable {
    let content: [UInt8]
    let hook: HookSecret
    let event: HookedEvent
  }

  private let store: any OutcomeStore
  private let clock: any TimeSource
  private let audit: AuditLog
  private let log: Log
  private let settings: @Sendable () -> OutcomeSettings?
  private let onOutcome: @Sendable (StoredCallback) -> Void
  package let metrics = OutcomeMetrics()
  private let kept = Mutex(KeptCalls())
  private let stream: AsyncStream<Waiting>
  private let queue: AsyncStream<Waiting>.Continuation

  /// - Parameters:
  ///   - settings: The current settings; nil if outcomes are off.
  ///   - onOutcome: Called with each record that now has an outcome.
  package init(
    store: any OutcomeStore, clock: any TimeSource, audit: AuditLog, log: Log,
    settings: @escaping @Sendable () -> OutcomeSettings?,
    onOutcome: @escaping @Sendable (StoredCallback) -> Void
  ) {
    self.store = store
    self.clock = clock
    self.audit = audit
    self.log = log
    self.settings = settings
    self.onOutcome = onOutcome
    (stream, queue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostWaiting))
  }

  /// Accepts the body of a request to a webhook.
  ///
  /// - Returns: False if too many events wait.
  package func take(_ content: [UInt8], by hook: HookSecret, _ event: HookedEvent) -> Bool {
    if case .dropped = queue.yield(Waiting(content: content, hook: hook, event: event)) { return false }
    return true
  }

  /// Matches waiting events to callbacks until the task is canceled.
  package func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.workOff() }
      group.addTask { await self.tryAgain() }
    }
  }

  private func workOff() async {
    await withTaskGroup(of: Void.self) { group in
      var running = 0
      for await waiting in stream {
        if running == Self.together {
          await group.next()
          running -= 1
        }
        running += 1
        group.addTask { await self.work(waiting) }
      }
    }
  }

  private func work(_ waiting: Waiting) async {
    guard let settings = settings() else { return }
    guard let event = CallEvent(parsing: waiting.content), event.hasToken(of: waiting.hook),
      let call = event.ended(by: settings, at: Instant(clock.unixTime))
    else {
      return metrics.count(.ignored)
    }
    await match(KeptCalls.Entry(call: call, event: waiting.event), within: settings.window)
  }

  /// Tries the calls again that did not match exactly one callback.
  private func tryAgain() async {
    while await clock.hasSlept(until: clock.now + Self.interval) {
      let due = kept.withLock { [now = clock.now] in $0.takeDue(at: now) }
      guard !due.isEmpty, let settings = settings() else { continue }
      await withTaskGroup(of: Void.self) { group in
        for (index, entry) in due.enumerated() {
          if index >= Self.together { await group.next() }
          group.addTask { await self.match(entry, within: settings.window) }
        }
      }
    }
  }

  /// Matches a call to its callback, or saves the call for another attempt.
  private func match(_ entry: KeptCalls.Entry, within window: CallWindow) async {
    if let (match, isInDoubt) = await conclude(entry, within: window) {
      finish(entry, match, isInDoubt: isInDoubt)
    }
  }

  /// Matches calls of a report to callbacks.
  ///
  /// - Returns: The number of outcomes found, and the calls that match several callbacks.
  func match(reported calls: [EndedCall]) async -> (known: Int, several: [EndedCall]) {
    guard let window = settings()?.window else { return (0, []) }
    let event = HookedEvent(requestID: RequestID(), address: nil, received: clock.now)
    var open = calls[...]
    var known = 0
    var several: [EndedCall] = []
    while !open.isEmpty, !Task.isCancelled {
      let some = open.prefix(Self.together)
      open = open.dropFirst(some.count)
      await withTaskGroup(of: (EndedCall, CallMatch, Bool)?.self) { group in
        for call in some {
          group.addTask {
            await self.conclude(KeptCalls.Entry(call: call, event: event), within: window)
              .map { (call, $0.match, $0.isInDoubt) }
          }
        }
        for await result in group {
          switch result {
          case (let call, .set(let record), _)?, (let call, .known(let record), true)?:
            told(record, by: KeptCalls.Entry(call: call, event: event))
            known = known.addingClamped(1)
          case (let call, .several, _)?: several.append(call)
          case (_, .known, false)?, (_, .none, _)?, (_, .pending, _)?, nil: break
          }
        }
      }
    }
    return (known, several)
  }

  /// Counts calls of a report that match several callbacks and are not tried again.
  func leaveAmbiguous(_ count: Int) { metrics.count(.ambiguous, by: count) }

  /// Calls the store until it succeeds. Events in the queue wait while 32 others do so.
  ///
  /// - Returns: The result, and whether an earlier attempt may have set the outcome; nil if the task was
  ///   canceled.
  private func conclude(
    _ entry: KeptCalls.Entry, within window: CallWindow
  ) async -> (match: CallMatch, isInDoubt: Bool)? {
    var isInDoubt = false
    var pauses = Self.pauses[...]
    while !Task.isCancelled {
      do throws(StoreError) {
        let match = try await store.conclude(
          entry.call, within: window, at: Instant(clock.unixTime))
        return (match, isInDoubt)
      } catch {
        if error.isInDoubt { isInDoubt = true }
        if pauses.count == Self.pauses.count {
          log.write(
            .warning, "the database failed, so the outcome of a call will be saved later",
            ["request_id": "\(entry.event.requestID)", "detail": "\(error)"])
        }
      }
      let pause = pauses.first ?? .seconds(5)
      if pauses.count > 1 { pauses.removeFirst() }
      guard await clock.hasSlept(until: clock.now + pause) else { return nil }
    }
    return nil
  }

  /// - Parameter isInDoubt: Whether an earlier attempt may have set the outcome.
  private func finish(_ entry: KeptCalls.Entry, _ match: CallMatch, isInDoubt: Bool) {
    let isFirst = entry.tries == 0
    switch match {
    case .set(let record): told(record, by: entry)
    case .known(let record):
      if isInDoubt { told(record, by: entry) } else if isFirst { metrics.count(.ignored) }
      return
    case .none, .pending:
      if isFirst { metrics.count(.unmatched) }
      kept.withLock { $0.keep(entry) }
    case .several:
      if isFirst { metrics.count(.ambiguous) }
      kept.withLock { $0.keep(entry) }
    }
  }

  private func told(_ record: StoredCallback, by entry: KeptCalls.Entry) {
    metrics.count(.matched)
    let outcome = entry.call.outcome
    metrics.told(outcome, after: Instant(clock.unixTime) - outcome.at)
    onOutcome(record)
    var line = AuditRecord(
      action: .outcome, requestID: entry.event.requestID, address: entry.event.address)
    line.outcome = nil
    line.caller = AuditedCaller(of: record)
    line.app = record.appID
    line.contact = record.contact
    line.callback = record.id.description
    line.reason = outcome.state.rawValue
    audit.append(line, since: entry.event.received, lane: 0)
  }
}

// The queue behind `SessionQueue`, for all types of sessions. It refuses work that would wait too long.

import Dispatch
import Gate
import Platform
import Synchronization

/// The part of `SessionQueue` that is the same for all types of sessions. Here, a session is an index.
///
/// Unlike `SessionQueue`, this class is not generic: generic code would ask the runtime for the type of each
/// entry and each state, for every operation.
final class WorkQueue: Sendable {
  struct Call: Sendable {
    let effect: StoreHealth.Effect
    /// Whether the call runs even while the store does not respond, unless a session hangs.
    let isProbe: Bool
    /// Whether the call may take any time in a session without deadlines.
    var mayTakeLong = false
    /// Runs the call in a session. `onEnd` gets the error, or nil for success, before the caller gets the
    /// result.
    let body: @Sendable (_ session: Int, _ onEnd: (StoreError?) -> Void) -> Void
    let fail: @Sendable (StoreError) -> Void
  }

  /// Indirect, because entries are copied often, and a change of a callback has several hundred octets.
  indirect enum Work: Sendable {
    case update(UpdateJob)
    case call(Call)
  }

  private struct Entry: Sendable {
    var work: Work
    var since: MonotonicTime

    /// Whether the entry only changes allowances. Such updates are committed together, and not with updates
    /// that wait for the disk.
    var counts: Bool { if case .update(let job) = work { job.counts } else { false } }
    var isProbe: Bool { if case .call(let call) = work { call.isProbe } else { false } }
    var mayTakeLong: Bool { if case .call(let call) = work { call.mayTakeLong } else { false } }
    var effect: StoreHealth.Effect { if case .call(let call) = work { call.effect } else { .updates } }
  }

  private struct State: Sendable {
    var waiting: [Entry] = []
    /// The indices of sessions without work. The last one gets the next work.
    var idle: [Int]
    /// The work that the session without deadlines is running and that has no result yet.
    var running: [Entry] = []
    /// Whether a caller has got an error because this session takes too long.
    var isHanging = false
    var isClosed = false
    var isWatched = false
  }

  /// The next step for a new entry.
  private enum Next: Sendable {
    case wake(Int)
    case wait
    case refuse(StoreError)
  }

  /// The maximum number of updates in one transaction.
  private static let mostTogether = 256
  /// The maximum number of waiting entries.
  private static let mostWaiting = 16_384
  /// The queues of the sessions, by index.
  private let queues: [DispatchQueue]
  private let updateAll: @Sendable (_ session: Int, [UpdateJob]) throws(StoreError) -> Void
  private let state: Mutex<State>
  private let clock: any TimeSource
  private let health: StoreHealth
  /// The time limit of work. Late work fails after at most a fifth more than this.
  private let patience: Duration
  private let hasDeadlines: Bool

  /// - Parameters:
  ///   - hasDeadlines: Whether sessions end slow work themselves.
  ///   - updateAll: Commits jobs in a session, on the session's queue.
  init(
    _ queues: [DispatchQueue], patience: Duration, hasDeadlines: Bool, health: StoreHealth,
    clock: any TimeSource,
    updateAll: @escaping @Sendable (_ session: Int, [UpdateJob]) throws(StoreError) -> Void
  ) {
    self.queues = queues
    self.patience = patience
    self.hasDeadlines = hasDeadlines
    self.health = health
    self.clock = clock
    self.updateAll = updateAll
    state = Mutex(State(idle: Array(queues.indices.reversed())))
  }

  /// The number of entries that wait for a session.
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// The number of sessions without work.
  var idle: Int { state.withLock { $0.idle.count } }

  /// Finishes running work and closes every session on its queue. Waiting and new work fails. A session that
  /// hangs stays open until the process ends.
  func close(_ closeSession: @escaping @Sendable (Int) -> Void) async {
    let (dropped, isHanging) = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return (state.waiting, state.isHanging)
    }
    refuse(dropped, Self.closed)
    let group = DispatchGroup()
    for (index, queue) in queues.enumerated() { queue.async(group: group) { closeSession(index) } }
    guard !isHanging else { return }
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let hasReturned = Atomic(false)
      let resume: @Sendable () -> Void = {
        if !hasReturned.exchange(true, ordering: .acquiringAndReleasing) { continuation.resume() }
      }
      let others = DispatchQueue.global(qos: .utility)
      group.notify(queue: others, execute: resume)
      others.asyncAfter(deadline: .now() + seconds(patience * 3), execute: resume)
    }
  }

  private static var closed: StoreError { StoreError(.unavailable, "close", "the store is closed") }

  // MARK: Work

  func submit(_ work: Work) {
    let entry = Entry(work: work, since: clock.now)
    let hanging = entry.isProbe ? nil : health.hanging
    let (next, isUnwatched): (Next, Bool) = state.withLock { state in
      if state.isClosed { return (.refuse(Self.closed), false) }
      if state.isHanging { return (.refuse(late), false) }
      if let hanging { return (.refuse(hanging), false) }
      guard state.waiting.count < Self.mostWaiting else {
        let error = StoreError(.unavailable, "wait", "\(Self.mostWaiting) operations are waiting already")
        return (.refuse(error), false)
      }
      // The oldest entry has already waited half the limit. Refuse this one now instead of letting it time
      // out.
      if !entry.isProbe, let first = state.waiting.first, entry.since - first.since >= patience / 2 {
        let error = StoreError(.unavailable, "wait", "operations wait for \(patience / 2) already")
        return (.refuse(error), false)
      }
      state.waiting.append(entry)
      let worker = state.idle.popLast()
      let isUnwatched = !state.isWatched && (worker == nil || !hasDeadlines)
      if isUnwatched { state.isWatched = true }
      return (worker.map { .wake($0) } ?? .wait, isUnwatched)
    }
    switch next {
    case .wake(let index): queues[index].async { self.run(index) }
    case .wait: break
    case .refuse(let error): refuse([entry], error)
    }
    if isUnwatched { watch() }
  }

  /// Runs waiting work on the session's queue until there is no more.
  private func run(_ index: Int) {
    var hasFailed = false
    while true {
      let entries: [Entry] = state.withLock { state in
        state.running = []
        state.isHanging = false
        guard let first = state.waiting.first else {
          // A session that fails is soon without work again. If it got the next work first, it would take
          // work from sessions that do not fail.
          state.idle.insert(index, at: hasFailed ? 0 : state.idle.endIndex)
          return []
        }
        var taken: [Entry] = []
        defer { if !hasDeadlines { state.running = taken.filter { !$0.mayTakeLong } } }
        guard case .update = first.work else {
          state.waiting.removeFirst()
          taken = [first]
          return taken
        }
        var left: [Entry] = []
        for entry in state.waiting {
          if case .update = entry.work, entry.counts == first.counts, taken.count < Self.mostTogether {
            taken.append(entry)
          } else {
            left.append(entry)
          }
        }
        state.waiting = left
        return taken
      }
      guard let first = entries.first else { return }
      if !first.isProbe, let hanging = health.hanging {
        refuse(entries, hanging)
        continue
      }
      switch first.work {
      case .call(let call):
        let begun = clock.now
        call.body(index) { error in
          hasFailed = error != nil
          if let error {
            health.failed(error, call.effect, since: begun)
          } else {
            health.succeeded(call.effect)
          }
        }
      case .update:
        let jobs = entries.compactMap { entry -> UpdateJob? in
          if case .update(let job) = entry.work { job } else { nil }
        }
        hasFailed = !commit(jobs, index)
      }
    }
  }

  /// Commits jobs together. If the database rejects one of them, or cannot read a row for one, commits each
  /// job alone, so that this one does not make the others fail.
  ///
  /// - Returns: Whether all jobs are committed.
  private func commit(_ jobs: [UpdateJob], _ session: Int) -> Bool {
    let begun = clock.now
    do throws(StoreError) {
      try updateAll(session, jobs)
      health.succeeded(.updates)
      for job in jobs { job.finish(nil) }
      return true
    } catch {
      guard [.rejected, .damaged].contains(error.kind), !error.isInDoubt, jobs.count > 1 else {
        health.failed(error, .updates, since: begun, count: jobs.count)
        for job in jobs { job.finish(error) }
        return false
      }
      return jobs.map { commit([$0], session) }.allSatisfy { $0 }
    }
  }

  private var late: StoreError {
    StoreError(.unavailable, "wait", "the store has not responded for \(patience)")
  }

  /// Fails overdue work. Runs again and again, every fifth of `patience`, while there is work to watch.
  private func watch() {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + seconds(patience) / 5) {
      let (waited, ran, isNeeded) = self.state.withLock { state in
        let limit = self.clock.now
        let isLate = { (entry: Entry) in entry.since + self.patience <= limit }
        let ran = state.running.filter(isLate)
        if !ran.isEmpty {
          state.isHanging = true
          state.running.removeAll(where: isLate)
        }
        let waited = state.isHanging ? state.waiting[...] : state.waiting.prefix(while: isLate)
        state.waiting.removeFirst(waited.count)
        state.isWatched = !state.waiting.isEmpty || !state.running.isEmpty
        return (waited, ran, state.isWatched)
      }
      for entry in waited + ran { self.health.failed(self.late, entry.effect, since: entry.since) }
      Self.fail(Array(waited), self.late)
      Self.fail(ran, self.late.inDoubt)
      if isNeeded { self.watch() }
    }
  }

  private func seconds(_ duration: Duration) -> Double { Double(duration.nanosecondsClamped) / 1e9 }

  private func refuse(_ entries: [Entry], _ error: StoreError) {
    health.refused(error, count: entries.count)
    Self.fail(entries, error)
  }

  private static func fail(_ entries: [Entry], _ error: StoreError) {
    for entry in entries {
      switch entry.work {
      case .update(let job): job.finish(error)
      case .call(let call): call.fail(error)
      }
    }
  }
}

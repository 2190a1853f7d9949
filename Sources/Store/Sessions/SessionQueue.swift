// Queues work for blocking database sessions, runs waiting jobs together, and refuses work that would wait too long.

import Dispatch
package import Gate
package import Platform
import Synchronization

/// Hands work to a few sessions, each owned by a serial Dispatch queue.
///
/// Waiting updates are taken together and committed together. Work beyond a limit fails at once, and so does
/// work that would wait too long. While the store does not respond, only probes reach it: all other work
/// fails at once. Slow work ends as follows:
///
/// 1. It waits for a session. It fails, and nothing was done.
/// 2. A session with deadlines of its own (PostgreSQL) runs it. The session ends it.
/// 3. A session without deadlines (SQLite) runs it, in a system call that nothing ends. Its caller gets an
/// error: in doubt. Until the call returns, the session counts as hanging: waiting work fails, and new work
/// fails at once. There is only one such session, so work that takes back a doubtful result runs after it.
package final class SessionQueue<Session: StoreSession>: Sendable {
  private struct Call: Sendable {
    let effect: StoreHealth.Effect
    /// Whether it asks a store that does not answer, too.
    let isProbe: Bool
    /// Tells how it went before its caller hears it.
    let body: @Sendable (Session, _ onEnd: (StoreError?) -> Void) -> Void
    let fail: @Sendable (StoreError) -> Void
  }

  /// Indirect, since entries are copied often and a change of a callback is some hundred octets.
  private indirect enum Work: Sendable {
    case update(UpdateJob)
    case call(Call)
  }

  private struct Entry: Sendable {
    var work: Work
    var since: MonotonicTime

    /// Whether it only counts. Such updates are committed together, and not with updates that wait for the disk.
    var counts: Bool { if case .update(let job) = work { job.counts } else { false } }
    var isProbe: Bool { if case .call(let call) = work { call.isProbe } else { false } }
    var effect: StoreHealth.Effect { if case .call(let call) = work { call.effect } else { .updates } }
  }

  private struct State: Sendable {
    var waiting: [Entry] = []
    /// Workers without work, by their index. The last one works next.
    var idle: [Int]
    /// The work that the session without deadlines runs and that has no result yet.
    var running: [Entry] = []
    /// Whether a caller got the error that this session takes too long.
    var isHanging = false
    var isClosed = false
    var isWatched = false
  }

  /// The next step for new work.
  private enum Next: Sendable {
    case wake(Int)
    case wait
    case refuse(StoreError)
  }

  /// A session and the queue that owns it.
  ///
  /// `@unchecked Sendable`: the session is made, used and closed on the queue, and nowhere else.
  private final class Worker: @unchecked Sendable {
    let queue: DispatchQueue
    private let make: @Sendable () -> Session
    private var made: Session?

    init(label: String, make: @escaping @Sendable () -> Session) {
      queue = DispatchQueue(label: label)
      self.make = make
    }

    /// Only on the queue.
    var session: Session {
      dispatchPrecondition(condition: .onQueue(queue))
      if let made { return made }
      let session = make()
      made = session
      return session
    }

    /// Only on the queue.
    func close() {
      made?.close()
      made = nil
    }
  }

  /// How many updates one transaction takes.
  private static var mostTogether: Int { 256 }
  /// How much may wait.
  private static var mostWaiting: Int { 16_384 }
  private let workers: [Worker]
  private let state: Mutex<State>
  private let clock: any TimeSource
  private let health: StoreHealth
  /// How long work may take. Late work fails after a fifth more at most.
  private let patience: Duration
  private let hasDeadlines: Bool

  /// A queue of its own for each of several sessions that end slow work themselves.
  ///
  /// - Parameter health: learns the result of every operation.
  package init(
    label: String, count: Int, health: StoreHealth, clock: any TimeSource = SystemClock(),
    make: @escaping @Sendable () -> Session
  ) {
    precondition(count > 0)
    self.health = health
    self.clock = clock
    patience = .seconds(5)
    hasDeadlines = true
    workers = (0..<count).map { Worker(label: "\(label).\($0)", make: make) }
    state = Mutex(State(idle: Array((0..<count).reversed())))
  }

  /// A queue for one session that may hang.
  ///
  /// - Parameters:
  ///   - patience: how long its callers wait.
  ///   - health: learns the result of every operation.
  package init(
    label: String, patience: Duration, health: StoreHealth, make: @escaping @Sendable () -> Session
  ) {
    self.patience = patience
    self.health = health
    clock = SystemClock()
    hasDeadlines = false
    workers = [Worker(label: label, make: make)]
    state = Mutex(State(idle: [0]))
  }

  /// How much waits for a session.
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// How many sessions have nothing to do.
  var idle: Int { state.withLock { $0.idle.count } }

  // MARK: Callers

  /// Waits until an update is committed.
  package func update<R: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<R>
  ) async throws(StoreError) -> R {
    try await commit { onResult in
      .allowances(keys) { states in
        let update = body(states)
        onResult(update.result)
        return update.writes
      }
    }
  }

  /// Waits until some work is committed; returns the last result it reported.
  ///
  /// - Parameter work: makes the work from the function that takes its result.
  package func commit<R: Sendable>(
    _ work: (_ onResult: @escaping @Sendable (R) -> Void) -> UpdateJob.Work
  ) async throws(StoreError) -> R {
    let result = await withUnsafeContinuation { continuation in
      let answer = Answer<R>(continuation)
      submit(.update(UpdateJob(work: work { answer.say($0) }) { answer.finish($0) }))
    }
    return try result.get()
  }

  /// Waits until a session has done something.
  ///
  /// - Parameters:
  ///   - effect: what its success says about the store.
  ///   - isProbe: whether it asks a store that does not answer, too.
  package func call<R: Sendable>(
    _ effect: StoreHealth.Effect, isProbe: Bool = false,
    _ body: @escaping @Sendable (Session) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    let result = await withUnsafeContinuation { continuation in
      let answer = Answer<R>(continuation)
      submit(
        .call(
          Call(effect: effect, isProbe: isProbe) { session, onEnd in
            do throws(StoreError) {
              answer.say(try body(session))
              onEnd(nil)
              answer.finish(nil)
            } catch {
              onEnd(error)
              answer.finish(error)
            }
          } fail: { error in
            answer.finish(error)
          }))
    }
    return try result.get()
  }

  /// Has a session do something before what is asked later, and waits for nothing.
  package func start(
    _ effect: StoreHealth.Effect, _ body: @escaping @Sendable (Session) throws(StoreError) -> Void
  ) {
    submit(
      .call(
        Call(effect: effect, isProbe: false) { session, onEnd in
          do throws(StoreError) {
            try body(session)
            onEnd(nil)
          } catch {
            onEnd(error)
          }
        } fail: { _ in
        }))
  }

  /// Runs something in every session, each on its queue and beside the others, and waits for all of them.
  package func inEach(_ body: @escaping @Sendable (Session) -> Void) async {
    let group = DispatchGroup()
    for worker in workers { worker.queue.async(group: group) { body(worker.session) } }
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      group.notify(queue: .global(qos: .utility)) { continuation.resume() }
    }
  }

  /// Finishes running work and closes every session. Waiting and new work fails. A session that hangs stays
  /// until the process ends.
  package func close() async {
    let (dropped, isHanging) = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return (state.waiting, state.isHanging)
    }
    refuse(dropped, Self.closed)
    let group = DispatchGroup()
    for worker in workers { worker.queue.async(group: group) { worker.close() } }
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

  /// A result on its way to its caller. Only the first counts: the caller of a session that hangs gets an
  /// error before the session returns.
  private final class Answer<R: Sendable>: Sendable {
    private struct State: Sendable {
      var continuation: UnsafeContinuation<Result<R, StoreError>, Never>?
      var result: R?
    }

    private let state: Mutex<State>

    init(_ continuation: UnsafeContinuation<Result<R, StoreError>, Never>) {
      state = Mutex(State(continuation: continuation))
    }

    /// Remembers the result that counts once it is committed.
    func say(_ result: R) { state.withLock { $0.result = result } }

    /// Answers: with the last result, or with a failure.
    func finish(_ error: StoreError?) {
      let (continuation, result) = state.withLock { state in
        defer { state.continuation = nil }
        return (state.continuation, state.result)
      }
      guard let continuation else { return }
      if let error { return continuation.resume(returning: .failure(error)) }
      guard let result else { preconditionFailure("committed without running") }
      continuation.resume(returning: .success(result))
    }
  }

  private func seconds(_ duration: Duration) -> Double { Double(duration.nanosecondsClamped) / 1e9 }

  // MARK: Work

  private func submit(_ work: Work) {
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
      // The oldest entry has waited half the limit already. Refuse this one now instead of letting it time out.
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
    case .wake(let index): workers[index].queue.async { self.run(index) }
    case .wait: break
    case .refuse(let error): refuse([entry], error)
    }
    if isUnwatched { watch() }
  }

  /// Works until nothing waits; on the worker's queue.
  private func run(_ index: Int) {
    var hasFailed = false
    while true {
      let entries: [Entry] = state.withLock { state in
        state.running = []
        state.isHanging = false
        guard let first = state.waiting.first else {
          // A session that fails is idle soon. If it worked next, it would take the work of sessions that do not fail.
          state.idle.insert(index, at: hasFailed ? 0 : state.idle.endIndex)
          return []
        }
        var taken: [Entry] = []
        defer { if !hasDeadlines { state.running = taken } }
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
      let session = workers[index].session
      switch first.work {
      case .call(let call):
        let begun = clock.now
        call.body(session) { error in
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
        hasFailed = !commit(jobs, session)
      }
    }
  }

  /// Commits jobs together. If the database rejects one, commits each alone, so that it cannot fail the others.
  ///
  /// - Returns: whether all are committed.
  private func commit(_ jobs: [UpdateJob], _ session: Session) -> Bool {
    let begun = clock.now
    do throws(StoreError) {
      try session.updateAll(jobs)
      health.succeeded(.updates)
      for job in jobs { job.finish(nil) }
      return true
    } catch {
      guard error.kind == .rejected, !error.isInDoubt, jobs.count > 1 else {
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

  /// Looks for overdue work from time to time, while there is work.
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

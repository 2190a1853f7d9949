// Work for sessions that block: queues of their own, jobs that wait together run together, and nobody waits for ever.

internal import Dispatch
internal import Gate
internal import Platform
internal import Synchronization

/// Hands work to a few sessions, each owned by a serial Dispatch queue.
///
/// Updates that wait are taken together and committed together. Work that waits too long, because every session
/// hangs, fails; so does work beyond a limit.
final class SessionQueue<Session: StoreSession>: Sendable {
  private struct Call: Sendable {
    let body: @Sendable (Session) -> Void
    let fail: @Sendable (StoreError) -> Void
  }

  private enum Work: Sendable {
    case update(UpdateJob)
    case call(Call)
  }

  private struct Entry: Sendable {
    var work: Work
    var since: MonotonicTime
  }

  private struct State: Sendable {
    var waiting: [Entry] = []
    /// Workers without work, by their place.
    var idle: [Int]
    var isClosed = false
    var isWatched = false
  }

  /// What becomes of work that is handed in.
  private enum Next: Sendable {
    case wake(Int)
    case wait(isWatched: Bool)
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
  /// How long work waits for a session.
  private static var longestWait: Duration { .seconds(5) }

  private let workers: [Worker]
  private let state: Mutex<State>
  private let clock = SystemClock()
  private let closing: Duration

  /// A queue of its own for each of some sessions.
  ///
  /// - Parameter closing: how long `close` waits for what is under way.
  init(
    label: String, count: Int, closing: Duration = .seconds(15), make: @escaping @Sendable () -> Session
  ) {
    precondition(count > 0)
    self.closing = closing
    workers = (0..<count).map { Worker(label: "\(label).\($0)", make: make) }
    state = Mutex(State(idle: Array((0..<count).reversed())))
  }

  // MARK: Callers

  /// Waits until an update is committed.
  func update<R: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<R>
  ) async throws(StoreError) -> R {
    try await commit { said in
      .allowances(keys) { states in
        let update = body(states)
        said(update.result)
        return update.writes
      }
    }
  }

  /// Waits until some work is committed; gives what it said last.
  ///
  /// - Parameter work: makes the work of the function that it is to say its result to.
  func commit<R: Sendable>(
    _ work: (_ said: @escaping @Sendable (R) -> Void) -> UpdateJob.Work
  ) async throws(StoreError) -> R {
    let result = await withUnsafeContinuation {
      (continuation: UnsafeContinuation<Result<R, StoreError>, Never>) in
      let slot = Slot<R>()
      let work = work { result in slot.value.withLock { $0 = result } }
      submit(
        .update(
          UpdateJob(work: work) { error in
            if let error { return continuation.resume(returning: .failure(error)) }
            guard let result = slot.value.withLock({ $0 }) else {
              preconditionFailure("committed without running")
            }
            continuation.resume(returning: .success(result))
          }))
    }
    return try result.get()
  }

  /// Waits until a session has done something.
  func call<R: Sendable>(
    _ body: @escaping @Sendable (Session) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    let result = await withUnsafeContinuation {
      (continuation: UnsafeContinuation<Result<R, StoreError>, Never>) in
      submit(
        .call(
          Call { session in
            do throws(StoreError) {
              continuation.resume(returning: .success(try body(session)))
            } catch {
              continuation.resume(returning: .failure(error))
            }
          } fail: { error in
            continuation.resume(returning: .failure(error))
          }))
    }
    return try result.get()
  }

  /// Finishes what is under way and closes every session; what waits or comes later fails. A session that hangs is left to the
  /// end of the process.
  func close() async {
    let dropped = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    Self.fail(dropped, Self.closed)
    let group = DispatchGroup()
    for worker in workers { worker.queue.async(group: group) { worker.close() } }
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let hasReturned = Slot<Void>()
      let goOn: @Sendable () -> Void = {
        let isFirst = hasReturned.value.withLock { value in
          defer { value = () }
          return value == nil
        }
        if isFirst { continuation.resume() }
      }
      let others = DispatchQueue.global(qos: .utility)
      group.notify(queue: others, execute: goOn)
      others.asyncAfter(
        deadline: .now() + Double(closing.nanosecondsClamped) / 1e9, execute: goOn)
    }
  }

  private static var closed: StoreError { StoreError(.unavailable, "close", "the store is closed") }

  /// A result on its way from the body to its caller.
  private final class Slot<R: Sendable>: Sendable {
    let value = Mutex<R?>(nil)
  }

  // MARK: Work

  private func submit(_ work: Work) {
    let entry = Entry(work: work, since: clock.now)
    let next: Next = state.withLock { state in
      guard !state.isClosed else { return .refuse(Self.closed) }
      guard state.waiting.count < Self.mostWaiting else {
        return .refuse(StoreError(.unavailable, "wait", "\(Self.mostWaiting) operations wait already"))
      }
      state.waiting.append(entry)
      if let worker = state.idle.popLast() { return .wake(worker) }
      defer { state.isWatched = true }
      return .wait(isWatched: state.isWatched)
    }
    switch next {
    case .wake(let place): workers[place].queue.async { self.run(place) }
    case .wait(let isWatched): if !isWatched { watch() }
    case .refuse(let error): Self.fail([entry], error)
    }
  }

  /// Works until nothing waits; on the worker's queue.
  private func run(_ place: Int) {
    while true {
      let entries: [Entry] = state.withLock { state in
        guard let first = state.waiting.first else {
          state.idle.append(place)
          return []
        }
        guard case .update = first.work else {
          state.waiting.removeFirst()
          return [first]
        }
        var taken: [Entry] = []
        var left: [Entry] = []
        for entry in state.waiting {
          if case .update = entry.work, taken.count < Self.mostTogether {
            taken.append(entry)
          } else {
            left.append(entry)
          }
        }
        state.waiting = left
        return taken
      }
      guard let first = entries.first else { return }
      let session = workers[place].session
      switch first.work {
      case .call(let call): call.body(session)
      case .update:
        let jobs = entries.compactMap { entry -> UpdateJob? in
          if case .update(let job) = entry.work { job } else { nil }
        }
        let admitted = session.admit(jobs)
        if !admitted.isEmpty { Self.commit(admitted, session) }
      }
    }
  }

  /// Commits jobs together. Where one of them cannot be kept, each by itself: the others are not to suffer from it.
  private static func commit(_ jobs: [UpdateJob], _ session: Session) {
    do throws(StoreError) {
      try session.updateAll(jobs)
    } catch {
      guard error.kind == .rejected, !error.isInDoubt, jobs.count > 1 else {
        for job in jobs { job.finish(error) }
        return
      }
      for job in jobs { commit([job], session) }
    }
  }

  /// Looks once a second, while anything waits, for what has waited too long.
  private func watch() {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 1) {
      let (late, goOn) = self.state.withLock { state in
        let limit = self.clock.now
        let late = state.waiting.prefix { $0.since + Self.longestWait <= limit }
        state.waiting.removeFirst(late.count)
        state.isWatched = !state.waiting.isEmpty
        return (Array(late), state.isWatched)
      }
      Self.fail(late, StoreError(.unavailable, "wait", "no session came free in \(Self.longestWait)"))
      if goOn { self.watch() }
    }
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

// Queues work for blocking database sessions, runs waiting jobs together, and refuses work that would wait
// too long.

import Dispatch
package import Gate
package import Platform
import Synchronization

/// Hands work to a few sessions, each owned by a serial Dispatch queue.
///
/// Waiting updates are taken together and committed together. Work beyond a limit fails at once, and so does
/// work that would wait too long. While the store does not respond, only probes reach it: all other work
/// fails at once. Slow work ends in one of these ways:
///
/// 1. The work is waiting for a session. It fails, and nothing was done.
/// 2. A session with deadlines of its own (PostgreSQL) is running the work. The session ends it.
/// 3. A session without deadlines (SQLite) is running the work, in a system call that cannot be ended. The
///    caller gets an error in doubt. Until the call returns, the session counts as hanging: waiting work
///    fails, and new work fails at once. There is only one such session, so work that undoes a doubtful
///    result runs after it.
package final class SessionQueue<Session: StoreSession>: Sendable {
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

    /// The session, made on first use. Access it only on the queue.
    var session: Session {
      dispatchPrecondition(condition: .onQueue(queue))
      if let made { return made }
      let session = make()
      made = session
      return session
    }

    /// Closes the session. Call it only on the queue.
    func close() {
      made?.close()
      made = nil
    }
  }

  private let workers: [Worker]
  private let work: WorkQueue

  private init(
    _ workers: [Worker], patience: Duration, hasDeadlines: Bool, _ health: StoreHealth,
    _ clock: any TimeSource
  ) {
    self.workers = workers
    work = WorkQueue(
      workers.map(\.queue), patience: patience, hasDeadlines: hasDeadlines, health: health, clock: clock
    ) { index, jobs throws(StoreError) in try workers[index].session.updateAll(jobs) }
  }

  /// Several sessions, each with its own queue, that end slow work themselves.
  ///
  /// - Parameter health: Gets the result of every operation.
  package convenience init(
    label: String, count: Int, health: StoreHealth, clock: any TimeSource = SystemClock(),
    make: @escaping @Sendable () -> Session
  ) {
    precondition(count > 0)
    self.init(
      (0..<count).map { Worker(label: "\(label).\($0)", make: make) }, patience: .seconds(5),
      hasDeadlines: true,
      health, clock)
  }

  /// A queue for one session that may hang.
  ///
  /// - Parameters:
  ///   - patience: How long callers wait.
  ///   - health: Gets the result of every operation.
  package convenience init(
    label: String, patience: Duration, health: StoreHealth, make: @escaping @Sendable () -> Session
  ) {
    self.init(
      [Worker(label: label, make: make)], patience: patience, hasDeadlines: false, health, SystemClock())
  }

  /// The number of entries that wait for a session.
  var waiting: Int { work.waiting }

  /// The number of sessions without work.
  var idle: Int { work.idle }

  // MARK: Callers

  /// Waits until an update is committed.
  package func update<R: Sendable>(
    _ keys: [AllowanceKey], at now: Instant,
    _ body: @escaping @Sendable ([AllowanceState?], Instant) -> AllowanceUpdate<R>
  ) async throws(StoreError) -> R {
    try await commit { onResult in
      .allowances(keys, at: now) { states, now in
        let update = body(states, now)
        onResult(update.result)
        return update.writes
      }
    }
  }

  /// Waits until some work is committed, and returns the last result that it reported.
  ///
  /// - Parameter work: Makes the work. Its argument is the function to which the work reports its result.
  package func commit<R: Sendable>(
    _ work: (_ onResult: @escaping @Sendable (R) -> Void) -> UpdateJob.Work
  ) async throws(StoreError) -> R {
    let result = await withUnsafeContinuation {
      (continuation: UnsafeContinuation<Result<R, StoreError>, Never>) in
      let answer = Answer()
      self.work.submit(
        .update(
          UpdateJob(work: work { result in answer.say { continuation.resume(returning: .success(result)) } })
          {
            answer.finish($0) { continuation.resume(returning: .failure($0)) }
          }))
    }
    return try result.get()
  }

  /// Runs a function in a session and waits for its result.
  ///
  /// - Parameters:
  ///   - effect: The conclusion about the store if the function succeeds.
  ///   - isProbe: Whether the function runs even while the store does not respond, unless a session hangs.
  ///   - mayTakeLong: Whether a session without deadlines may run the function for any time without counting
  ///     as hanging.
  ///   - undo: Runs after a late success, if the caller has already got an error.
  package func call<R: Sendable>(
    _ effect: StoreHealth.Effect, isProbe: Bool = false, mayTakeLong: Bool = false,
    _ body: @escaping @Sendable (Session) throws(StoreError) -> R,
    undo: (@Sendable (Session, R) -> Void)? = nil
  ) async throws(StoreError) -> R {
    let result = await withUnsafeContinuation {
      (continuation: UnsafeContinuation<Result<R, StoreError>, Never>) in
      let answer = Answer()
      let fail: @Sendable (StoreError) -> Void = { continuation.resume(returning: .failure($0)) }
      work.submit(
        .call(
          WorkQueue.Call(effect: effect, isProbe: isProbe, mayTakeLong: mayTakeLong) {
            [workers] index, onEnd in
            do throws(StoreError) {
              let result = try body(workers[index].session)
              answer.say { continuation.resume(returning: .success(result)) }
              onEnd(nil)
              if !answer.finish(nil, fail) { undo?(workers[index].session, result) }
            } catch {
              onEnd(error)
              answer.finish(error, fail)
            }
          } fail: { error in
            answer.finish(error, fail)
          }))
    }
    return try result.get()
  }

  /// Starts a function in a session, before any work that is submitted later, and returns at once.
  package func start(
    _ effect: StoreHealth.Effect, _ body: @escaping @Sendable (Session) throws(StoreError) -> Void
  ) {
    work.submit(
      .call(
        WorkQueue.Call(effect: effect, isProbe: false) { [workers] index, onEnd in
          do throws(StoreError) {
            try body(workers[index].session)
            onEnd(nil)
          } catch {
            onEnd(error)
          }
        } fail: { _ in
        }))
  }

  /// Runs a function in every session, each on its own queue and in parallel, and waits for all of them.
  package func inEach(_ body: @escaping @Sendable (Session) -> Void) async {
    let group = DispatchGroup()
    for worker in workers { worker.queue.async(group: group) { body(worker.session) } }
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      group.notify(queue: .global(qos: .utility)) { continuation.resume() }
    }
  }

  /// Finishes running work and closes every session. Waiting and new work fails. A session that hangs stays
  /// until the process ends.
  package func close() async { await work.close { [workers] in workers[$0].close() } }
}

/// A result on its way to its caller. Only the first counts: the caller of a session that hangs gets an
/// error before the session returns.
private final class Answer: Sendable {
  private struct State: Sendable {
    var isOver = false
    var success: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Saves the function that reports the result. It is called after the commit.
  func say(_ success: @escaping @Sendable () -> Void) { state.withLock { $0.success = success } }

  /// Reports the last result, or an error, to the caller.
  ///
  /// - Returns: Whether this was the first answer.
  @discardableResult
  func finish(_ error: StoreError?, _ fail: (StoreError) -> Void) -> Bool {
    let (wasOver, success) = state.withLock { state in
      defer { state = State(isOver: true) }
      return (state.isOver, state.success)
    }
    guard !wasOver else { return false }
    if let error {
      fail(error)
      return true
    }
    guard let success else { preconditionFailure("committed without running") }
    success()
    return true
  }
}

// Limits how many callback requests run at once, queues the others fairly, and pauses when Talkdesk requests
// a pause.

package import Platform
package import Store
import Synchronization
import Texts

/// Assigns turns for Talkdesk's Callback API. The queue outlives configurations: a reload does not affect
/// running and waiting callbacks.
///
/// `AdmissionQueue` decides which callbacks may wait. A callback whose turn would come too late is refused at
/// once.
package final class CallbackQueue: Sendable {
  /// The reason why a callback gets no turn.
  package enum Refusal: Error, Hashable, Sendable {
    /// The deadline has passed, or too little time is left before it.
    case late
    /// Too many callbacks wait, or this callback is unlikely to end before its deadline. Retry after the
    /// given time.
    case overloaded(retryAfter: Duration)
    /// Talkdesk answered 429, so callbacks are paused. The value is the time left of the pause.
    case paused(Duration)
    /// This instance is shutting down.
    case ended
  }

  /// The party that callbacks count against, for fairness: a caller, and its user if the caller has users.
  package typealias Party = AdmissionQueue<UInt64>.Party

  /// A turn at Talkdesk. Give it back with `end`.
  package struct Turn: Sendable {
    fileprivate let id: UInt64
    /// The minimum time left before the deadline. With less, the server does not send the callback.
    let leastTime: Duration
  }

  fileprivate struct Waiter: Sendable {
    let deadline: MonotonicTime
    let continuation: CheckedContinuation<Result<Turn, Refusal>, Never>
  }

  fileprivate struct State {
    var queue: AdmissionQueue<UInt64>
    var waiters: [UInt64: Waiter] = [:]
    var pausedUntil: Expiry?
    var isEnded = false
    var lastID: UInt64 = 0
    /// The task that refuses callbacks that can no longer end in time, and the time of its next check.
    var sweeper: (task: Task<Void, Never>, wakesAt: MonotonicTime)?
  }

  /// The pause after a 429 without a readable `Retry-After`.
  package static let usualPause = Duration.seconds(5)
  /// The longest pause. A longer `Retry-After` is shortened to this.
  static let longestPause = Duration.seconds(3600)
  /// The maximum number of waiting callbacks. One caller may use half of it, and one user a quarter.
  static let mostWaiting = 16384
  /// The maximum size of all waiting content, in bytes. One caller may use half of it.
  static let mostWaitingBytes = 48 * 1024 * 1024
  /// The shortest time between two checks for callbacks that can no longer end in time.
  private static let sweepInterval = Duration.milliseconds(20)

  private let state: Mutex<State>
  private let time: any TimeSource

  /// - Parameter concurrency: The maximum number of callbacks that run at once.
  package init(concurrency: Int, time: any TimeSource) {
    precondition(concurrency > 0)
    self.time = time
    state = Mutex(
      State(
        queue: AdmissionQueue(
          .init(running: concurrency, waiting: Self.mostWaiting, waitingBytes: Self.mostWaitingBytes))))
  }

  // MARK: Turns

  /// The reason why a callback of a party would get no turn now; nil if it would get one or may wait. Lets
  /// the server refuse a request before it uses allowances or saves anything.
  package func refusal(_ party: Party, deadline: MonotonicTime, bytes: Int) -> Refusal? {
    let now = time.now
    return state.withLock { $0.refusal(party, deadline: deadline, bytes: bytes, now: now) }
  }

  /// A turn without waiting, or the refusal if the callback can get none. Nil if the callback may wait for
  /// one.
  func turnAtOnce(_ party: Party, deadline: MonotonicTime, bytes: Int) -> Result<Turn, Refusal>? {
    let now = time.now
    return state.withLock { $0.turnAtOnce(party, deadline: deadline, bytes: bytes, now: now) }
  }

  /// Waits for a turn, if none is free.
  ///
  /// - Parameters:
  ///   - deadline: The latest end of the callback.
  ///   - bytes: The size of the content, which stays in memory while the callback waits.
  func turn(_ party: Party, deadline: MonotonicTime, bytes: Int) async throws(Refusal) -> Turn {
    let result = await withCheckedContinuation { continuation in
      let now = time.now
      let atOnce: Result<Turn, Refusal>? = state.withLock { state in
        if let atOnce = state.turnAtOnce(party, deadline: deadline, bytes: bytes, now: now) { return atOnce }
        state.lastID += 1
        switch state.queue.enter(state.lastID, party: party, bytes: bytes, deadline: deadline, now: now) {
        case .starts, .refused: preconditionFailure("turnAtOnce missed a turn or a refusal")
        case .waits(let until):
          state.waiters[state.lastID] = Waiter(deadline: deadline, continuation: continuation)
          sweep(at: until, &state)
        }
        return nil
      }
      if let atOnce { continuation.resume(returning: atOnce) }
    }
    return try result.get()
  }

  /// Gives a turn back, so that the next callback gets one.
  /// - Parameter wasSent: Whether the request was sent. Only then does its duration count for estimates.
  func end(_ turn: Turn, wasSent: Bool) {
    let now = time.now
    let admitted = state.withLock { state in
      state.queue.leave(turn.id, wasSent ? .finished : .unused, now: now)
      return state.admit(now: now)
    }
    for (waiter, result) in admitted { waiter.continuation.resume(returning: result) }
  }

  /// Applies the limit of a new configuration.
  /// - Parameter endsPause: Whether the new configuration uses another Talkdesk account. The pause applies
  ///   only to the old account.
  package func reconfigure(concurrency: Int, endsPause: Bool) {
    precondition(concurrency > 0)
    let now = time.now
    let admitted = state.withLock { state in
      state.queue.limits.running = concurrency
      if endsPause { state.pausedUntil = nil }
      return state.admit(now: now)
    }
    for (waiter, result) in admitted { waiter.continuation.resume(returning: result) }
  }

  // MARK: Pausing and ending

  /// Pauses callbacks to Talkdesk, for `longestPause` at most, and refuses waiting ones.
  func pause(for span: Duration) {
    let now = time.now
    let (waiters, rest) = state.withLock { state in
      let until = Expiry(now + min(max(span, .seconds(1)), Self.longestPause))
      state.pausedUntil = state.pausedUntil?.extended(to: until, at: now) ?? until
      return (state.takeAllWaiting(), state.pause(at: now) ?? .seconds(1))
    }
    for waiter in waiters { waiter.continuation.resume(returning: .failure(.paused(rest))) }
  }

  /// The time left of the pause; nil if there is none.
  package var pause: Duration? {
    let now = time.now
    return state.withLock { $0.pause(at: now) }
  }

  /// Ends the pause early. For the sandbox.
  package func endPause() { state.withLock { $0.pausedUntil = nil } }

  /// Refuses waiting callbacks, and all later ones.
  package func shutdown() {
    let (waiters, sweeper) = state.withLock { state in
      state.isEnded = true
      let sweeper = state.sweeper
      state.sweeper = nil
      return (state.takeAllWaiting(), sweeper)
    }
    sweeper?.task.cancel()
    for waiter in waiters { waiter.continuation.resume(returning: .failure(.ended)) }
  }

  /// The numbers of running and waiting callbacks.
  package var load: (running: Int, waiting: Int) { state.withLock { ($0.queue.running, $0.queue.waiting) } }

  // MARK: Waiting too long

  /// Makes the sweeper check at the given time.
  private func sweep(at due: MonotonicTime, _ state: inout State) {
    if let sweeper = state.sweeper {
      guard due < sweeper.wakesAt else { return }
      sweeper.task.cancel()
    }
    let task = Task.detached { [weak self, time] in
      var wakesAt = due
      // After a cancellation, another sweeper checks, or no callback waits.
      while await time.hasSlept(until: wakesAt) {
        guard let next = self?.sweepOnce() else { return }
        wakesAt = next
      }
    }
    state.sweeper = (task, due)
  }

  /// Refuses the waiting callbacks that can no longer end before their deadlines.
  /// - Returns: The time of the next check; nil once no callback waits.
  private func sweepOnce() -> MonotonicTime? {
    let now = time.now
    let (late, wait, next) = state.withLock { state -> ([Waiter], Duration, MonotonicTime?) in
      let late = state.queue.expire(now: now).compactMap { state.waiters.removeValue(forKey: $0) }
      let next = state.queue.nextExpiry.map { max($0, now + Self.sweepInterval) }
      state.sweeper = next.flatMap { next in state.sweeper.map { ($0.task, next) } }
      return (late, state.queue.retryAfterLate(now: now), next)
    }
    for waiter in late { waiter.continuation.resume(returning: .failure(.overloaded(retryAfter: wait))) }
    return next
  }
}

extension CallbackQueue.State {
  fileprivate func pause(at now: MonotonicTime) -> Duration? {
    pausedUntil.flatMap { now < $0 ? $0 - now : nil }
  }

  fileprivate func refusal(
    _ party: CallbackQueue.Party, deadline: MonotonicTime, bytes: Int, now: MonotonicTime
  ) -> CallbackQueue.Refusal? {
    if isEnded { return .ended }
    if let rest = pause(at: now) { return .paused(rest) }
    guard deadline > now else { return .late }
    return queue.refusal(party, bytes: bytes, deadline: deadline, now: now)
      .map { .overloaded(retryAfter: $0) }
  }

  fileprivate mutating func turnAtOnce(
    _ party: CallbackQueue.Party, deadline: MonotonicTime, bytes: Int, now: MonotonicTime
  ) -> Result<CallbackQueue.Turn, CallbackQueue.Refusal>? {
    if let refusal = refusal(party, deadline: deadline, bytes: bytes, now: now) { return .failure(refusal) }
    guard queue.startsAtOnce else { return nil }
    lastID += 1
    _ = queue.enter(lastID, party: party, bytes: bytes, deadline: deadline, now: now)
    return .success(turn(lastID, deadline: deadline, now: now))
  }

  private func turn(_ id: UInt64, deadline: MonotonicTime, now: MonotonicTime) -> CallbackQueue.Turn {
    CallbackQueue.Turn(id: id, leastTime: min(max(deadline - now, .zero) / 10, .seconds(1)))
  }

  /// Gives turns to the next callbacks, and refuses callbacks whose turn would come too late.
  fileprivate mutating func admit(
    now: MonotonicTime
  ) -> [(CallbackQueue.Waiter, Result<CallbackQueue.Turn, CallbackQueue.Refusal>)] {
    let admitted = queue.admit(now: now)
    var answers: [(CallbackQueue.Waiter, Result<CallbackQueue.Turn, CallbackQueue.Refusal>)] = []
    for id in admitted.starts {
      guard let waiter = waiters.removeValue(forKey: id) else {
        preconditionFailure("a queue entry without a waiter")
      }
      answers.append((waiter, .success(turn(id, deadline: waiter.deadline, now: now))))
    }
    for id in admitted.late {
      guard let waiter = waiters.removeValue(forKey: id) else {
        preconditionFailure("a queue entry without a waiter")
      }
      answers.append((waiter, .failure(.overloaded(retryAfter: queue.retryAfterLate(now: now)))))
    }
    return answers
  }

  fileprivate mutating func takeAllWaiting() -> [CallbackQueue.Waiter] {
    queue.removeAllWaiting().compactMap { waiters.removeValue(forKey: $0) }
  }
}

extension CallbackQueue.Party {
  /// The party that the callback of an intent counts against.
  package init(_ intent: CallbackIntent) {
    self.init(
      intent.callerID, member: intent.subject.flatMap { $0.hasSameBytes(as: intent.callerID) ? nil : $0 })
  }
}

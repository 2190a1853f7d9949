// Who may ask Talkdesk for a callback now: so many at once, the others in a fair line, and nobody while Talkdesk asks
// for a pause.

internal import Platform
internal import Store
internal import Synchronization
internal import Talkdesk

/// Gives out the places at Talkdesk's Callback API. Outlives configurations: what runs and waits goes on over a reload.
///
/// Whoever would come too late is told so at once: by what callbacks take at the moment, a place in line is refused where
/// the deadline would pass before the callback could be over.
final class Originator: Sendable {
  /// Why there is no place.
  enum Refusal: Error, Hashable, Sendable {
    /// Too many wait, or it has taken too long; worth trying again after the time.
    case overloaded(retryAfter: Duration)
    /// Talkdesk has answered 429 and asked for a pause, which has this much left.
    case paused(Duration)
    /// This instance is ending.
    case ended
  }

  /// Who asks, for the fairness among them.
  struct Party: Hashable, Sendable {
    let caller: String
    let subject: String

    init(caller: String, subject: String) {
      self.caller = caller
      self.subject = subject
    }

    init(_ intent: CallbackIntent) {
      self.init(caller: intent.callerID, subject: intent.subject ?? intent.callerID)
    }
  }

  /// A place at Talkdesk, to be given back by `end`.
  struct Turn: Sendable {
    fileprivate let startedAt: MonotonicTime
    /// How much time there has to be at least for sending to make sense.
    let leastTime: Duration
  }

  fileprivate struct Waiter: Sendable {
    let id: UInt64
    let deadline: MonotonicTime
    /// After this a turn would come too late.
    let due: MonotonicTime
    let bytes: Int
    let continuation: CheckedContinuation<Result<Turn, Refusal>, Never>
  }

  fileprivate struct State {
    var concurrency: Int
    var running = 0
    var queue = TurnQueue<Waiter>()
    var waitingBytes = 0
    var serviceTime: ServiceTime
    var pausedUntil: MonotonicTime?
    var isEnded = false
    var lastID: UInt64 = 0
    /// The task that sends away those whose time is over, and when it looks next.
    var sweeper: (task: Task<Void, Never>, wakesAt: MonotonicTime)?
  }

  /// How many may wait, and once more as many of callers that have less than their share of those.
  static let mostWaiting = 8192
  /// How much of their content may wait.
  static let mostWaitingBytes = 48 * 1024 * 1024
  /// Those whose time is over are looked for this often at most.
  private static let sweepInterval = Duration.milliseconds(20)

  private let state: Mutex<State>
  private let time: any TimeSource

  /// Makes one.
  /// - Parameter concurrency: how many may be under way at once.
  init(concurrency: Int, time: any TimeSource) {
    precondition(concurrency > 0)
    self.time = time
    state = Mutex(State(concurrency: concurrency, serviceTime: ServiceTime(base: time.now)))
  }

  // MARK: Places

  /// Why a request of a party would get no place if it asked now; nil where it would get one or may wait for one. For
  /// refusing before anything is taken or kept.
  func refusal(_ party: Party, deadline: MonotonicTime, bytes: Int) -> Refusal? {
    let now = time.now
    return state.withLock { $0.refusal(party, deadline: deadline, bytes: bytes, now: now) }
  }

  /// A place at once, or why there is none; nil where there may be one later.
  func turnAtOnce(_ party: Party, deadline: MonotonicTime, bytes: Int) -> Result<Turn, Refusal>? {
    let now = time.now
    return state.withLock { $0.turnAtOnce(party, deadline: deadline, bytes: bytes, now: now) }
  }

  /// A place, at once or when it is this party's turn.
  ///
  /// - Parameters:
  ///   - deadline: when the callback has to be over.
  ///   - bytes: how much its content takes meanwhile.
  func turn(_ party: Party, deadline: MonotonicTime, bytes: Int) async throws(Refusal) -> Turn {
    let result = await withCheckedContinuation { continuation in
      let now = time.now
      let atOnce: Result<Turn, Refusal>? = state.withLock { state in
        if let atOnce = state.turnAtOnce(party, deadline: deadline, bytes: bytes, now: now) { return atOnce }
        state.lastID += 1
        let due = deadline + (.zero - state.leastTime(deadline: deadline, now: now))
        state.queue.append(
          Waiter(
            id: state.lastID, deadline: deadline, due: due, bytes: bytes, continuation: continuation),
          caller: party.caller, subject: party.subject)
        state.waitingBytes += bytes
        sweep(at: due, &state)
        return nil
      }
      if let atOnce { continuation.resume(returning: atOnce) }
    }
    return try result.get()
  }

  /// Gives a place back, and lets the next one in.
  /// - Parameter wasSent: Whether Talkdesk was asked, so that the time it took tells something.
  func end(_ turn: Turn, wasSent: Bool) {
    let now = time.now
    let admitted = state.withLock { state in
      state.running -= 1
      state.serviceTime.end(startedAt: turn.startedAt, at: now, counts: wasSent)
      return state.admit(now: now)
    }
    for (waiter, result) in admitted { waiter.continuation.resume(returning: result) }
  }

  /// Takes another configuration's bound into use, and ends a pause: what it was asked for may be elsewhere or mended.
  func reconfigure(concurrency: Int) {
    precondition(concurrency > 0)
    let now = time.now
    let admitted = state.withLock { state in
      state.concurrency = concurrency
      state.pausedUntil = nil
      return state.admit(now: now)
    }
    for (waiter, result) in admitted { waiter.continuation.resume(returning: result) }
  }

  // MARK: Pausing and ending

  /// Asks nothing of Talkdesk for a time, at most `CallbackOutcome.longestWait`; who waits is told so.
  func pause(for span: Duration) {
    let now = time.now
    let (waiters, rest) = state.withLock { state in
      let until = now + min(max(span, .seconds(1)), CallbackOutcome.longestWait)
      state.pausedUntil = max(until, state.pausedUntil ?? until)
      return (state.takeAllWaiting(), state.pause(at: now) ?? .seconds(1))
    }
    for waiter in waiters { waiter.continuation.resume(returning: .failure(.paused(rest))) }
  }

  /// What is left of a pause.
  var pause: Duration? {
    let now = time.now
    return state.withLock { $0.pause(at: now) }
  }

  /// Sends away who waits and whoever comes.
  func shutdown() {
    let (waiters, sweeper) = state.withLock { state in
      state.isEnded = true
      let sweeper = state.sweeper
      state.sweeper = nil
      return (state.takeAllWaiting(), sweeper)
    }
    sweeper?.task.cancel()
    for waiter in waiters { waiter.continuation.resume(returning: .failure(.ended)) }
  }

  /// How many run and how many wait.
  var load: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.queue.count) } }

  // MARK: Waiting too long

  /// Makes sure that somebody looks at this time.
  private func sweep(at due: MonotonicTime, _ state: inout State) {
    if let sweeper = state.sweeper {
      guard due < sweeper.wakesAt else { return }
      sweeper.task.cancel()
    }
    let task = Task.detached { [weak self, time] in
      var wakesAt = due
      // Cancelled means that another looks, or that nobody waits any more.
      while await time.hasSlept(until: wakesAt) {
        guard let next = self?.sweepOnce() else { return }
        wakesAt = next
      }
    }
    state.sweeper = (task, due)
  }

  /// Sends away those whose time is over.
  /// - Returns: when to look again; nil once nobody waits.
  private func sweepOnce() -> MonotonicTime? {
    let now = time.now
    let (late, wait, next) = state.withLock { state -> ([Waiter], Duration, MonotonicTime?) in
      var earliest: MonotonicTime?
      let late = state.queue.removeAll { waiter in
        if waiter.due <= now { return true }
        earliest = min(earliest ?? waiter.due, waiter.due)
        return false
      }
      for waiter in late { state.waitingBytes -= waiter.bytes }
      let next = earliest.map { max($0, now + Self.sweepInterval) }
      state.sweeper = next.flatMap { next in state.sweeper.map { ($0.task, next) } }
      return (late, max(.seconds(1), state.serviceTime.estimate(at: now)), next)
    }
    for waiter in late { waiter.continuation.resume(returning: .failure(.overloaded(retryAfter: wait))) }
    return next
  }
}

extension Originator.State {
  fileprivate func pause(at now: MonotonicTime) -> Duration? {
    pausedUntil.flatMap { now < $0 ? $0 - now : nil }
  }

  /// What has to be left for sending to make sense: a tenth of all, a second at most; and what a callback takes at the
  /// moment, but not more than half of what there is, since that is only an estimate.
  fileprivate func leastTime(deadline: MonotonicTime, now: MonotonicTime) -> Duration {
    let left = max(deadline - now, .zero)
    return max(min(left / 10, .seconds(1)), min(serviceTime.estimate(at: now), left / 2))
  }

  fileprivate func refusal(
    _ party: Originator.Party, deadline: MonotonicTime, bytes: Int, now: MonotonicTime
  ) -> Originator.Refusal? {
    if isEnded { return .ended }
    if let rest = pause(at: now) { return .paused(rest) }
    let left = deadline - now
    guard left > .zero else { return .overloaded(retryAfter: .seconds(1)) }
    if running < concurrency, queue.count == 0 { return nil }
    let service = serviceTime.estimate(at: now)
    let isFull =
      queue.count >= 2 * Originator.mostWaiting || waitingBytes + bytes > Originator.mostWaitingBytes
      || (queue.count >= Originator.mostWaiting
        && queue.count(of: party.caller) * queue.callerCount >= Originator.mostWaiting)
    let ahead = queue.ahead(ofCaller: party.caller, subject: party.subject)
    let start = service * (ahead + 1) / concurrency
    guard isFull || start + service > left else { return nil }
    // By then as many will have had their turn as there are too many now.
    let excess = max(start + service - left, .seconds(1))
    return .overloaded(retryAfter: min(excess, .seconds(60)))
  }

  fileprivate mutating func turnAtOnce(
    _ party: Originator.Party, deadline: MonotonicTime, bytes: Int, now: MonotonicTime
  ) -> Result<Originator.Turn, Originator.Refusal>? {
    if let refusal = refusal(party, deadline: deadline, bytes: bytes, now: now) { return .failure(refusal) }
    guard running < concurrency, queue.count == 0 else { return nil }
    return .success(begin(deadline: deadline, now: now))
  }

  fileprivate mutating func begin(deadline: MonotonicTime, now: MonotonicTime) -> Originator.Turn {
    let least = min(max(deadline - now, .zero) / 10, .seconds(1))
    running += 1
    serviceTime.begin(at: now)
    return Originator.Turn(startedAt: now, leastTime: least)
  }

  /// Lets in whoever has a place now; those for whom it comes too late are told so.
  fileprivate mutating func admit(
    now: MonotonicTime
  ) -> [(Originator.Waiter, Result<Originator.Turn, Originator.Refusal>)] {
    var admitted: [(Originator.Waiter, Result<Originator.Turn, Originator.Refusal>)] = []
    while running < concurrency, let waiter = queue.next() {
      waitingBytes -= waiter.bytes
      if waiter.due <= now {
        admitted.append((waiter, .failure(.overloaded(retryAfter: .seconds(1)))))
      } else {
        admitted.append((waiter, .success(begin(deadline: waiter.deadline, now: now))))
      }
    }
    return admitted
  }

  fileprivate mutating func takeAllWaiting() -> [Originator.Waiter] {
    waitingBytes = 0
    return queue.removeAll { _ in true }
  }
}

// Brings what was committed to the disk, beside the transactions that come after it.

internal import Dispatch
internal import Platform
internal import Synchronization

/// Tells jobs that their transaction is committed: those that must not be lost to a power cut when the disk has it, the others
/// at once. Whoever comes during a flush waits for the next one, together.
///
/// A callback's outcome does not wait. The file has it, so it survives the process; a power cut in the next moments leaves
/// the record `pending`, to become `unknown`, and never to be sent again.
///
/// Nobody waits here for ever: where the disk hangs, whoever has waited too long is told that his transaction is in doubt.
final class SQLiteFlusher: Sendable {
  /// Tells somebody that the disk has his transaction, or why it may not.
  typealias Tell = @Sendable (StoreError?) -> Void

  private struct Waiter: Sendable {
    let tell: Tell
    let since: MonotonicTime
  }

  private struct State: Sendable {
    /// Logs with something that the disk may not have.
    var logs: [SQLiteLog] = []
    /// In the order in which they came.
    var waiting: [Waiter] = []
    /// How many of them, from the first on, the flush under way is for.
    var covered = 0
    /// When the flush under way began.
    var began: MonotonicTime?
    var isRunning = false
    var isTimed = false
    var isWatched = false
  }

  /// How long what nobody waits for is left in memory.
  static let longestDelay = 0.02
  /// How many may wait.
  static let mostWaiting = 16_384

  /// What the disk may have lost of the log. A flush is worth nothing until that is made up for.
  let loss = SQLiteLoss()
  /// How long the disk may take.
  private let patience: Duration
  private let clock = SystemClock()
  private let queue = DispatchQueue(label: "callgate.sqlite.flush")
  private let state = Mutex(State())

  init(patience: Duration) { self.patience = patience }

  /// Why nobody should be made to wait for the disk now; nil where it answers.
  var refusal: StoreError? {
    let (began, count) = state.withLock { ($0.began, $0.waiting.count) }
    if let began, began + patience <= clock.now {
      return StoreError(.unavailable, "flush", "the disk has not answered for \(patience)")
    }
    guard count >= Self.mostWaiting else { return nil }
    return StoreError(.unavailable, "flush", "\(Self.mostWaiting) operations wait for the disk already")
  }

  /// Tells jobs of a committed transaction so, as soon as each may know.
  ///
  /// - Parameter log: the log it was written to; nil where nothing was changed. Together with the jobs: the flush that
  ///   takes the one takes the others, so none is told by another one.
  func finish(_ jobs: [UpdateJob], wrote log: SQLiteLog?) {
    var waiting: [Tell] = []
    for job in jobs {
      if job.needsDisk { waiting.append(job.finish) } else { job.finish(nil) }
    }
    add(waiting, wrote: log)
  }

  /// Waits until the disk has a transaction.
  func flush(_ log: SQLiteLog) throws(StoreError) {
    let isTold = DispatchSemaphore(value: 0)
    let failure = Failure()
    add(
      [
        { error in
          failure.value.withLock { $0 = error }
          isTold.signal()
        }
      ], wrote: log)
    isTold.wait()
    if let error = failure.value.withLock({ $0 }) { throw error }
  }

  /// What somebody who blocks was told.
  private final class Failure: Sendable {
    let value = Mutex<StoreError?>(nil)
  }

  /// Flushes what there is and returns.
  func drain() {
    queue.sync {
      while flushOnce() {}
    }
  }

  // MARK: Flushing

  private enum Next: Sendable { case tell, wait, run, runLater }

  private func add(_ tells: [Tell], wrote log: SQLiteLog?) {
    let now = clock.now
    let (next, isUnwatched): (Next, Bool) = state.withLock { [tells] state in
      if let log, !state.logs.contains(where: { $0 === log }) { state.logs.append(log) }
      // What a job has seen of others' changes has to be there too, also where it changed nothing itself.
      if state.logs.isEmpty, !state.isRunning { return (.tell, false) }
      for tell in tells { state.waiting.append(Waiter(tell: tell, since: now)) }
      let isUnwatched = !state.waiting.isEmpty && !state.isWatched
      if isUnwatched { state.isWatched = true }
      if state.isRunning { return (.wait, isUnwatched) }
      if !tells.isEmpty {
        state.isRunning = true
        return (.run, isUnwatched)
      }
      defer { state.isTimed = true }
      return (state.isTimed ? .wait : .runLater, isUnwatched)
    }
    switch next {
    case .wait: break
    case .run: queue.async { self.run() }
    case .runLater: runLater()
    case .tell:
      let failure = loss.isOpen ? Self.lost : nil
      for tell in tells { tell(failure) }
    }
    if isUnwatched { watch() }
  }

  /// Flushes as long as anybody waits.
  private func run() {
    while true {
      _ = flushOnce()
      let (goOn, isLeft) = state.withLock { state in
        let goOn = !state.waiting.isEmpty
        state.isRunning = goOn
        let isLeft = !goOn && !state.logs.isEmpty && !state.isTimed
        if isLeft { state.isTimed = true }
        return (goOn, isLeft)
      }
      if isLeft { runLater() }
      if !goOn { return }
    }
  }

  private func runLater() {
    queue.asyncAfter(deadline: .now() + Self.longestDelay) { [weak self] in
      guard let self else { return }
      let isDue = self.state.withLock { state in
        state.isTimed = false
        guard !state.isRunning, !state.logs.isEmpty else { return false }
        state.isRunning = true
        return true
      }
      if isDue { self.run() }
    }
  }

  /// One flush, and its answers; whether there was anything to do.
  private func flushOnce() -> Bool {
    let now = clock.now
    let logs = state.withLock { state in
      defer { state.logs = [] }
      state.covered = state.waiting.count
      state.began = now
      return state.logs
    }
    var failure = loss.isOpen ? Self.lost : nil
    if failure == nil {
      for log in logs {
        do throws(StoreError) {
          try log.flush()
        } catch {
          loss.happened()
          failure = error
        }
      }
    }
    let told = state.withLock { state in
      defer {
        state.waiting.removeFirst(state.covered)
        state.covered = 0
        state.began = nil
      }
      return Array(state.waiting.prefix(state.covered))
    }
    for waiter in told { waiter.tell(failure) }
    return !logs.isEmpty || !told.isEmpty
  }

  private static let lost = StoreError(
    .unavailable, "flush", "a flush before this one failed", isInDoubt: true)

  // MARK: A disk that hangs

  /// Looks from time to time, while anybody waits, for who has waited too long. His transaction may reach the disk yet.
  private func watch() {
    let interval = Double(patience.nanosecondsClamped) / 5e9
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + interval) { [self] in
      let limit = clock.now
      let (late, goOn) = state.withLock { state in
        let late = Array(state.waiting.prefix { $0.since + patience <= limit })
        // Whoever is told that the disk hangs must not be let in at once again, however late the flush began.
        if !late.isEmpty, state.began != nil { state.began = limit + (.zero - patience) }
        state.waiting.removeFirst(late.count)
        state.covered = max(0, state.covered - late.count)
        state.isWatched = !state.waiting.isEmpty
        return (late, state.isWatched)
      }
      let error = StoreError(
        .unavailable, "flush", "the disk has not answered for \(patience)", isInDoubt: true)
      for waiter in late { waiter.tell(error) }
      if goOn { watch() }
    }
  }
}

extension UpdateJob {
  /// Whether whoever waits for it relies on it over a power cut.
  var needsDisk: Bool { if case .callback(.settle) = work { false } else { true } }
}

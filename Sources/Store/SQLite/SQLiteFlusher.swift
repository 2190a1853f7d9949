// Brings what was committed to the disk, beside the transactions that come after it.

internal import Dispatch
internal import Synchronization

/// Tells jobs that their transaction is committed: those that must not be lost to a power cut when the disk has it, the others
/// at once. Whoever comes during a flush waits for the next one, together.
///
/// A callback's outcome does not wait. The file has it, so it survives the process; a power cut in the next moments leaves
/// the record `pending`, to become `unknown`, and never to be sent again.
final class SQLiteFlusher: Sendable {
  private struct State: Sendable {
    /// Logs with something that the disk may not have.
    var logs: [SQLiteLog] = []
    var waiting: [UpdateJob] = []
    var isRunning = false
    var isTimed = false
  }

  /// How long what nobody waits for is left in memory.
  static let longestDelay = 0.02

  private let queue = DispatchQueue(label: "callgate.sqlite.flush")
  private let state = Mutex(State())

  /// A transaction that changed something was committed to a log.
  func wrote(_ log: SQLiteLog) {
    state.withLock { state in
      if !state.logs.contains(where: { $0 === log }) { state.logs.append(log) }
    }
  }

  /// Tells jobs of a committed transaction so, as soon as each may know.
  func finish(_ jobs: [UpdateJob]) {
    var waiting: [UpdateJob] = []
    for job in jobs {
      if job.needsDisk { waiting.append(job) } else { job.finish(nil) }
    }
    enum Next { case nothing, run, runLater, done }
    let next: Next = state.withLock { [waiting] state in
      // What a job has seen of others' changes has to be there too, also where it changed nothing itself.
      if state.logs.isEmpty, !state.isRunning { return .done }
      state.waiting += waiting
      if state.isRunning { return .nothing }
      if !waiting.isEmpty {
        state.isRunning = true
        return .run
      }
      guard !state.isTimed else { return .nothing }
      state.isTimed = true
      return .runLater
    }
    switch next {
    case .nothing: break
    case .run: queue.async { self.run() }
    case .runLater: runLater()
    case .done: for job in waiting { job.finish(nil) }
    }
  }

  /// Flushes what there is and returns.
  func drain() {
    queue.sync {
      while flushOnce() {}
    }
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
    let (logs, jobs) = state.withLock { state in
      defer {
        state.logs = []
        state.waiting = []
      }
      return (state.logs, state.waiting)
    }
    var failure: StoreError?
    for log in logs {
      do throws(StoreError) { try log.flush() } catch { failure = error }
    }
    for job in jobs { job.finish(failure) }
    return !logs.isEmpty || !jobs.isEmpty
  }
}

extension UpdateJob {
  /// Whether whoever waits for it relies on it over a power cut.
  var needsDisk: Bool { if case .callback(.settle) = work { false } else { true } }
}

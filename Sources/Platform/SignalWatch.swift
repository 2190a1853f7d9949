// Receives the signals that stop or reload a server, on a queue where any code may run.

import Dispatch
import Glibc
import Synchronization

/// Receives SIGTERM and SIGINT, and SIGHUP if requested, from the moment it is made.
///
/// `@unchecked Sendable`: the sources are made in `init`, used on their queue alone and never touched again;
/// everything else is locked or immutable.
public final class SignalWatch: @unchecked Sendable {
  private struct State {
    var isEnding = false
    var interrupts = 0
    var atOnce: (@Sendable () -> Void)?
    var insist: (@Sendable () -> Void)?
    var hangUp: (@Sendable () -> Void)?
    /// Whether SIGHUP ends the process as SIGTERM does.
    var hangUpEnds: Bool
    /// Whether SIGHUP came before its action was set.
    var hasHungUp = false
  }

  private let state: Mutex<State>
  private let ending = DispatchSemaphore(value: 0)
  private let queue = DispatchQueue(label: "callgate.signals")
  private var sources: [any DispatchSourceSignal] = []

  /// Begins to receive the signals. Make the watch before other threads start.
  /// - Parameters:
  ///   - hangUp: Whether SIGHUP is received too, for `onHangUp`; otherwise it ends the process.
  ///   - hangUpEnds: Whether SIGHUP is received too, and treated like SIGTERM.
  public init(takingHangUp hangUp: Bool = false, endingOnHangUp hangUpEnds: Bool = false) {
    state = Mutex(State(hangUpEnds: hangUpEnds))
    let registered = DispatchSemaphore(value: 0)
    for number in hangUp || hangUpEnds ? [SIGTERM, SIGINT, SIGHUP] : [SIGTERM, SIGINT] {
      // The signal is ignored first, or its default action would still end the process. This comes before the
      // source is made, because ignoring the signal later would silence the source.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [unowned self] in self.received(number) }
      source.setRegistrationHandler { registered.signal() }
      source.resume()
      sources.append(source)
    }
    // Until the sources are registered, signals are ignored, and one that arrives would be lost.
    for _ in sources { registered.wait() }
  }

  /// Sets the action for the first signal, for a process with nothing to finish. It runs at once if the
  /// signal has come already.
  public func onEnd(_ action: @escaping @Sendable () -> Void) {
    let hasCome = state.withLock { state in
      state.atOnce = action
      return state.isEnding
    }
    if hasCome { action() }
  }

  /// Records that the process has work to finish: the first signal then only makes `waitForEnd` return.
  /// - Returns: false if the signal has come before.
  public func finishesWork() -> Bool {
    state.withLock { state in
      state.atOnce = nil
      return !state.isEnding
    }
  }

  /// Returns when the first signal has come.
  public func waitForEnd() { ending.wait() }

  /// Sets the action for the second SIGINT and later ones, as from a second Ctrl-C. A first SIGINT after
  /// SIGTERM does not run it.
  public func onSecondInterrupt(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.insist = action }
  }

  /// Sets the action for each SIGHUP. It runs at once if one has come already.
  public func onHangUp(_ action: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.hangUp = action
      defer { state.hasHungUp = false }
      return state.hasHungUp
    }
    if isLate { action() }
  }

  /// Stops treating SIGHUP like SIGTERM.
  public func ignoreHangUp() {
    state.withLock { $0.hangUpEnds = false }
  }

  private func received(_ number: Int32) {
    let action: (@Sendable () -> Void)? = state.withLock { state in
      if number == SIGHUP, !state.hangUpEnds {
        if state.hangUp == nil { state.hasHungUp = true }
        return state.hangUp
      }
      if number == SIGINT { state.interrupts += 1 }
      if !state.isEnding {
        state.isEnding = true
        ending.signal()
        if let atOnce = state.atOnce { return atOnce }
      }
      // One SIGINT after a supervisor's SIGTERM changes nothing either.
      return number == SIGINT && state.interrupts > 1 ? state.insist : nil
    }
    action?()
  }
}

// Judges from a store's recent operations whether it works, for readiness, metrics and log, and to refuse hopeless work early.

package import Gate
public import Platform
import Synchronization

/// Whether a store can be read and written, as the operations on it report.
///
/// A failed operation makes the store unavailable, unless another of its kind has succeeded lately, and since
/// the failed one began. So one transaction that waits too long for a row does not. Only a successful write
/// ends the effect of failed writes, so a store that can only be read stays unavailable. `Upkeep` writes
/// every few seconds.
public final class StoreHealth: Sendable {
  /// An event for operators, reported once.
  public enum Event: Hashable, Sendable {
    /// The store cannot be read, or not written. Told again when the kind of failure changes.
    case unavailable(StoreError)
    /// It can be read and written again, after this time.
    case available(after: Duration)
    /// This machine's clock is ahead of the store's by more than `clockWarning`; behind it where negative.
    /// - Parameter isTooMuch: Whether by more than `clockLimit`.
    case clockDiffers(by: Duration, isTooMuch: Bool)
    /// The clocks agree again.
    case clockAgrees
    /// The server's settings let a crash of its machine undo committed work.
    case unsafe(settings: [String])
  }

  /// The effect of an operation that succeeds.
  package enum Effect: Sendable {
    /// The store can be read.
    case reads
    /// It may have had nothing to write: success says that the store can be read, failure that it cannot be written.
    case updates
    /// The store can be written.
    case writes
  }

  /// A difference of clocks that operators are warned of.
  public static let clockWarning = Duration.seconds(2)
  /// A difference with which an instance must not serve.
  public static let clockLimit = Duration.seconds(10)
  /// A store that does not respond for so long, while an operation waits, hangs. `Upkeep` then writes more
  /// often.
  static let patience = Duration.milliseconds(1500)

  private struct State {
    /// When an operation last succeeded, and when a write.
    var answered: MonotonicTime?
    var wrote: MonotonicTime?
    var failure: (error: StoreError, isWrite: Bool, since: MonotonicTime)?
    var isHanging = false
    /// The difference of the clocks when they were compared, and this machine's clocks then.
    var comparison: (ahead: Duration, unixTime: UnixTime, now: MonotonicTime)?
    var unsafeSettings: [String] = []
    var errors: [StoreError.Kind: Int] = [:]
    var observer: (@Sendable (Event) -> Void)?
  }

  private let clock: any TimeSource
  private let hasClock: Bool
  private let state = Mutex(State())

  /// The health of a store before its first operation: good.
  /// - Parameter hasClock: Whether the store has a clock of its own, which other instances' clocks are compared with, too.
  public init(clock: any TimeSource = SystemClock(), hasClock: Bool = false) {
    self.clock = clock
    self.hasClock = hasClock
  }

  /// Why the store cannot be read or written; nil where it can.
  public var failure: StoreError? { state.withLock { $0.failure?.error } }

  /// How far this machine's clock is ahead of the store's; nil where the store has no clock of its own, or was not asked. If this
  /// machine's wall clock was set since the comparison, that counts at once.
  public var clockAhead: Duration? {
    let (unixTime, now) = (clock.unixTime, clock.now)
    return state.withLock { state in
      state.comparison.map { $0.ahead + ((Instant(unixTime) - Instant($0.unixTime)) - (now - $0.now)) }
    }
  }

  /// Whether this machine's wall clock was set since the comparison, by more than `clockWarning`.
  var hasJumped: Bool {
    let (unixTime, now) = (clock.unixTime, clock.now)
    return state.withLock { state in
      state.comparison.map {
        Self.event(of: (Instant(unixTime) - Instant($0.unixTime)) - (now - $0.now)) != nil
      } ?? false
    }
  }

  /// The moment of a transaction that has its locks.
  ///
  /// - Parameter database: The time by the database's clock, if the transaction has read it.
  package func turn(database: Instant? = nil) -> TurnTime {
    let machine = Instant(clock.unixTime)
    return TurnTime(
      machine: machine, store: database ?? machine.advanced(by: .zero - (clockAhead ?? .zero)))
  }

  /// How many operations have failed so far, by the kind of failure.
  public var errors: [StoreError.Kind: Int] { state.withLock { $0.errors } }

  /// The failure that operations get at once, because the store does not answer; nil where they may ask.
  var hanging: StoreError? { state.withLock { $0.isHanging ? $0.failure?.error : nil } }

  /// Reports all events from now on, and first the current state. It calls the observer in the order of the
  /// events, one at a time. The observer must neither wait nor call this object.
  public func observe(_ observer: @escaping @Sendable (Event) -> Void) {
    state.withLock { state in
      state.observer = observer
      if let failure = state.failure { observer(.unavailable(failure.error)) }
      if let ahead = state.comparison?.ahead, let event = Self.event(of: ahead) { observer(event) }
      if !state.unsafeSettings.isEmpty { observer(.unsafe(settings: state.unsafeSettings)) }
    }
  }

  // MARK: Reports

  /// An operation succeeded.
  package func succeeded(_ effect: Effect) {
    let now = clock.now
    state.withLock { state in
      state.answered = now
      state.isHanging = false
      if effect == .writes { state.wrote = now }
      guard let failure = state.failure, effect == .writes || !failure.isWrite else { return }
      state.failure = nil
      state.observer?(.available(after: now - failure.since))
    }
  }

  /// Operations failed together.
  ///
  /// - Parameters:
  ///   - begun: when they were begun.
  ///   - count: how many.
  package func failed(_ error: StoreError, _ effect: Effect, since begun: MonotonicTime, count: Int = 1) {
    let now = clock.now
    state.withLock { state in
      state.errors[error.kind, default: 0] += count
      // Nothing is wrong with the store where it cannot keep one value.
      guard error.kind != .rejected else { return }
      let isWrite = effect != .reads
      // A result of an operation that began before this one says nothing about the time since.
      let isSilent = now - max(begun, state.answered ?? begun) >= Self.patience
      if !isSilent, let last = isWrite ? state.wrote : state.answered, last >= begun { return }
      if isSilent, error.kind == .unavailable { state.isHanging = true }
      let last = state.failure
      // A read that fails too does not make up for the writes that do.
      state.failure = (error, isWrite || last?.isWrite == true, last?.since ?? now)
      if last?.error.kind != error.kind { state.observer?(.unavailable(error)) }
    }
  }

  /// Operations were refused because the store does not answer.
  package func refused(_ error: StoreError, count: Int = 1) {
    state.withLock { $0.errors[error.kind, default: 0] += count }
  }

  /// The clocks were compared.
  package func compared(clockAhead ahead: Duration) {
    let (unixTime, now) = (clock.unixTime, clock.now)
    state.withLock { state in
      let old = (state.comparison?.ahead).flatMap(Self.event(of:))
      state.comparison = (ahead, unixTime, now)
      let new = Self.event(of: ahead)
      switch (old, new) {
      case (nil, nil): break
      case (_?, nil): state.observer?(.clockAgrees)
      case (.clockDiffers(_, let was)?, .clockDiffers(_, let now)?) where was == now: break
      case (_, let event?): state.observer?(event)
      }
    }
  }

  /// A server's settings were read; those are named that let committed data be lost.
  package func found(unsafe settings: [String]) {
    state.withLock { state in
      guard settings != state.unsafeSettings else { return }
      state.unsafeSettings = settings
      if !settings.isEmpty { state.observer?(.unsafe(settings: settings)) }
    }
  }

  private static func event(of ahead: Duration) -> Event? {
    let size = ahead < .zero ? .zero - ahead : ahead
    return size > clockWarning ? .clockDiffers(by: ahead, isTooMuch: size > clockLimit) : nil
  }
}

extension StoreHealth {
  /// The difference between the clocks.
  public enum ClockStanding: Sendable {
    /// They agree, or the store has no clock of its own.
    case agrees
    /// They were not compared yet.
    case unknown
    /// They differ by more than `clockWarning`.
    case differs
    /// They differ by more than `clockLimit`: limits, dedupe windows and the lives of tokens no longer end when they should.
    case isWrong
  }

  /// The difference between the clocks.
  public var clockStanding: ClockStanding {
    guard let clockAhead else { return hasClock ? .unknown : .agrees }
    return switch Self.event(of: clockAhead) {
    case .clockDiffers(_, let isTooMuch)?: isTooMuch ? .isWrong : .differs
    case .clockAgrees, .unavailable, .available, .unsafe, nil: .agrees
    }
  }

  /// Throws if this machine's clock is known to be wrong. Whatever takes something that all instances count, or that can be used once,
  /// calls this first. A clock that was not compared yet counts as right.
  public func checkClock() throws(StoreError) {
    guard clockStanding == .isWrong else { return }
    throw StoreError(
      .unavailable, "clock", "this machine's clock differs from the database server's by more than 10 s")
  }

  /// Whether this instance may judge by its wall clock what other instances share: what is due, too late, or over. Everything that does
  /// so asks this first.
  public var isClockRight: Bool {
    switch clockStanding {
    case .agrees, .differs: true
    case .unknown, .isWrong: false
    }
  }
}

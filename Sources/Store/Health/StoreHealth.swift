// Derives from a store's recent operations whether the store works, for readiness, metrics and log, and to
// refuse hopeless work early.

package import Gate
public import Platform
import Synchronization

/// Whether a store can be read and written, as the operations on it report.
///
/// A failed operation makes the store unavailable, unless another operation of the same kind (read or write)
/// has succeeded since the failed one began, and some operation has succeeded within `patience`. So a single
/// transaction that waits too long for a row does not count. A rejected value does not count either. Only a
/// successful write ends the effect of failed writes, so a store that can only be read stays unavailable.
/// `Upkeep` writes every few seconds.
public final class StoreHealth: Sendable {
  /// An event for operators. It is reported once, not again with each operation.
  public enum Event: Hashable, Sendable {
    /// The store cannot be read, or cannot be written. Reported again when the kind of failure changes.
    case unavailable(StoreError)
    /// The store can be read and written again, after this time.
    case available(after: Duration)
    /// This machine's clock is ahead of the store's by more than `clockWarning`, or behind it if the value is
    /// negative.
    /// - Parameter isTooMuch: Whether by more than `clockLimit`.
    case clockDiffers(by: Duration, isTooMuch: Bool)
    /// The clocks agree again.
    case clockAgrees
    /// The server's settings let a crash of its machine undo committed work.
    case unsafe(settings: [String])
  }

  /// The conclusion about the store if an operation succeeds.
  package enum Effect: Sendable {
    /// The store can be read.
    case reads
    /// The operation may have had nothing to write: success shows that the store can be read, failure that it
    /// cannot be written.
    case updates
    /// The store can be written.
    case writes
  }

  /// The difference of clocks above which operators are warned.
  public static let clockWarning = Duration.seconds(2)
  /// The difference of clocks above which an instance must not serve.
  public static let clockLimit = Duration.seconds(10)
  /// The time without a response after which a failed operation means that the store hangs, if its error is
  /// `unavailable`. Then only probes, such as those of `Upkeep`, reach the store.
  static let patience = Duration.milliseconds(1500)

  private struct State {
    /// The times of the last successful operation and of the last successful write.
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

  /// A store counts as healthy before its first operation.
  ///
  /// - Parameter hasClock: Whether the store has its own clock, with which all instances compare theirs.
  public init(clock: any TimeSource = SystemClock(), hasClock: Bool = false) {
    self.clock = clock
    self.hasClock = hasClock
  }

  /// Why the store cannot be read or written; nil if it can.
  public var failure: StoreError? { state.withLock { $0.failure?.error } }

  /// How far this machine's clock is ahead of the store's. Nil if the store has no clock of its own, or the
  /// clocks were not compared yet. If this machine's wall clock has been set since the comparison, the value
  /// includes that change.
  public var clockAhead: Duration? {
    let (unixTime, now) = (clock.unixTime, clock.now)
    return state.withLock { state in
      state.comparison.map { $0.ahead + ((Instant(unixTime) - Instant($0.unixTime)) - (now - $0.now)) }
    }
  }

  /// Whether this machine's wall clock was set by more than `clockWarning` since the comparison.
  var hasJumped: Bool {
    let (unixTime, now) = (clock.unixTime, clock.now)
    return state.withLock { state in
      state.comparison.map {
        Self.event(of: (Instant(unixTime) - Instant($0.unixTime)) - (now - $0.now)) != nil
      } ?? false
    }
  }

  /// The current time by this machine's clock and by the store's, for a transaction. Call it once the
  /// transaction has its locks.
  ///
  /// - Parameter database: The time by the database's clock, if the transaction has read it.
  package func turn(database: Instant? = nil) -> TurnTime {
    let machine = Instant(clock.unixTime)
    return TurnTime(
      machine: machine, store: database ?? machine.advanced(by: .zero - (clockAhead ?? .zero)))
  }

  /// The number of operations that have failed or were refused so far, by the kind of failure.
  public var errors: [StoreError.Kind: Int] { state.withLock { $0.errors } }

  /// The error for operations while the store does not respond; nil if operations may run.
  var hanging: StoreError? { state.withLock { $0.isHanging ? $0.failure?.error : nil } }

  /// Sets the function that gets all events from now on, and reports the current state to it first. It is
  /// called for one event at a time, in order. It must neither wait nor call this object.
  public func observe(_ observer: @escaping @Sendable (Event) -> Void) {
    state.withLock { state in
      state.observer = observer
      if let failure = state.failure { observer(.unavailable(failure.error)) }
      if let ahead = state.comparison?.ahead, let event = Self.event(of: ahead) { observer(event) }
      if !state.unsafeSettings.isEmpty { observer(.unsafe(settings: state.unsafeSettings)) }
    }
  }

  // MARK: Reports

  /// Records that an operation succeeded.
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

  /// Records that operations failed together.
  ///
  /// - Parameters:
  ///   - begun: When the operations began.
  ///   - count: The number of operations.
  package func failed(_ error: StoreError, _ effect: Effect, since begun: MonotonicTime, count: Int = 1) {
    let now = clock.now
    state.withLock { state in
      state.errors[error.kind, default: 0] += count
      // A value that the store cannot save does not mean that the store is broken.
      guard error.kind != .rejected else { return }
      let isWrite = effect != .reads
      // The time without a response began with this operation, or with the last success if that was later.
      let isSilent = now - max(begun, state.answered ?? begun) >= Self.patience
      if !isSilent, let last = isWrite ? state.wrote : state.answered, last >= begun { return }
      if isSilent, error.kind == .unavailable { state.isHanging = true }
      let last = state.failure
      // A failed read must not hide earlier failed writes.
      state.failure = (error, isWrite || last?.isWrite == true, last?.since ?? now)
      if last?.error.kind != error.kind { state.observer?(.unavailable(error)) }
    }
  }

  /// Counts operations that were refused without running, for example because the store does not respond.
  package func refused(_ error: StoreError, count: Int = 1) {
    state.withLock { $0.errors[error.kind, default: 0] += count }
  }

  /// Records a comparison of the clocks.
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

  /// Records the settings of the database server that let a crash undo committed work.
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
  /// The comparison of this machine's clock with the store's.
  public enum ClockStanding: Sendable {
    /// The clocks agree, or the store has no clock of its own.
    case agrees
    /// The clocks have not been compared yet.
    case unknown
    /// The clocks differ by more than `clockWarning`.
    case differs
    /// The clocks differ by more than `clockLimit`: limits, dedupe windows and token lifetimes no longer end
    /// when they should.
    case isWrong
  }

  public var clockStanding: ClockStanding {
    guard let clockAhead else { return hasClock ? .unknown : .agrees }
    return switch Self.event(of: clockAhead) {
    case .clockDiffers(_, let isTooMuch)?: isTooMuch ? .isWrong : .differs
    case .clockAgrees, .unavailable, .available, .unsafe, nil: .agrees
    }
  }

  /// Throws if this machine's clock is known to be wrong. Every operation that uses up something that all
  /// instances count, or that can be used only once, calls this first. A clock that was not compared yet
  /// counts as right.
  public func checkClock() throws(StoreError) {
    guard clockStanding == .isWrong else { return }
    throw StoreError(
      .unavailable, "clock", "this machine's clock differs from the database server's by more than 10 s")
  }

  /// Whether this instance may use its wall clock to decide what is due, too late or expired in the state
  /// that all instances share. All code that makes such decisions checks this first.
  public var isClockRight: Bool {
    switch clockStanding {
    case .agrees, .differs: true
    case .unknown, .isWrong: false
    }
  }
}

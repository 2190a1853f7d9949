// The time by which rows are written and read: the database's, as this process last measured it.

package import Gate
public import Platform

/// A machine's clock, corrected by its measured difference to the clock of the store.
///
/// All instances then use one time, and an instance whose clock is wrong writes no wrong time. Without a measurement, with a store that
/// has no clock of its own, and up to a difference of `StoreHealth.clockWarning` it is the machine's: a measurement is no better than the
/// network, and nothing may happen some milliseconds before its time.
public struct StoreClock: TimeSource {
  private let machine: any TimeSource
  private let health: StoreHealth

  /// - Parameter machine: This machine's clock.
  public init(_ machine: any TimeSource, _ health: StoreHealth) {
    self.machine = machine
    self.health = health
  }

  public var now: MonotonicTime { machine.now }

  public var unixTime: UnixTime {
    let ahead = health.clockAhead ?? .zero
    guard max(ahead, .zero - ahead) > StoreHealth.clockWarning else { return machine.unixTime }
    let time = Instant(machine.unixTime).advanced(by: .zero - ahead)
    return UnixTime(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// The time by which credentials are judged. If the machine's clock has jumped since the last measurement, it is the machine's: after a
  /// virtual machine has resumed, that one is right, and an expired credential stays expired.
  public var credentialTime: UnixTime { health.hasJumped ? machine.unixTime : unixTime }

  public func sleep(until point: MonotonicTime) async throws { try await machine.sleep(until: point) }
}

/// The moment at which a transaction runs, after it has its locks.
package struct TurnTime: Sendable {
  private let machine: Instant
  private let store: Instant

  /// - Parameters:
  ///   - machine: The time by this machine's clock.
  ///   - store: The same moment by the store's.
  package init(machine: Instant, store: Instant) {
    self.machine = machine
    self.store = store
  }

  /// The moment by the store's clock, for a job that read one of the two clocks before it waited. Transactions then never judge by
  /// times in another order than their own. Another time stays: of a sandbox's clock, or of an earlier event.
  package func time(of asked: Instant) -> Instant {
    let isNow = [machine, store].contains { now in
      (asked < now ? now - asked : asked - now) <= StoreHealth.clockLimit
    }
    return isNow ? store : asked
  }
}

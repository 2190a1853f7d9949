// The clock for the rows of a store: this machine's clock, corrected by its last measured difference to the
// database's clock.

package import Gate
public import Platform

/// A machine's clock, corrected by its measured difference to the clock of the store.
///
/// All instances then use the same time, and an instance whose clock is wrong does not write wrong times. The
/// machine's clock is not corrected before a measurement, with a store that has no clock of its own, or if
/// the difference is at most `StoreHealth.clockWarning`. A measurement is only as exact as the network is
/// fast, and nothing may happen even milliseconds too early.
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

  /// The time for checking whether credentials have expired. If the machine's clock has jumped since the last
  /// measurement, this is the machine's time: after a virtual machine has resumed, the machine's clock is
  /// right, and an expired credential must stay expired.
  public var credentialTime: UnixTime { health.hasJumped ? machine.unixTime : unixTime }

  public func sleep(until point: MonotonicTime) async throws { try await machine.sleep(until: point) }
}

/// The time of a transaction once it has its locks, by this machine's clock and by the store's.
package struct TurnTime: Sendable {
  private let machine: Instant
  private let store: Instant

  /// - Parameters:
  ///   - machine: The time by this machine's clock.
  ///   - store: The same moment by the store's clock.
  package init(machine: Instant, store: Instant) {
    self.machine = machine
    self.store = store
  }

  /// The time to use for a job that read the time `asked` before it waited. If `asked` was about now by
  /// either clock, this is the moment by the store's clock, so that the times of transactions are in the
  /// order of the transactions. Any other time stays unchanged: the time of a sandbox's clock, or of an
  /// earlier event.
  package func time(of asked: Instant) -> Instant {
    let isNow = [machine, store].contains { now in
      (asked < now ? now - asked : asked - now) <= StoreHealth.clockLimit
    }
    return isNow ? store : asked
  }
}

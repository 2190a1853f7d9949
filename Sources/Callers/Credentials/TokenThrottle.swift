// Limits how many bad JWTs an address may send.

import Platform
import Synchronization

/// Counts bad JWTs by address: 100 at once, and 100 a minute.
///
/// The throttle never refuses a genuine token: the server verifies every token, because a signature cannot be
/// guessed. A genuine token that has expired is not counted.
final class TokenThrottle: Sendable {
  static let burst: Int64 = 100
  /// The time after which one more bad token is allowed, in nanoseconds.
  static let interval: Int64 = 600_000_000
  /// The maximum number of remembered addresses. Beyond it, the half that sent the fewest bad tokens is
  /// forgotten.
  static let capacity = 65_536

  /// For each address the theoretical arrival time of the generic cell rate algorithm, in nanoseconds.
  private let arrivals = Mutex<[IPAddress: Int64]>([:])
  private let refused = Atomic<Int>(0)

  /// The number of bad tokens beyond the limit.
  var refusals: Int { refused.load(ordering: .relaxed) }

  /// How many addresses are remembered.
  var remembered: Int { arrivals.withLock { $0.count } }

  /// Counts a bad token.
  ///
  /// - Returns: The time until another bad token is allowed, if there were too many. This token is then not
  ///   counted.
  func failed(address: IPAddress, now: MonotonicTime) -> Duration? {
    let address = address.client
    return arrivals.withLock { arrivals in
      let arrival = max(arrivals[address] ?? 0, now.nanoseconds)
      let early = arrival.subtractingClamped(now.nanoseconds)
        .subtractingClamped((Self.burst - 1) * Self.interval)
      guard early <= 0 else {
        refused.add(1, ordering: .relaxed)
        return .nanoseconds(early)
      }
      if arrivals[address] == nil, arrivals.count >= Self.capacity {
        arrivals = arrivals.filter { $0.value > now.nanoseconds }
        if arrivals.count >= Self.capacity {
          let middle = arrivals.values.sorted()[arrivals.count / 2]
          arrivals = arrivals.filter { $0.value > middle }
        }
      }
      arrivals[address] = arrival.addingClamped(Self.interval)
      return nil
    }
  }
}
